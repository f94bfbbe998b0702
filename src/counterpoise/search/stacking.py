"""Stacking: the weighted mean of candidates with the least held-out loss.

The weights q lie on the simplex (not negative, sum 1) and minimise

    n loss(q) / scale + KL(q || uniform)

where the loss of the mean prediction is mean squared error (half of the squared distance to the
true class for votes and decision values) or, for probabilities under log loss, its log loss. The
scale is twice the least mean squared error of a candidate, and 1 for log loss: the first term is
then a log-likelihood ratio and the penalty does not depend on units. Importance weights play no
part: they made the delivered model worse in every study.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterpoise._folds import Folds
from counterpoise.search.responses import Responses

__all__ = ["blend_losses", "blend_predictions", "minimize_on_simplex", "stacking_weights"]

# Rows that the weights are fitted to; more would not make them better.
_ROWS = 20_000
_ITERATIONS = 200
# Weights stay above this, because 0 has no logarithm.
_LEAST = 1e-200
# Most that the logarithm of a weight changes in a step.
_REACH = 10.0

# Value, gradient (L,) and Hessian (L, L) of a convex function of the weights.
Convex = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]


def stacking_weights(
    predictions: np.ndarray, y: np.ndarray, responses: Responses, /, *, negligible: float = 0.0
) -> np.ndarray:
    """Return the weights (L,) for stored predictions (L, n, ...) of rows with labels `y` (n,).

    The smallest weights, together at most `negligible`, are set to 0 and the others scaled up. That
    moves the mean prediction by at most `negligible` times the range of all candidates' ones.
    """
    q = _fit(predictions, y, responses)
    order = np.argsort(q)
    q[order[np.cumsum(q[order]) <= negligible]] = 0.0
    return q / q.sum()


def _fit(predictions: np.ndarray, y: np.ndarray, responses: Responses) -> np.ndarray:
    L, n = predictions.shape[:2]
    if L == 1:
        return np.ones(1)
    rows = np.arange(n)
    if n > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))
    own = np.asarray(predictions[:, rows], dtype=np.float64)
    if responses.loss.name == "log":
        assert responses.classes is not None
        place = np.searchsorted(responses.classes, y[rows])
        true = np.take_along_axis(own, place[None, :, None], axis=2)[..., 0]
        return minimize_on_simplex(_log_loss(np.clip(true, 1e-12, None)), L, 1 / n)
    error = _residuals(own, y[rows], responses)
    products = error @ error.T / own.shape[1]
    scale = 2 * max(float(np.min(np.diag(products))), np.finfo(float).tiny)
    return minimize_on_simplex(_quadratic(products / scale), L, 1 / n)


def _residuals(predictions: np.ndarray, y: np.ndarray, responses: Responses) -> np.ndarray:
    """Errors (L, n C) whose mean square, per row, is the loss of the mean prediction."""
    if responses.classes is None:
        return predictions - y
    place = np.searchsorted(responses.classes, y)
    if not responses.shape:
        # One decision value for two classes: least squares on -1 and +1.
        return np.clip(predictions, -1e6, 1e6) - (2.0 * place - 1)
    true = np.eye(len(responses.classes))[place]
    return (np.clip(predictions, -1e6, 1e6) - true).reshape(len(predictions), -1) / np.sqrt(2)


def _quadratic(products: np.ndarray) -> Convex:
    def function(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        gradient = products @ q
        return float(q @ gradient), 2 * gradient, 2 * products

    return function


def _log_loss(true: np.ndarray) -> Convex:
    """Mean log loss of the mean of probabilities (L, n) of the true class."""
    n = true.shape[1]

    def function(q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        mixed = q @ true
        ratio = true / mixed
        return -float(np.mean(np.log(mixed))), -ratio.mean(axis=1), ratio @ ratio.T / n

    return function


def minimize_on_simplex(
    function: Convex, size: int, strength: float, /, *, tolerance: float = 1e-9
) -> np.ndarray:
    """Minimise function(q) + strength KL(q || uniform) over the simplex, by Newton's method.

    A step multiplies the weights, so that they stay positive, and is halved until the objective
    falls. Ends when the predicted decrease is below `tolerance`.
    """
    q = np.full(size, 1 / size)
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
    return q / q.sum()


def blend_predictions(
    predictions: np.ndarray,
    y: np.ndarray,
    folds: Folds,
    responses: Responses,
    /,
    *,
    negligible: float = 0.0,
) -> np.ndarray:
    """Return the blend's held-out predictions (N, ...), with the stacking weights cross-fitted.

    The weights that meet a fold were fitted without its rows and without the groups in it. `y` has
    the labels of the N held-out rows.
    """
    mixed = np.empty(predictions.shape[1:])
    clusters = folds.clusters
    for fold in folds:
        others = np.ones(len(y), dtype=bool)
        others[fold] = False
        if clusters is not None:
            others &= ~np.isin(clusters, clusters[fold])
        if not others.any():
            others[:] = True
        q = stacking_weights(predictions[:, others], y[others], responses, negligible=negligible)
        mixed[fold] = np.tensordot(q, predictions[:, fold].astype(np.float64), axes=1)
    return mixed


def blend_losses(
    predictions: np.ndarray,
    y: np.ndarray,
    folds: Folds,
    responses: Responses,
    /,
    *,
    negligible: float = 0.0,
) -> np.ndarray:
    """Return the losses (N,) of `blend_predictions`."""
    mixed = blend_predictions(predictions, y, folds, responses, negligible=negligible)
    return responses.losses(y, mixed)
