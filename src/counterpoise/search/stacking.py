"""Stacking: the weighted mean of candidates with the least held-out loss.

The weights q lie on the simplex (not negative, sum 1) and minimise

    n loss(q) / scale + KL(q || uniform)

where the loss of the mean prediction is mean squared error (half of the squared distance to the
true class for votes and decision values) or, for probabilities under log loss, its log loss. The
scale is twice the least mean squared error of a candidate, and 1 for log loss: the first term is
then a log-likelihood ratio and the penalty does not depend on units. Rows may count by a power of
their importance weights (:func:`row_shares`): the fourth root of weights that leave few effective
rows, because such weights are noise above all, up to the weights themselves.

Half of the weight of a delivered blend goes to the candidate with the least held-out loss
(:class:`Plain`), which keeps it from being much worse than that candidate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.optimize import nnls

from counterpoise._folds import Folds
from counterpoise.search.responses import Responses

__all__ = [
    "FEW_MEMBERS",
    "Plain",
    "blend_predictions",
    "fewer_members",
    "minimize_on_simplex",
    "row_shares",
    "stacking_weights",
]

# How few members the blend of a search has: see `stacking_weights`.
FEW_MEMBERS = {"negligible": 0.02, "change": 0.1}
# Rows that the weights are fitted to; more would not make them better.
_ROWS = 20_000
# Power of the importance weights that rows count by: of few effective rows, and how many make it
# grow half of the way to 1. Set on one half of the real tables.
_LEAST_POWER, _HALF_WAY = 0.25, 500
# Least error of a candidate relative to the largest: one without any error would take all.
_LEAST_ERROR = 1e-8
_ITERATIONS = 200
# Weights stay above this, because 0 has no logarithm.
_LEAST = 1e-200
# Weights to start from stay above this, so that each of them can grow in a few steps.
_LEAST_START = 1e-6
# Most that the logarithm of a weight changes in a step.
_REACH = 10.0

# Value, gradient (L,) and Hessian (L, L) of a convex function of the weights.
Convex = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Plain:
    """What plain cross-validation goes by, to give half of a blend's weight to its choice.

    Attributes
    ----------
    losses : array of shape (L, n)
        Held-out losses of the candidates.
    among : bool array of shape (L,)
        The candidates that it chooses from.
    """

    losses: np.ndarray
    among: np.ndarray

    def mix(self, q: np.ndarray, rows: np.ndarray | None = None, /) -> np.ndarray:
        """Return the mean of the weights q (L,) and of the choice by some rows (n,), or all."""
        means = np.mean(self.losses, axis=1, where=True if rows is None else rows)
        mixed = q / 2
        mixed[np.argmin(np.where(self.among, means, np.inf))] += 0.5
        return mixed


def stacking_weights(
    predictions: np.ndarray,
    y: np.ndarray,
    responses: Responses,
    /,
    *,
    rows: np.ndarray | None = None,
    negligible: float = 0.0,
    change: float = 0.0,
    plain: Plain | None = None,
) -> np.ndarray:
    """Return the weights (L,) for stored predictions (L, n, ...) of rows with labels `y` (n,).

    `rows` (n,), of mean 1, says how much each row counts; None: all the same.

    The smallest weights, together at most `negligible`, are set to 0 and the others scaled up. That
    moves the mean prediction by at most `negligible` times the range of all candidates' ones.

    With a positive `change`, the mean prediction is then made of as few members as
    :func:`fewer_members` finds. For squared error it moves by a root mean square of at most
    `change` / sqrt(n) times the best candidate's error on these rows: `change` times the error that
    estimating one coefficient from n rows makes.

    With `plain`, its choice gets half of the weight, and the others' weights are halved.
    """
    L, n = predictions.shape[:2]
    function = _objective(predictions, y, responses, rows)
    q = _simplified(_minimum(function, L, n), function, n, negligible, change)
    return q if plain is None else plain.mix(q)


def _minimum(function: Convex, L: int, n: int, start: np.ndarray | None = None) -> np.ndarray:
    if L == 1:
        return np.ones(1)
    return minimize_on_simplex(function, L, 1 / n, start=start)


def _simplified(
    q: np.ndarray, function: Convex, n: int, negligible: float, change: float
) -> np.ndarray:
    """Set the weights of members that are not needed to 0."""
    order = np.argsort(q)
    dropped = order[np.cumsum(q[order]) <= negligible]
    r = q.copy()
    r[dropped] = 0.0
    r /= r.sum()
    return fewer_members(r, function(r)[2], change**2 / n) if change else r


def fewer_members(q: np.ndarray, hessian: np.ndarray, limit: float, /) -> np.ndarray:
    """Return weights (L,) on few of the members of q, with nearly the same mean prediction.

    (r - q)' hessian (r - q) is at most `limit`: with the Hessian of the loss, twice what the loss
    changes to second order. A mean of points in d dimensions is one of at most d + 1 of them
    (Caratheodory). So predictions are reduced to d principal components, non-negative least squares
    finds the weights of at most d + 1 members, and d grows until the limit is kept.
    """
    # The heaviest first: of equal members, the first is kept.
    used = np.argsort(-q, kind="stable")[: np.count_nonzero(q)]
    own, inner = q[used], hessian[np.ix_(used, used)]
    # Inner products of the members' predictions less the mean prediction.
    cross = inner @ own
    products = inner - cross[:, None] - cross + own @ cross
    root = np.sqrt(own)
    values, vectors = np.linalg.eigh(root[:, None] * products * root)
    points = (vectors * np.sqrt(np.clip(values, 0, None)) / root[:, None]).T[::-1]
    points /= np.max(np.abs(points)) or 1.0
    heavy = 1e3  # the equation that the sum is 1 outweighs the others
    for d in range(len(used) - 1):
        equations = np.concatenate([points[:d], np.full((1, len(used)), heavy)])
        try:
            with warnings.catch_warnings():
                # SciPy before 1.15 may find its equations ill-conditioned; the limit is the judge.
                warnings.simplefilter("ignore", LinAlgWarning)
                found, _ = nnls(equations, np.append(np.zeros(d), heavy))
        except RuntimeError:  # rounding kept it from ending
            continue
        found /= found.sum()
        if (found - own) @ inner @ (found - own) <= limit:
            r = np.zeros_like(q)
            r[used] = found
            return r
    return q


def row_shares(weights: np.ndarray, /, *, repeats: float = 1.0) -> np.ndarray:
    """Return how much each row counts in stacking, by its importance weight; the mean is 1.

    It is the weight to a power that grows from 1/4 to 1 with the effective number of rows. A row is
    among `weights` as often as it was held out, `repeats` times.
    """
    top = float(np.max(weights, initial=0.0))
    if not top > 0:
        return np.ones(len(weights))
    scaled = weights / top
    n_effective = float(np.sum(scaled) ** 2 / np.sum(scaled**2)) / repeats
    power = 1 - (1 - _LEAST_POWER) * _HALF_WAY / (_HALF_WAY + n_effective)
    # Weights far below the largest are cut: a row without weight still counts a little.
    shares = np.clip(scaled, 1e-6, None) ** power
    relative: np.ndarray = shares / shares.mean()
    return relative


def _objective(
    predictions: np.ndarray, y: np.ndarray, responses: Responses, counted: np.ndarray | None
) -> Convex:
    """Return the loss of the mean prediction, in units of a log-likelihood per row."""
    n = predictions.shape[1]
    rows = np.arange(n)
    if n > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))
    own = np.asarray(predictions[:, rows], dtype=np.float64)
    shares = np.ones(len(rows)) if counted is None else counted[rows]
    shares = shares / shares.sum()
    if responses.loss.name == "log":
        assert responses.classes is not None
        place = np.searchsorted(responses.classes, y[rows])
        true = np.take_along_axis(own, place[None, :, None], axis=2)[..., 0]
        return _log_loss(np.clip(true, 1e-12, None), shares)
    error = _residuals(own, y[rows], responses) * np.sqrt(shares)[:, None]
    error = error.reshape(len(own), -1)
    products = error @ error.T
    squares = np.diag(products)
    least = max(squares.min(), _LEAST_ERROR * squares.max(), np.finfo(float).tiny)
    return _quadratic(products / (2 * least))


def _residuals(predictions: np.ndarray, y: np.ndarray, responses: Responses) -> np.ndarray:
    """Errors (L, n, C) whose mean square, per row, is the loss of the mean prediction."""
    if responses.classes is None:
        return np.expand_dims(predictions - y, -1)
    place = np.searchsorted(responses.classes, y)
    if not responses.shape:
        # One decision value for two classes: least squares on -1 and +1.
        return np.expand_dims(np.clip(predictions, -1e6, 1e6) - (2.0 * place - 1), -1)
    true = np.eye(len(responses.classes))[place]
    residuals: np.ndarray = (np.clip(predictions, -1e6, 1e6) - true) / np.sqrt(2)
    return residuals


def _quadratic(products: np.ndarray) -> Convex:
    def function(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        gradient = products @ q
        return float(q @ gradient), 2 * gradient, 2 * products

    return function


def _log_loss(true: np.ndarray, shares: np.ndarray) -> Convex:
    """Mean log loss, by the shares (n,) of rows, of mean probabilities (L, n) of the true class."""

    def function(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        mixed = q @ true
        ratio = true / mixed
        return -float(shares @ np.log(mixed)), -ratio @ shares, (ratio * shares) @ ratio.T

    return function


def minimize_on_simplex(
    function: Convex,
    size: int,
    strength: float,
    /,
    *,
    tolerance: float = 1e-9,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Minimise function(q) + strength KL(q || uniform) over the simplex, by Newton's method.

    A step multiplies the weights, so that they stay positive, and is halved until the objective
    falls. Ends when the predicted decrease is below `tolerance`. It starts from uniform weights, or
    from `start` (weights of a similar problem).
    """
    q = np.full(size, 1 / size) if start is None else np.maximum(start, _LEAST_START)
    q /= q.sum()
    value, gradient, hessian = function(q)

    def penalty(q: np.ndarray) -> float:
        return strength * float(np.sum(q * np.log(q * size)))

    current = value + penalty(q)
    for _ in range(_ITERATIONS):
        full = gradient + strength * (np.log(q * size) + 1)
        # Newton's direction with sum 0, in coordinates d = sqrt(q) u that the penalty makes round.
        root = np.sqrt(q)
        matrix = root[:, None] * hessian * root + strength * np.eye(size)
        solved = np.linalg.solve(matrix, np.stack([root * full, root], axis=1))
        multiplier = (root @ solved[:, 0]) / (root @ solved[:, 1])
        step = root * (multiplier * solved[:, 1] - solved[:, 0])
        decrease = -float(full @ step)
        if not decrease > tolerance * max(abs(current), strength):
            break
        ratio, length = step / q, 1.0
        while length > 1e-12:
            # To first order q + length * step; it stays positive, and a weight may fall at once.
            trial = np.maximum(q * np.exp(np.clip(length * ratio, -_REACH, _REACH)), _LEAST)
            trial /= trial.sum()
            new = function(trial)
            if new[0] + penalty(trial) <= current - 1e-4 * length * decrease:
                break
            length /= 2
        else:
            break
        q, (value, gradient, hessian) = trial, new
        current = value + penalty(q)
    weights: np.ndarray = q / q.sum()
    return weights


