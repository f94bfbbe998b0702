"""Draws on which weights are judged: features, losses of fixed models, and their true risk.

Real tables come from the making half of ``real_data.py``; made problems have a known ratio. The
models are trained without weights in five folds. The truth of a draw is the mean loss of the five
fold models on target rows, so that nothing but the weights and the method is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import real_data
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.encoding import encode_pair

# Target rows that weights may see; all of them judge the risk.
TARGET_ROWS = 1000
FOLDS = 5
SIZES = (100, 500, 2000)


@dataclass(frozen=True, eq=False)
class Draw:
    """One source and target sample.

    Attributes
    ----------
    source, target : arrays
        Encoded features, as the library hands them to its weight estimators.
    weights : array or None
        The true weights of the source rows.
    losses : array of shape (n_models, n)
        Held-out losses.
    truth : array of shape (n_models,)
        Mean losses of the fold models on the target rows.
    """

    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    losses: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True)
class Cell:
    """A problem at one size; `draw(seed)` gives one of its draws."""

    group: str  # "selection", "natural" or "made"
    name: str
    n: int
    make: Callable[[str, int, int], Draw]

    def draw(self, seed: int) -> Draw:
        """Return the draw with this seed."""
        return self.make(self.name, self.n, seed)


def cells(sizes: tuple[int, ...] = SIZES) -> Iterator[Cell]:
    """Yield every cell of the study."""
    for name in real_data.names("making"):
        kind = real_data.ENTRIES[name].kind
        for n in sizes:
            if n in real_data.sizes(name):
                yield Cell(kind, name, n, real_draw)
    for name in MADE:
        for n in sizes[:2]:
            yield Cell("made", name, n, made_draw)


def real_draw(name: str, n: int, seed: int, *, data: str | None = None) -> Draw:
    """Draw a problem of ``real_data.py``."""
    problem = real_data.load(name, seed, n, data=data)
    pair = encode_pair(problem.X_source, problem.X_target)
    source, target = pair.independent(pair.source), pair.independent(pair.target)
    losses, truth = fixed_models(
        source, problem.y_source, target, problem.y_target, problem.n_classes
    )
    return Draw(source, target[:TARGET_ROWS], problem.weights, losses, truth)


# --- Made problems --------------------------------------------------------------------------------

# Name: columns, and how the target follows from the source; see `made_draw`.
MADE = {
    "no shift, 10 columns": (10, "normal", 0.0),
    "a quarter of a deviation in each of 5": (5, "normal", 0.25),
    "a quarter of a deviation in each of 10": (10, "normal", 0.25),
    "normal, 2 columns": (2, "normal", 1.0 / np.sqrt(2)),
    "normal, 20 columns": (20, "normal", 1.0 / np.sqrt(20)),
    "normal, 50 columns": (50, "normal", 1.0 / np.sqrt(50)),
    "narrower target, 5 columns": (5, "narrow", 0.8),
    "skewed columns, 5": (5, "skewed", 1.5),
    "skewed columns, 20": (20, "skewed", 1.5),
    "heavy tails, 10": (10, "heavy", 1.5),
    "product of two columns, 5": (5, "product", 1.5),
}


def made_draw(name: str, n: int, seed: int) -> Draw:
    """Draw a made problem.

    "normal" shifts every column, "narrow" shrinks every column of the target; the other kinds
    select source rows by the logistic of a function of the first two columns.
    """
    rng = np.random.default_rng([seed, n, *name.encode()])
    X, Z, weights = made_features(*MADE[name], n, 3 * TARGET_ROWS, rng)
    y, y_target = (_label(rows, rng) for rows in (X, Z))
    losses, truth = fixed_models(X, y, Z, y_target, 0)
    return Draw(X, Z[:TARGET_ROWS], weights, losses, truth)


def made_features(
    D: int, kind: str, strength: float, n: int, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n source rows and m target rows of D columns, and the true weights."""
    if kind not in ("normal", "narrow"):
        return _selected(kind, strength, n, m, D, rng)
    X, Z = rng.normal(size=(n, D)), rng.normal(size=(m, D))
    if kind == "normal":
        Z += strength
        return X, Z, np.exp(strength * X.sum(axis=1) - 0.5 * D * strength**2)
    Z *= strength
    return X, Z, np.exp(-0.5 * np.sum(X**2, axis=1) * (strength**-2 - 1)) / strength**D


def _selected(
    kind: str, strength: float, n: int, m: int, D: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pool = 20 * n
    normal = rng.normal(size=(pool + m, D))
    score = (normal[:, 0] + normal[:, 1]) / np.sqrt(2)
    if kind == "product":
        score = normal[:, 0] * normal[:, 1]
    X = normal
    if kind == "skewed":
        X = np.exp(normal)
    elif kind == "heavy":
        X = normal / np.sqrt(rng.chisquare(3, size=normal.shape) / 3)
    chance = real_data.LEAST + (1 - real_data.LEAST) * expit(strength * score)
    rows = np.flatnonzero(rng.random(pool) < chance[:pool])[:n]
    return X[rows], X[pool:], chance.mean() / chance[rows]


def _label(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Depend on the shifted columns, with a curve, and noise that grows."""
    x = np.clip(X[:, :2], -5, 5)
    signal = x[:, 0] + 0.5 * x[:, 1] ** 2 + np.sin(2 * x[:, 0])
    return signal + 0.5 * (1 + 0.5 * np.abs(x[:, 1])) * rng.normal(size=len(X))


# --- Fixed models ---------------------------------------------------------------------------------


def fixed_models(
    X: np.ndarray, y: np.ndarray, X_target: np.ndarray, y_target: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return held-out losses (n_models, n) and mean target losses (n_models,).

    A linear model and a forest; squared losses, or Brier scores for classes.
    """
    folds: Any = StratifiedKFold if n_classes else KFold
    splits = list(folds(FOLDS, shuffle=True, random_state=0).split(X, y))
    losses, truth = [], []
    for model in _models(n_classes):
        own, target = np.empty(len(y)), []
        for train, test in splits:
            model.fit(X[train], y[train])
            own[test] = _losses(model, X[test], y[test], n_classes)
            target.append(np.mean(_losses(model, X_target, y_target, n_classes)))
        losses.append(own)
        truth.append(np.mean(target))
    return np.stack(losses), np.asarray(truth)


def _models(n_classes: int) -> list[Any]:
    forest = {"n_estimators": 30, "min_samples_leaf": 3, "random_state": 0}
    if n_classes:
        linear: Any = LogisticRegression(max_iter=500)
        return [make_pipeline(StandardScaler(), linear), RandomForestClassifier(**forest)]
    return [make_pipeline(StandardScaler(), Ridge(10.0)), RandomForestRegressor(**forest)]


def _losses(model: Any, X: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    if not n_classes:
        return (model.predict(X) - y) ** 2
    return np.sum((model.predict_proba(X) - np.eye(n_classes)[y]) ** 2, axis=1)
