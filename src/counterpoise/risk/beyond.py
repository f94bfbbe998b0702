"""Risk methods beyond the paper: outcome models, smoothed and shrunken weights, ratio controls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from counterpoise._arrays import Array, Namespace
from counterpoise._pareto import smooth_tail
from counterpoise.risk.augmented import outcome_model
from counterpoise.risk.basic import Controlled, Method, Normalized, SumMethod, Weighted
from counterpoise.risk.controls import Constant, Control, Moments
from counterpoise.risk.sample import Prepared, Sample
from counterpoise.risk.sums import Sums

__all__ = ["DoublyRobust", "ParetoSmoothed", "Ratio", "Shrunk"]


class _NeedsRows(SumMethod):
    """A method that only prepares: another one averages what it leaves."""

    needs_rows: ClassVar[bool] = True

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights as they are."""
        return weights

    def estimate(self, xp: Namespace, moments: Sums, /) -> tuple[Array, Array]:
        """Refuse: sums are not enough."""
        raise TypeError(
            f"{type(self).__name__} needs the rows and cannot be computed from sums alone."
        )


@dataclass(frozen=True)
class DoublyRobust(_NeedsRows):
    """Outcome model of the loss over the target, plus the weighted mean of what it misses.

    R = mean over the target of f(x) + base(loss - f(x)). Right if either the weights or the
    outcome model f is; and the better the model, the smaller the residuals that large weights
    multiply. The model is cross-fitted over the folds.

    Parameters
    ----------
    outcome_model : Moments or scikit-learn regressor, default=Moments(2)
        Predicts the loss from the features. `Moments` stands for ridge regression on monomials of
        the features, its penalty chosen by cross-validation: all candidates at once. A
        scikit-learn regressor is fitted anew for every candidate and fold.
    base : Method, default=Controlled()
        Averages the weighted residuals. `Normalized()` is the self-normalised version,
        `Weighted()` the textbook one; the paper's control variate is the steadiest of the three.
    cross_fit : bool, default=True

    References
    ----------
    Robins, Rotnitzky, Zhao (1994), doi:10.1080/01621459.1994.10476818. Chernozhukov et al. (2018),
    doi:10.1111/ectj.12097 (cross-fitting).
    """

    outcome_model: Any = field(default_factory=Moments)
    base: Method = field(default_factory=Controlled)
    cross_fit: bool = True

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
        if not isinstance(self.base, Method) or getattr(self.base, "needs_rows", False):
            raise ValueError(
                "`base` must be a method that averages from sums, such as Controlled() or "
                f"Normalized(); got {self.base!r}."
            )

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Subtract the model's predictions."""
        return outcome_model(xp, sample, self.outcome_model, self.base, cross_fit=self.cross_fit)


@dataclass(frozen=True)
class ParetoSmoothed(Normalized):
    """Self-normalised mean loss with the largest weights Pareto-smoothed.

    The largest min(0.2 n, 3 sqrt(n)) weights are replaced by the expected order statistics of the
    generalised Pareto distribution fitted to them, none above the largest: an erratic tail
    becomes a regular one, at a small bias.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry, arXiv:1507.02646.
    """

    name: ClassVar[str] = "pareto_smoothed"

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the smoothed weights."""
        return smooth_tail(xp, weights)


@dataclass(frozen=True)
class Shrunk(_NeedsRows):
    """Between the unweighted and the weighted mean loss, where the estimated error is least.

    R = (1/n) sum [(1 - a) w + a] loss. The source mean (a = 1) is biased but steady, the weighted
    one (a = 0) the reverse. The squared error of the mixture is quadratic in a; its bias is
    estimated by the distance between the two, less what noise explains. One a for all candidates,
    so that they are compared on the same terms.
    """

    name: ClassVar[str] = "shrunk"

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Mix the weights with ones."""
        weights, losses = sample.weights, sample.losses
        n, rows = losses.shape[-1], sample.n_rows
        scale = xp.mean(losses, axis=-1, keepdims=True)
        losses = losses / xp.where(scale > 0, scale, xp.ones_like(scale))
        weighted, gap = weights * losses, (1 - weights) * losses
        mean_gap = xp.mean(gap, axis=-1, keepdims=True)
        centred = gap - mean_gap
        variance = xp.sum(centred**2, axis=-1) / (n * max(rows - 1, 1))
        covariance = xp.sum(weighted * centred, axis=-1) / (n * max(rows - 1, 1))
        bias = xp.clip(mean_gap[..., 0] ** 2 - variance, 0, None)
        error = xp.sum(variance + bias, axis=-1)
        gain = -xp.sum(covariance, axis=-1)
        share = xp.clip(gain / xp.where(error > 0, error, xp.ones_like(error)), 0, 1)
        mixed = (1 - share[:, None, None]) * weights + share[:, None, None]
        squared = None
        if sample.domains is not None and sample.domains.target_weights is not None:
            # E_source[((1 - a) w + a)^2], with E_source[w^2] = E_target[w] and E_source[w] = 1.
            a = share[0]
            squared = (1 - a) ** 2 * sample.domains.target_weights + 2 * a * (1 - a) + a**2
        return Prepared(sample.losses, mixed, Weighted(), target_weights=squared)


@dataclass(frozen=True)
class Ratio(_NeedsRows):
    """Multiplicative control variate: mean(w loss) mean_target(phi) / mean(w phi).

    Good where the loss is nearly proportional to phi. With phi = 1 it is the self-normalised
    estimate.

    Parameters
    ----------
    control : Control, default=Constant()
        One positive function of the features.
    """

    control: Control = field(default_factory=Constant)

    name: ClassVar[str] = "ratio"

    @property
    def needs_features(self) -> bool:  # type: ignore[override]
        """Only for a control other than the weights."""
        return not isinstance(self.control, Constant)

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Normalise by w phi instead of w."""
        source, target = self.control.values(xp, sample)
        if source.shape[-1] != 1 or source.ndim != 3:
            raise ValueError(
                f"`control` of Ratio must have one value per row; got {source.shape[-1]} from "
                f"{self.control!r}. Use Controlled(controls=[...]) for several."
            )
        if not bool(xp.all(source > 0)):
            raise ValueError(
                f"`control` of Ratio must be positive at every row; {self.control!r} is not. "
                "Use Controlled(controls=[...]), or exponentiate it."
            )
        mean = xp.mean(target)
        relative = xp.moveaxis(source, -1, -2) / mean
        losses, weights = sample.losses / relative, sample.weights * relative
        # The estimate is proportional to the mean, and has its relative error.
        total = xp.sum(weights, axis=-1)
        value = xp.sum(weights * losses, axis=-1) / xp.where(total > 0, total, xp.ones_like(total))
        error = xp.var(target) / (target.shape[0] * mean**2)
        squared = None
        if sample.domains is not None and sample.domains.target_weights is not None:
            squared = sample.domains.target_weights * (target[:, 0] / mean) ** 2
        return Prepared(
            losses,
            weights,
            Normalized(),
            direct_variance=value**2 * error,
            target_weights=squared,
        )