def blend_predictions(
    predictions: np.ndarray,
    y: np.ndarray,
    folds: Folds,
    responses: Responses,
    /,
    *,
    rows: np.ndarray | None = None,
    negligible: float = 0.0,
    change: float = 0.0,
    plain: Plain | None = None,
) -> np.ndarray:
    """Return the blend's held-out predictions (N, ...), with the stacking weights cross-fitted.

    The weights that meet a fold were fitted without its rows and without the groups in it. `y` has
    the labels of the N held-out rows, `rows` how much they count in stacking.
    """
    mixed = np.empty(predictions.shape[1:])
    clusters = folds.clusters
    q = None
    for fold in folds:
        others = np.ones(len(y), dtype=bool)
        others[fold] = False
        if clusters is not None:
            others &= ~np.isin(clusters, clusters[fold])
        if not others.any():
            others[:] = True
        counted = None if rows is None else rows[others]
        function = _objective(predictions[:, others], y[others], responses, counted)
        n = int(np.count_nonzero(others))
        # A start near the end. The minimum is unique, so that it does not depend on the start.
        q = _minimum(function, len(predictions), n, q)
        own = _simplified(q, function, n, negligible, change)
        own = own if plain is None else plain.mix(own, others)
        mixed[fold] = np.tensordot(own, predictions[:, fold].astype(np.float64), axes=1)
    return mixed
