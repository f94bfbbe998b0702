"""(c) Target risk of what is delivered: five families of models, on real tables.

Candidates are a linear model, a forest, boosting, nearest neighbours and a neural network with a
few settings each, and every method has the same folds and the same loss. What is delivered is
fitted to all source rows and judged by its mean loss on target rows.

- scikit-learn: `GridSearchCV` without weights, and stacking.
- Weights of another package, or a logistic regression's: what `GridSearchCV` does with
  `sample_weight` for fits and scores.
- skada: its scorers choose, on candidates that are trained without weights.
- counterpoise: `ShiftGridSearchCV` with default settings, and with ``refit="blend"``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import real_data
from cells import Cell, of_tables
from choice_rules import losses_of
from choice_study import Cell as StudyCell
from choice_study import menu, takes_weights
from estimators import OURS, fit_weights, import_skada
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.validation import has_fit_parameter

import counterpoise as cp

FOLDS, TARGET_ROWS = 5, 1000
PLAIN = "scikit-learn, GridSearchCV"
WEIGHTED = (
    "scikit-learn, logistic",
    "adapt, KMM",
    "adapt, classifier",
    "densratio, uLSIF",
    "skada, KMM",
    "balance, ipw",
)
SCORERS = {
    "skada, importance weighted": "ImportanceWeightedScorer",
    "skada, deep embedded validation": "DeepEmbeddedValidation",
    "skada, mixed samples": "MixValScorer",
    "skada, prediction entropy": "PredictionEntropyScorer",
    "skada, soft neighbourhood density": "SoftNeighborhoodDensity",
    "skada, circular validation": "CircularValidation",
}
BLEND = "counterpoise, blend"


def cells(half: str, data: str | None) -> Iterator[Cell]:
    return of_tables("choice", half, data, real_data.load)


class Draw:
    """One draw: encoded rows, labels, folds and candidates."""

    def __init__(self, problem: real_data.Problem, n: int, seed: int) -> None:
        self.X, self.Z = real_data.encoded(problem)
        self.y, self.y_target = problem.y_source, problem.y_target
        self.classes = problem.n_classes
        if not self.classes:
            centre, scale = self.y.mean(), self.y.std()
            self.y, self.y_target = (self.y - centre) / scale, (self.y_target - centre) / scale
        self.loss = "brier" if self.classes else "squared"
        kind = StratifiedKFold if self.classes else KFold
        folds = kind(FOLDS, shuffle=True, random_state=seed)
        self.splits = list(folds.split(self.X, self.y))
        listed = menu(StudyCell(problem.name, n, "families"), self.X.shape[1])
        network = MLPClassifier if self.classes else MLPRegressor
        net = network(hidden_layer_sizes=(32,), max_iter=200, random_state=0)
        self.members = [*listed, *((net, {"alpha": a}) for a in (0.1, 10.0))]
        self.models = [clone(model).set_params(**params) for model, params in self.members]

    def predict(self, model: Any, X: np.ndarray) -> np.ndarray:
        """Return probabilities of classes, or numbers."""
        return np.asarray(model.predict_proba(X) if self.classes else model.predict(X))

    def risk(self, prediction: np.ndarray) -> float:
        """Return the mean loss on the target rows."""
        return float(losses_of(self.loss, self.y_target, prediction).mean())

    def search(self, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return held-out losses (L, n) and the target predictions of refitted candidates."""
        losses, target = np.empty((len(self.models), len(self.y))), []
        for i, model in enumerate(self.models):
            for train, test in self.splits:
                held_out = self.predict(self._fit(model, train, weights), self.X[test])
                losses[i, test] = losses_of(self.loss, self.y[test], held_out)
            every = np.arange(len(self.y))
            target.append(self.predict(self._fit(model, every, weights), self.Z))
        return losses, np.stack(target)

    def _fit(self, model: Any, rows: np.ndarray, weights: np.ndarray | None) -> Any:
        weighted = (
            weights is not None
            and takes_weights(model)
            and has_fit_parameter(model, "sample_weight")
        )
        extra = {"sample_weight": weights[rows]} if weighted and weights is not None else {}
        return clone(model).fit(self.X[rows], self.y[rows], **extra)


