"""Rules for the model to deliver: from the arrays of one draw to predictions for target rows.

Each rule is registered in `RULES` under the name that `choice_study.py` reports. To try another
one, write it here; with the arrays of a study kept, nothing is fitted again. Candidates are
"weighted" or "unweighted" by how they were trained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV

from counterpoise import losses as loss_functions
from counterpoise._folds import Folds
from counterpoise.losses import get_loss
from counterpoise.risk import METHODS, HeldOut, estimate_risk
from counterpoise.search import consensus as library
from counterpoise.search.responses import Responses
from counterpoise.search.stacking import FEW_MEMBERS, Plain, minimize_on_simplex, row_shares
from counterpoise.search.stacking import stacking_weights as library_stacking

FOLDS = 5
# Resamples for the plausibility.
BOOTSTRAP = 500


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
        names = ("held_out", "target", "refit", "trained")
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


def plausibility(losses: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    return library.plausibility(
        losses, Folds.whole(losses.shape[1]), n_bootstrap=BOOTSTRAP, rng=rng
    )


def expected_regret(loss: str, predictions: np.ndarray, plausible: np.ndarray) -> np.ndarray:
    classes = None if loss == "squared" else np.arange(predictions.shape[-1])
    return library.expected_regret(predictions, plausible, Responses(get_loss(loss), classes))


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
    """Return what a search with refit="blend" delivers."""
    return np.tensordot(_delivered_shares(a, Plain(a.losses, a.trained != 1)), a.refit, axes=1)


@rule("stacking alone")
def stacked(a: Arrays) -> np.ndarray:
    """Return the blend without the half that goes to the plain choice."""
    return np.tensordot(_delivered_shares(a), a.refit, axes=1)


@rule("stacking alone, all members")
def stacked_all(a: Arrays) -> np.ndarray:
    q = library_stacking(a.held_out, a.y, _responses(a), rows=row_shares(a.weights))
    return np.tensordot(q, a.refit, axes=1)


def _delivered_shares(a: Arrays, plain: Plain | None = None) -> np.ndarray:
    options = {"rows": row_shares(a.weights), "plain": plain, **FEW_MEMBERS}
    return library_stacking(a.held_out, a.y, _responses(a), **options)


def _responses(a: Arrays) -> Responses:
    classes = None if a.loss == "squared" else np.arange(a.held_out.shape[-1])
    return Responses(get_loss(a.loss), classes)


@rule("stacking, rows count the same")
def stacked_equal(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out), a.refit, axes=1)


@rule("stacking, mean of fold models")
def stacked_folds(a: Arrays) -> np.ndarray:
    return np.tensordot(_delivered_shares(a), a.target, axes=1)


@rule("stacking, unweighted training")
def stacked_unweighted(a: Arrays) -> np.ndarray:
    return stacked(a.unweighted)


@rule("stacking, penalty 1/n of the loss")
def stacked_unscaled(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out, scaled=False), a.refit, axes=1)


@rule("stacking with importance weights")
def stacked_weighted(a: Arrays) -> np.ndarray:
    rows = a.weights / a.weights.mean()
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out, rows), a.refit, axes=1)


def stacking_weights(
    loss: str,
    y: np.ndarray,
    predictions: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    scaled: bool = True,
    strength: float = 1.0,
) -> np.ndarray:
    """Return q on the simplex that minimises the loss of the mean + (strength/n) KL(q || uniform).

    With the defaults it is the library's. `rows` weight the rows. `scaled` divides squared losses
    by twice the least of the candidates', so that the penalty has no unit.
    """
    L, n = predictions.shape[:2]
    P = predictions.astype(np.float64)
    rows = np.full(n, 1 / n) if rows is None else rows / n
    if loss == "log":
        true = np.clip(P[:, np.arange(n), y], 1e-12, None)

        def objective(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            mixed = q @ true
            ratio = true / mixed
            return -float(rows @ np.log(mixed)), -ratio @ rows, (ratio * rows) @ ratio.T
    else:
        error = P - (y if loss == "squared" else np.eye(P.shape[2])[y])
        error = error.reshape(L, n, -1) * np.sqrt(rows)[:, None]
        products = np.tensordot(error, error, axes=([1, 2], [1, 2]))
        products = products if loss == "squared" else products / 2
        if scaled:
            squares = products.diagonal()
            # A candidate without any error must not take all.
            products = products / (2 * max(squares.min(), 1e-8 * squares.max(), 1e-300))

        def objective(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            return float(q @ products @ q), 2 * products @ q, 2 * products

    return minimize_on_simplex(objective, L, strength / n)


@rule("stacking, penalty 5/n")
def stacked_more(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out, strength=5.0), a.refit, axes=1)


@rule("stacking, penalty 20/n")
def stacked_most(a: Arrays) -> np.ndarray:
    return np.tensordot(stacking_weights(a.loss, a.y, a.held_out, strength=20.0), a.refit, axes=1)


@rule("stacking, refitted and fold models")
def stacked_everything(a: Arrays) -> np.ndarray:
    return (stacked(a) + stacked_folds(a)) / 2


@rule("stacking and mean by plausibility, half each")
def stacked_plausible(a: Arrays) -> np.ndarray:
    return (stacked(a) + plausible_mean(a)) / 2


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
