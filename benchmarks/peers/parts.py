"""What is compared: errors of weights, of the risk, the delivered model, and time.

Problems with a known ratio are made here; real tables are the draws of ``real_draws.py``. A part is
a function of one `Case` that yields a row of results per method.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from estimators import ESTIMATORS, NONE, OURS, fit_weights
from real_draws import MENU, Draw, menu
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.weights.default import fit_default

Row = dict[str, Any]
SEEN = 1000  # target rows that estimators may see


@dataclass(frozen=True, eq=False)
class Case:
    """A problem at one size; `draw` has the arrays of a real table."""

    part: str
    group: str  # "made", "selection", "natural" or "time"
    problem: str
    n: int
    seed: int
    draw: Draw | None = None

    @property
    def name(self) -> str:
        """Return the name of its file."""
        words = f"{self.part} {self.problem} {self.n} {self.seed}"
        return "-".join(words.replace(",", "").split())


# --- (a) Weights and target means -----------------------------------------------------------------

KINDS = ("shifted", "narrow", "skewed", "heavy", "product")
MADE = {f"{kind}, {D} columns": (kind, D) for kind in KINDS for D in (2, 5, 20, 50)}
MADE_ROWS = (200, 1000)


def made(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source rows, target rows (both in standard deviations) and true weights.

    The target of "shifted" and "narrow" has another normal distribution; the other kinds select
    source rows by the logistic of a function of two columns.
    """
    kind, D = MADE[name]
    rng = np.random.default_rng([seed, n, *name.encode()])
    if kind in ("shifted", "narrow"):
        X, Z = rng.normal(size=(n, D)), rng.normal(size=(3 * SEEN, D))
        if kind == "shifted":
            return X, Z + 1 / np.sqrt(D), np.exp(X.sum(axis=1) / np.sqrt(D) - 0.5)
        scale = 1 - 0.6 / np.sqrt(D)
        log_ratio = -0.5 * np.sum(X**2, axis=1) * (scale**-2 - 1) - D * np.log(scale)
        return X / scale, Z, np.exp(log_ratio)
    X = normal = rng.normal(size=(20 * n + 3 * SEEN, D))
    score = normal[:, :2].sum(axis=1) / np.sqrt(2)
    if kind == "skewed":
        X = np.exp(normal)
    elif kind == "heavy":
        X = normal / np.sqrt(rng.chisquare(3, size=normal.shape) / 3)
    else:
        score = normal[:, 0] * normal[:, 1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    chance = 0.03 + 0.97 * expit(1.5 * score)
    rows = np.flatnonzero(rng.random(20 * n) < chance[: 20 * n])[:n]
    return X[rows], X[20 * n :], chance.mean() / chance[rows]


def compare_weights(case: Case) -> Iterator[Row]:
    """Yield the errors of the weights, and of the means of target rows that nobody has seen."""
    if case.draw is None:
        X, Z, true = made(case.problem, case.n, case.seed)
    else:
        X, Z, true = case.draw.X, case.draw.Z, case.draw.true_weights
    seen, unseen = np.split(Z, [min(SEEN, len(Z) // 2)])
    spread = unseen.std(axis=0)
    used = spread > 1e-9
    for name in ESTIMATORS:
        start = time.perf_counter()
        weights, failed = fit_weights(name, X, seen)
        seconds = time.perf_counter() - start
        gap = (weights @ X / len(X) - unseen.mean(axis=0))[used] / spread[used]
        errors = {"weights": _root_mean_square(weights - true / true.mean())}
        errors["means"] = _root_mean_square(gap)
        yield {"method": name, **errors, "seconds": seconds, "failed": int(failed)}


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


# --- (b) Risk of fixed models ---------------------------------------------------------------------


def losses(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return squared errors, or Brier scores of probabilities."""
    loss = cp.losses.brier if predictions.ndim > y.ndim else cp.losses.squared
    return np.asarray(loss(y, predictions))


def compare_risks(case: Case) -> Iterator[Row]:
    """Yield the relative error of the target risk of a linear model and a forest.

    Others take the weighted mean of held-out losses, counterpoise takes ``target_risk``.
    """
    draw = case.draw
    models = [MENU.index("linear"), MENU.index("forest")]
    held_out = np.stack([losses(draw.y, draw.predictions[i]) for i in models])
    truth = [losses(draw.y_target, draw.target_predictions[i]).mean() for i in models]

    def row(method: str, risk: Any, seconds: float = 0.0, failed: bool = False) -> Row:
        relative = np.clip(np.asarray(risk) / truth - 1, -50, 50)
        error = _root_mean_square(relative)
        return {"method": method, "risk": error, "seconds": seconds, "failed": int(failed)}

    seen = draw.Z[:SEEN]
    start = time.perf_counter()
    risk = cp.target_risk(held_out, fit_default(draw.X, seen).weights)
    yield row(OURS, risk.value, time.perf_counter() - start)
    for name in ESTIMATORS:
        start = time.perf_counter()
        weights, failed = fit_weights(name, draw.X, seen)
        method = f"{OURS} weights, weighted mean" if name == OURS else name
        yield row(method, held_out @ weights / case.n, time.perf_counter() - start, failed)
    if len(draw.true_weights):
        yield row("true weights", held_out @ draw.true_weights / draw.true_weights.sum())


# --- (c) What a search delivers -------------------------------------------------------------------

PLAIN, BLEND = "scikit-learn, GridSearchCV", "counterpoise, blend"
WEIGHTED = (
    "scikit-learn, logistic",
    "adapt, KMM",
    "densratio, uLSIF",
    "skada, KMM",
    "balance, ipw",
)


def compare_choices(case: Case) -> Iterator[Row]:
    """Yield the target risk of what every method delivers, fitted to all source rows.

    Candidates, folds and loss are the same for all.
    """
    draw = case.draw
    risks = [losses(draw.y_target, said).mean() for said in draw.target_predictions]
    plain = np.argmin([losses(draw.y, said).mean() for said in draw.predictions])
    # The fits of these two were done when the draw was made.
    yield {"method": PLAIN, "delivered": risks[plain], "seconds": np.nan, "failed": 0}
    yield {"method": "oracle", "delivered": min(risks), "seconds": np.nan, "failed": 0}
    ways: dict[str, Callable[[], tuple[np.ndarray, bool]]] = {
        OURS: lambda: (_search(draw, refit=True), False),
        BLEND: lambda: (_search(draw, refit="blend"), False),
        "scikit-learn, stacking": lambda: (_stack(draw), False),
    }
    for name in WEIGHTED:
        ways[f"{name} in GridSearchCV"] = lambda name=name: _weighted_search(draw, name)
    for method, deliver in ways.items():
        start = time.perf_counter()
        predictions, failed = deliver()
        seconds = time.perf_counter() - start
        risk = float(losses(draw.y_target, predictions).mean())
        yield {"method": method, "delivered": risk, "seconds": seconds, "failed": int(failed)}


def _splits(draw: Draw) -> list[tuple[np.ndarray, np.ndarray]]:
    folds = np.unique(draw.fold)
    return [(np.flatnonzero(draw.fold != k), np.flatnonzero(draw.fold == k)) for k in folds]


def _predict(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(getattr(model, "predict_proba", model.predict)(X))


def _search(draw: Draw, **options: Any) -> np.ndarray:
    models = [(name, model, {}) for name, model in zip(MENU, menu(draw.task), strict=True)]
    loss = "squared" if draw.task == "regression" else "brier"
    search = cp.ShiftGridSearchCV(models, loss=loss, cv=_splits(draw), **options)
    return _predict(search.fit(draw.X, draw.y, X_target=draw.Z).best_estimator_, draw.Z)


def _stack(draw: Draw) -> np.ndarray:
    models = list(zip(MENU, menu(draw.task), strict=True))
    if draw.task == "regression":
        stack: Any = StackingRegressor(models, cv=_splits(draw))
    else:
        stack = StackingClassifier(models, LogisticRegression(max_iter=500), cv=_splits(draw))
    return _predict(stack.fit(draw.X, draw.y), draw.Z)


def _weighted_search(draw: Draw, name: str) -> tuple[np.ndarray, bool]:
    """Do what ``GridSearchCV`` does with ``sample_weight`` for fits and scores."""
    weights, failed = fit_weights(name, draw.X, draw.Z[:SEEN])
    risks = []
    for model in menu(draw.task):
        total = 0.0
        for train, test in _splits(draw):
            fitted = clone(model).fit(draw.X[train], draw.y[train], sample_weight=weights[train])
            total += weights[test] @ losses(draw.y[test], _predict(fitted, draw.X[test]))
        risks.append(total)
    chosen = menu(draw.task)[int(np.argmin(risks))]
    return _predict(chosen.fit(draw.X, draw.y, sample_weight=weights), draw.Z), failed


# --- (d) Time -------------------------------------------------------------------------------------

TIME_ROWS, TIME_COLUMNS = (2000, 20_000, 200_000), 20
CODE = """
import resource, sys, time
sys.path[:0] = {paths!r}
resource.setrlimit(resource.RLIMIT_AS, (int({memory} * 2**30), resource.RLIM_INFINITY))
import numpy as np
from environment import allow_missing
allow_missing()
from estimators import ESTIMATORS
rng = np.random.default_rng(0)
X, Z = 0.9 * rng.normal(size=({n}, {columns})), rng.normal(size=({n}, {columns}))
X[:, 0] -= 0.5
fit = ESTIMATORS[{name!r}]
fit(X[:200], Z[:200])  # imports
start = time.perf_counter()
fit(X, Z)
print("RESULT", time.perf_counter() - start)
"""


def compare_times(case: Case, *, limit: float, memory: float) -> Iterator[Row]:
    """Yield the seconds of one fit in a process of its own, or why there are none."""
    facts = {"n": case.n, "columns": TIME_COLUMNS, "name": case.problem, "memory": memory}
    code = CODE.format(paths=[str(Path(__file__).parent)], **facts)
    row = {"method": case.problem, "seconds": np.nan}
    command = [sys.executable, "-W", "ignore", "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        yield row | {"failed": f"more than {limit:g} s"}
        return
    results = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if results:
        yield row | {"seconds": float(results[0]), "failed": ""}
    else:
        too_large = "MemoryError" in done.stderr or "allocate" in done.stderr
        yield row | {"failed": f"more than {memory:g} GiB" if too_large else "error"}


# --- All of them ----------------------------------------------------------------------------------

PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "weights": compare_weights,
    "risk": compare_risks,
    "choice": compare_choices,
    "time": compare_times,
}


def cases(part: str, draws: Iterator[Draw]) -> Iterator[Case]:
    """Yield the cases of a part: real tables, and for weights the made problems."""
    if part == "time":
        names = [name for name in ESTIMATORS if name != NONE]
        yield from (Case(part, "time", name, n, 0) for n in TIME_ROWS for name in names)
        return
    if part == "weights":
        yield from (Case(part, "made", name, n, 0) for name in MADE for n in MADE_ROWS)
    for seed, draw in enumerate(draws):
        if part != "weights" or len(draw.true_weights):
            yield Case(part, draw.kind, draw.problem, len(draw.y), seed, draw)


def run(case: Case, **limits: float) -> list[Row]:
    """Return the rows of one case."""
    head = {"part": case.part, "group": case.group, "problem": case.problem}
    head |= {"n": case.n, "seed": case.seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = limits if case.part == "time" else {}
        return [head | row for row in PARTS[case.part](case, **options)]