def run(cell: Cell, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the target risk of what every method delivers, for one draw."""
    problem = cell.make(cell.problem, seed, cell.n, target_rows=TARGET_ROWS)
    draw = Draw(problem, cell.n, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _timed(counterpoise(draw))
        start = time.perf_counter()
        losses, target = draw.search()
        seconds = time.perf_counter() - start
        plain = target[np.argmin(losses.mean(axis=1))]
        risks = [draw.risk(own) for own in target]
        yield {"method": PLAIN, "delivered": draw.risk(plain), "seconds": seconds, "failed": 0}
        yield {"method": "oracle", "delivered": min(risks), "seconds": 0.0, "failed": 0}
        yield from _timed(stacking(draw))
        yield from _timed(weighted_searches(draw))
        yield from _timed(scorers(draw, risks))


def _timed(found: Iterator[tuple[str, float, int]]) -> Iterator[dict[str, Any]]:
    start = time.perf_counter()
    for method, delivered, failed in found:
        seconds = time.perf_counter() - start
        yield {"method": method, "delivered": delivered, "seconds": seconds, "failed": failed}
        start = time.perf_counter()


def counterpoise(draw: Draw) -> Iterator[tuple[str, float, int]]:
    families: dict[str, tuple[Any, dict[str, list[Any]]]] = {}
    for model, params in draw.members:
        # The neighbours and the linear models differ in one parameter each, boosting in one of two.
        name = type(model).__name__
        grid = families.setdefault(name, (model, {}))[1]
        for key, value in params.items():
            values = grid.setdefault(key, [])
            if value not in values:
                values.append(value)
    listed = [(name, model, grid) for name, (model, grid) in families.items()]
    for method, refit in ((OURS, True), (BLEND, "blend")):
        search = cp.ShiftGridSearchCV(
            listed, loss=draw.loss, cv=draw.splits, refit=refit, random_state=0
        )
        search.fit(draw.X, draw.y, X_target=draw.Z)
        yield method, draw.risk(draw.predict(search, draw.Z)), 0


def stacking(draw: Draw) -> Iterator[tuple[str, float, int]]:
    models = [(str(i), model) for i, model in enumerate(draw.models)]
    if draw.classes:
        final = LogisticRegression(max_iter=500)
        stack = StackingClassifier(models, final, cv=draw.splits)
    else:
        stack = StackingRegressor(models, cv=draw.splits)
    stack.fit(draw.X, draw.y)
    yield "scikit-learn, stacking", draw.risk(draw.predict(stack, draw.Z)), 0


def weighted_searches(draw: Draw) -> Iterator[tuple[str, float, int]]:
    for name in WEIGHTED:
        weights, failed = fit_weights(name, draw.X, draw.Z)
        losses, target = draw.search(weights)
        chosen = int(np.argmin(losses @ weights))
        yield f"{name} in GridSearchCV", draw.risk(target[chosen]), int(failed)


def scorers(draw: Draw, risks: list[float]) -> Iterator[tuple[str, float, int]]:
    _, sklearn = import_skada()
    from choice_skada import _score
    from skada import metrics

    sklearn.set_config(enable_metadata_routing=False)
    for method, name in SCORERS.items():
        scorer = getattr(metrics, name)
        with sklearn.config_context(enable_metadata_routing=True):
            args = (scorer, draw.X, draw.y, draw.Z, draw.splits)
            scores = np.array([_score(model, *args) for model in draw.models])
        if np.isfinite(scores).any():
            best = int(np.argmax(np.where(np.isfinite(scores), scores, -np.inf)))
            yield method, risks[best], int(not np.isfinite(scores).all())
