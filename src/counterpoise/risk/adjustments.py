"""Adjustments: risk methods that look at rows before they are averaged.

For any function f of the features, the target risk is E_target[f] + E_source[w (loss - f)].
Several control variates are such an f, linear in the controls and fitted to the *weighted* losses;
an outcome model is one fitted to the losses. Both are cross-fitted: the f that meets a row was
fitted without that row's loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from counterpoise._arrays import Namespace
from counterpoise._validation import check_number
from counterpoise.risk.averages import Adjustment, Controlled, Prepared, Weighted
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.regression import Moments, cross_fit_folds, fit_coefficients, has_spread


@dataclass(frozen=True)
class MomentControlled(Adjustment):
    """Weighted mean loss with monomials of the features as control variates.

    R = (1/n) sum [w loss - slope' (w phi - mean phi)], with the mean of phi over the target. For
    every function phi of the features E_source[w phi] = E_target[phi], so that what is subtracted
    has expectation 0. The slope comes from a penalised regression of the weighted losses on w phi,
    which minimises the variance. The paper's own control variate, the weights (phi = 1), is applied
    last, fold by fold: with heavy tails it is more stable than a coefficient from the other folds.

    Parameters
    ----------
    degree : int, default=2
        Of the monomials, see :class:`Moments`.

    Notes
    -----
    A monomial that is constant over the source rows gets coefficient 0: the source says nothing
    about how the loss depends on it.

    References
    ----------
    Owen, Zhou (2000), doi:10.1080/01621459.2000.10473909.
    """

    degree: int = 2

    name: ClassVar[str] = "moment_controlled"
    needs_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number(self.degree, "degree", low=1, closed="low", integer=True)

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Subtract the controls and add their mean over the target."""
        source, target = Moments(self.degree).values(held_out)
        losses, weights = held_out.losses, held_out.weights
        # How the loss depends on a control without spread cannot be seen: its slope is 0. The
        # weights themselves take part in the regression, and are left to `Controlled`.
        design = np.column_stack([weights, source * weights[:, None]])
        folds = cross_fit_folds(held_out.folds)
        coefficients = fit_coefficients(design, weights * losses, folds)[:, 1:]
        coefficients[:, 0] = 0
        coefficients[:, 1:] *= has_spread(source)[:, None]
        predicted, direct, error = _linear(source, target, coefficients, folds)
        return Prepared(losses - predicted, weights, Controlled(), direct, error)


@dataclass(frozen=True)
class DoublyRobust(Adjustment):
    """Outcome model of the loss over the target, plus the controlled mean of what it misses.

    R = mean over the target of f(x) + controlled(loss - f(x)). Right if either the weights or the
    outcome model f is right; and the better the model, the smaller the residuals that large
    weights multiply. The model is cross-fitted over the folds.

    Parameters
    ----------
    outcome_model : Moments or scikit-learn regressor, default=Moments(2)
        Predicts the loss from the features. `Moments` stands for ridge regression on monomials of
        the features, its penalty chosen by cross-validation, for all candidates at once. A
        scikit-learn regressor is fitted anew for every candidate and fold.

    References
    ----------
    Robins, Rotnitzky, Zhao (1994), doi:10.1080/01621459.1994.10476818. Chernozhukov et al. (2018),
    doi:10.1111/ectj.12097 (cross-fitting).
    """

    outcome_model: Any = field(default_factory=Moments)

    name: ClassVar[str] = "doubly_robust"
    needs_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        usable = isinstance(self.outcome_model, Moments) or (
            hasattr(self.outcome_model, "fit") and hasattr(self.outcome_model, "predict")
        )
        if not usable or isinstance(self.outcome_model, type):
            raise ValueError(
                "`outcome_model` must be Moments(degree) or a scikit-learn regressor; got "
                f"{self.outcome_model!r}."
            )

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Subtract the model's predictions and add their mean over the target."""
        losses, folds = held_out.losses, cross_fit_folds(held_out.folds)
        if isinstance(self.outcome_model, Moments):
            source, target = self.outcome_model.values(held_out)
            coefficients = fit_coefficients(source, losses, folds)
            predicted, direct, error = _linear(source, target, coefficients, folds)
        else:
            predicted, at_target = self._predict_losses(held_out, folds)
            direct = np.mean(at_target, axis=-1)
            error = np.std(at_target, axis=-1) / math.sqrt(at_target.shape[-1])
        return Prepared(losses - predicted, held_out.weights, Controlled(), direct, error)

    def _predict_losses(
        self, held_out: HeldOut, folds: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Losses predicted by a scikit-learn regressor, (L, n) and (L, m), fold by fold."""
        domains, losses = held_out.domains, held_out.losses
        assert domains is not None  # see `Method.check_features`
        rows, target = domains.source, domains.target
        n = losses.shape[-1]
        at_source, at_target = np.empty(losses.shape), np.zeros((len(losses), len(target)))
        for fold in folds:
            training = np.setdiff1d(np.arange(n), fold)
            for candidate, own in enumerate(losses):
                model = clone(self.outcome_model).fit(rows[training], own[training])
                at_source[candidate, fold] = model.predict(rows[fold])
                at_target[candidate] += len(fold) / n * model.predict(target)
        return at_source, at_target


@dataclass(frozen=True)
class Shrunk(Adjustment):
    """Between the unweighted and the weighted mean loss, where the estimated error is least.

    R = (1/n) sum [(1 - a) w + a] loss. The source mean (a = 1) is biased with a small variance, the
    weighted one (a = 0) the reverse. The squared error of the mixture is quadratic in a; its bias
    is estimated by the distance between the two, less what noise explains. One a serves all
    candidates, so that they are compared on the same terms.
    """

    name: ClassVar[str] = "shrunk"

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Mix the weights with ones."""
        weights, losses = held_out.weights, held_out.losses
        n, rows = losses.shape[-1], held_out.n_rows
        scale = np.mean(losses, axis=-1, keepdims=True)
        losses = losses / np.where(scale > 0, scale, 1.0)
        weighted, gap = weights * losses, (1 - weights) * losses
        mean_gap = np.mean(gap, axis=-1, keepdims=True)
        centred = gap - mean_gap
        variance = np.sum(centred**2, axis=-1) / (n * max(rows - 1, 1))
        covariance = np.sum(weighted * centred, axis=-1) / (n * max(rows - 1, 1))
        bias = np.clip(mean_gap[..., 0] ** 2 - variance, 0, None)
        error, gain = np.sum(variance + bias), -np.sum(covariance)
        a = np.clip(gain / (error if error > 0 else 1.0), 0, 1)
        squared = None
        if held_out.domains is not None and held_out.domains.target_weights is not None:
            # E_source[((1 - a) w + a)^2], with E_source[w^2] = E_target[w] and E_source[w] = 1.
            squared = (1 - a) ** 2 * held_out.domains.target_weights + 2 * a * (1 - a) + a**2
        mixed = (1 - a) * weights + a
        return Prepared(held_out.losses, mixed, Weighted(), target_weights=squared)


def _linear(
    source: np.ndarray, target: np.ndarray, coefficients: np.ndarray, folds: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions (L, n) at the source, their target mean (L,) and its standard error.

    For a basis (n, k) and (m, k), and coefficients (K, 1 + k, L) by fold, constant first.
    """
    predicted = np.empty((coefficients.shape[-1], len(source)))
    for own, fold in zip(coefficients, folds, strict=True):
        predicted[:, fold] = (source[fold] @ own[1:] + own[0]).T
    average = np.average(coefficients, axis=0, weights=[len(fold) for fold in folds])
    mean, slopes = target.mean(axis=0), average[1:]
    centred = target - mean
    covariance = centred.T @ centred / len(target) ** 2
    # Rounding may leave the variance of a constant a little below 0.
    variance = np.clip(np.sum(slopes * (covariance @ slopes), axis=0), 0, None)
    return predicted, mean @ slopes + average[0], np.sqrt(variance)
