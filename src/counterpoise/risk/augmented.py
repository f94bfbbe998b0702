"""Methods that subtract a function of the features and add back its mean over the target.

With any function f, the target risk is E_target[f] + E_source[w (loss - f)]. A multiple control
variate is such an f, linear in the controls and fitted to the *weighted* losses; an outcome model
is one fitted to the losses. Both are cross-fitted: no row's own loss enters the f it meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from counterpoise._arrays import Array, Namespace, as_float, device, to_numpy
from counterpoise._validation import check_choice, check_number
from counterpoise.risk.controls import (
    Control,
    Moments,
    control_values,
    require_domains,
)
from counterpoise.risk.regression import cross_fit_parts, fit_coefficients, part_sums
from counterpoise.risk.sample import Prepared, Sample

__all__ = ["PredictedLoss", "check_penalty", "control_variates", "outcome_model", "target_mean"]


def check_penalty(penalty: Any, /) -> None:
    """Refuse anything but "ridge", "lasso" or a strength."""
    if isinstance(penalty, str):
        check_choice(penalty, "penalty", ("ridge", "lasso"))
    else:
        remedy = 'Pass a strength such as 0.01, or "ridge" or "lasso" to have it chosen.'
        check_number(penalty, "penalty", low=0, closed="low", remedy=remedy)


def control_variates(
    xp: Namespace,
    sample: Sample,
    controls: Sequence[Control],
    base: Any,
    /,
    *,
    penalty: str | float,
    cross_fit: bool,
) -> Prepared:
    """Prepare (1/n) sum [w loss - slope' (w phi - mean phi)], the slope from a regression.

    The least-squares slope of the weighted losses on w phi is the one that minimises the variance.
    """
    source, target, constant = control_values(xp, sample, tuple(controls))
    per_candidate = source.ndim == 4
    losses, weights = sample.losses, sample.weights
    B, L, n = losses.shape
    if per_candidate:
        # Each candidate has controls of its own: it becomes a data set of its own.
        source = xp.reshape(source, (B * L, n, source.shape[-1]))
        target = xp.reshape(target, (B * L, *target.shape[-2:]))
        losses = xp.reshape(losses, (B * L, 1, n))
        weights = xp.reshape(xp.broadcast_to(weights, (B, L, n)), (B * L, 1, n))
    parts = cross_fit_parts(sample.folds, n)
    sums = part_sums(xp, source * weights[:, 0, :, None], weights * losses, parts)
    coefficients = fit_coefficients(xp, sums, penalty=penalty, cross_fit=cross_fit)
    # The constant of the regression is the estimate itself, not a part of the control; and the
    # weights' own coefficient is left to the base.
    kept = xp.asarray(~constant, dtype=source.dtype, device=device(source))
    slopes = coefficients[..., 1:, :] * kept[:, None]
    zeros = xp.zeros_like(slopes[..., :1, :])
    predicted, direct, variance = _linear(
        xp, source, target, xp.concat([zeros, slopes], axis=-2), parts
    )
    shape = (B, L)
    return Prepared(
        losses=sample.losses - xp.reshape(predicted, (B, L, n)),
        weights=sample.weights,
        base=base,
        direct=xp.reshape(direct, shape),
        direct_variance=xp.reshape(variance, shape),
    )


def outcome_model(
    xp: Namespace, sample: Sample, model: Any, base: Any, /, *, cross_fit: bool
) -> Prepared:
    """Prepare mean over the target of f + base(loss - f), f an outcome model of the losses."""
    parts = cross_fit_parts(sample.folds, sample.losses.shape[-1])
    if isinstance(model, Moments):
        source, target = model.values(xp, sample)
        sums = part_sums(xp, source, sample.losses, parts)
        coefficients = fit_coefficients(xp, sums, cross_fit=cross_fit)
        predicted, direct, variance = _linear(xp, source, target, coefficients, parts)
    else:
        predicted, at_target = _predict_losses(xp, sample, model, parts, cross_fit)
        direct = xp.mean(at_target, axis=-1)
        variance = xp.var(at_target, axis=-1) / at_target.shape[-1]
    return Prepared(sample.losses - predicted, sample.weights, base, direct, variance)


def _linear(
    xp: Namespace, source: Array, target: Array, coefficients: Array, parts: Sequence[np.ndarray]
) -> tuple[Array, Array, Array]:
    """Predictions (B, L, n) at the source, their target mean (B, L) and that mean's variance.

    For a basis (B, n, k) and (m, k) or (B, m, k), and coefficients (K, B, 1 + k, L) by part.
    """
    n = source.shape[-2]
    order = np.argsort(np.concatenate(list(parts)))
    pieces = []
    for own, part in zip(range(len(parts)), parts, strict=True):
        rows = xp.take(source, xp.asarray(part, device=device(source)), axis=-2)
        fitted = rows @ coefficients[own, :, 1:, :] + coefficients[own, :, :1, :]
        pieces.append(xp.linalg.matrix_transpose(fitted))
    predicted = xp.take(
        xp.concat(pieces, axis=-1), xp.asarray(order, device=device(source)), axis=-1
    )
    shares = [len(part) / n for part in parts]
    average = sum(share * coefficients[i, ...] for i, share in enumerate(shares))
    return predicted, *target_mean(xp, target, average)


def target_mean(xp: Namespace, target: Array, coefficients: Array, /) -> tuple[Array, Array]:
    """Return the mean over the target (B, L) of a linear function, and that mean's variance.

    For a basis (m, k) or (B, m, k), and coefficients (B, 1 + k, L), the constant first.
    """
    m = target.shape[-2]
    mean = xp.mean(target, axis=-2)
    slopes = coefficients[:, 1:, :]
    direct = xp.sum(slopes * mean[..., :, None], axis=-2) + coefficients[:, 0, :]
    centred = target - mean[..., None, :]
    covariance = xp.linalg.matrix_transpose(centred) @ centred / m**2
    return direct, xp.sum(slopes * (covariance @ slopes), axis=-2)


def _predict_losses(
    xp: Namespace, sample: Sample, model: Any, parts: Sequence[np.ndarray], cross_fit: bool
) -> tuple[Array, Array]:
    """Losses predicted by a scikit-learn regressor, (B, L, n) and (B, L, m), part by part."""
    domains = require_domains(sample, f"DoublyRobust(outcome_model={model!r})")
    target = to_numpy(domains.target)
    losses, n = to_numpy(sample.losses), sample.losses.shape[-1]
    at_source = np.empty(losses.shape)
    at_target = np.zeros((*losses.shape[:2], target.shape[0]))
    for b in range(losses.shape[0]):
        rows = to_numpy(domains.source[b, ...])
        for part in parts:
            training = np.setdiff1d(np.arange(n), part) if cross_fit else np.arange(n)
            for candidate in range(losses.shape[1]):
                fitted = clone(model).fit(rows[training], losses[b, candidate, training])
                at_source[b, candidate, part] = fitted.predict(rows[part])
                at_target[b, candidate] += len(part) / n * fitted.predict(target)
    found = (as_float(a, like=sample.losses) for a in (at_source, at_target))
    return tuple(xp.astype(a, sample.losses.dtype) for a in found)


@dataclass(frozen=True)
class PredictedLoss:
    """phi = the loss that a model predicts from the features, out of fold: a control variate.

    The candidate's own losses are regressed on the features, cross-fitted; predictions at the
    target rows give the mean. Unlike in `DoublyRobust`, its coefficient is estimated: a poor model
    gets a small one.

    Parameters
    ----------
    model : Moments or scikit-learn regressor, default=Moments(2)
        `Moments` stands for ridge regression on monomials of the features.
    """

    model: Any = field(default_factory=Moments)
    name: ClassVar[str] = "predicted loss"

    def values(self, xp: Namespace, sample: Sample, /) -> tuple[Array, Array]:
        """Return the predictions: (B, L, n, 1) at the source and (B, L, m, 1) at the target."""
        domains = require_domains(sample, "PredictedLoss")
        parts = cross_fit_parts(sample.folds, sample.losses.shape[-1])
        if isinstance(self.model, Moments):
            source, target = self.model.values(xp, sample)
            sums = part_sums(xp, source, sample.losses, parts)
            coefficients = fit_coefficients(xp, sums)
            at_source, _, _ = _linear(xp, source, target, coefficients, parts)
            shares = [len(part) / sample.losses.shape[-1] for part in parts]
            average = sum(share * coefficients[i, ...] for i, share in enumerate(shares))
            fitted = target @ average[:, 1:, :] + average[:, :1, :]
            at_target = xp.linalg.matrix_transpose(fitted)
        else:
            at_source, at_target = _predict_losses(xp, sample, self.model, parts, True)
        assert at_target.shape[-1] == domains.target.shape[0]
        return at_source[..., None], at_target[..., None]
