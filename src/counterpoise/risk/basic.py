"""Risk methods that need sums alone: how weighted losses become an estimate of the target risk.

A method is two pure steps: which weights it uses, and the estimate as a function of the sums in
:class:`~counterpoise.risk.sums.Sums`. Nothing else about it is known elsewhere. Methods that
look at the features too have a step before these, `prepare`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from counterpoise._arrays import Array, Namespace
from counterpoise._validation import check_choice, check_number
from counterpoise.risk.augmented import check_penalty, control_variates
from counterpoise.risk.controls import Constant, Control
from counterpoise.risk.sample import Prepared, Sample
from counterpoise.risk.sums import Sums

__all__ = [
    "Controlled",
    "Method",
    "Normalized",
    "Source",
    "SumMethod",
    "Truncated",
    "Weighted",
    "check_features",
    "name_methods",
    "needs_rows",
]


@runtime_checkable
class Method(Protocol):
    """What a risk method must offer."""

    @property
    def name(self) -> str:
        """The word that selects the method."""

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights that the method uses, from all of a sample's weights (..., n)."""

    def estimate(self, xp: Namespace, moments: Sums, /) -> tuple[Array, Array]:
        """Return the estimated risk and beta, from sums over samples."""


class SumMethod:
    """What methods from sums share."""

    # Whether the method looks at rows before they are added up: then sums alone will not do.
    needs_rows: ClassVar[bool] = False
    # Whether it must see the features of both domains.
    needs_features: ClassVar[bool] = False

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Return the sample as it is, to be averaged by this method."""
        return Prepared(sample.losses, sample.weights, self)  # type: ignore[arg-type]

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return c such that the estimate averages w (loss - c), or None where tails do no harm."""
        return None


def needs_rows(method: Any, /) -> bool:
    """Tell whether a method looks at rows before they are added up."""
    return bool(getattr(method, "needs_rows", False))


def check_features(method: Any, X_target: Any, /) -> None:
    """Refuse a method that needs target rows where there are none, before any work."""
    if X_target is None and getattr(method, "needs_features", False):
        raise ValueError(
            f"`X_target` is missing: method {method.name!r} compares the features of source and "
            "target. Pass X_target, or method='controlled'."
        )


def name_methods(methods: Sequence[Method], /) -> list[str]:
    """Return one name per method: "controlled", "controlled (2)" and so on."""
    names: list[str] = []
    for i, method in enumerate(methods):
        taken = sum(other.name == method.name for other in methods[:i])
        names.append(f"{method.name} ({taken + 1})" if taken else method.name)
    return names


@dataclass(frozen=True)
class Weighted(SumMethod):
    """Importance-weighted mean loss, (1/n) sum w loss.

    Unbiased for the target risk with true weights; its variance grows with that of the weights
    and can be infinite.

    References
    ----------
    Sugiyama, Krauledat, Müller (2007), importance-weighted cross-validation.
    """

    name: ClassVar[str] = "weighted"

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights as they are."""
        return weights

    def estimate(self, xp: Namespace, moments: Sums, /) -> tuple[Array, Array]:
        """Return the mean weighted loss; beta is 0."""
        value = moments.weighted_loss / moments.count
        return value, xp.zeros_like(value)

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return 0."""
        return 0 * value


@dataclass(frozen=True)
class Source(Weighted):
    """Unweighted mean loss: the risk in the source, blind to the shift."""

    name: ClassVar[str] = "source"

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return ones."""
        return xp.ones_like(weights)

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return None: equal weights have no tail."""
        return None


@dataclass(frozen=True)
class Truncated(Weighted):
    """Importance-weighted mean loss with the weights capped.

    Bounded variance at the price of a downward bias: what lies above the cap is lost.

    Parameters
    ----------
    cap : float or "sqrt", default="sqrt"
        Largest weight. "sqrt" is the square root of the number of samples.
    quantile : float in (0, 1], optional
        Cap at this quantile of the weights instead.

    References
    ----------
    Ionides (2008), doi:10.1198/106186008X320456.
    """

    cap: float | str = "sqrt"
    quantile: float | None = None

    name: ClassVar[str] = "truncated"

    def __post_init__(self) -> None:
        if self.quantile is not None:
            check_number(self.quantile, "quantile", low=0, high=1, closed="high")
        if isinstance(self.cap, str):
            check_choice(self.cap, "cap", ("sqrt",))
        else:
            check_number(self.cap, "cap", low=0, remedy='Pass a largest weight, or "sqrt".')

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights, none above the cap."""
        n = weights.shape[-1]
        if self.quantile is not None:
            position = min(math.ceil(self.quantile * n), n) - 1
            cap = xp.sort(weights, axis=-1)[..., max(position, 0), None]
        else:
            level = math.sqrt(n) if isinstance(self.cap, str) else float(self.cap)
            cap = xp.full_like(weights[..., :1], level)
        return xp.minimum(weights, cap)

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return None: the tail is cut off."""
        return None


@dataclass(frozen=True)
class Normalized(Weighted):
    """Self-normalised weighted mean loss, sum w loss / sum w.

    Returns a constant loss exactly and does not depend on the scale of the weights; biased by
    O(1/n). Where all weights are zero (a fold far from the target) it is 0.
    """

    name: ClassVar[str] = "normalized"

    def estimate(self, xp: Namespace, moments: Sums, /) -> tuple[Array, Array]:
        """Return the ratio of sums; beta is 0."""
        total = moments.count + moments.excess
        value = moments.weighted_loss / xp.where(total > 0, total, xp.ones_like(total))
        return value, xp.zeros_like(value)

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return the estimate itself."""
        return value


@dataclass(frozen=True)
class Controlled(SumMethod):
    """Weighted mean loss with control variates: the paper's estimator, and more of its kind.

    R = (1/n) sum [w loss - beta (w - 1)]. The expected weight is known to be 1, so the correction
    has expectation 0 for any fixed beta, and the beta that minimises the variance is
    cov(w loss, w) / var(w). Estimated from the same samples it costs a bias of O(1/n).

    With the sample-centred beta, the estimate is the height at w = 1 of the least-squares line of
    the weighted losses on the weights. Weights without spread leave nothing to regress on: beta
    is then 0 and the estimate is the plain weighted one.

    Parameters
    ----------
    center : {"known", "sample"}, default="known"
        beta = sum (w loss - mean) (w - 1) / D with D = sum (w - 1)^2 around the *known* mean 1
        (the paper's), or D = sum (w - mean(w))^2 around the *sample* mean (the regression line,
        which returns a constant loss exactly). The known mean shrinks beta when the mean weight
        is far from 1.
    beta : float, optional
        A given coefficient, instead of the estimate: no bias, and no adaptation.
    controls : sequence of Control, optional
        Several control variates instead of the weights alone, for instance
        ``[Constant(), Moments(2)]`` from :mod:`counterpoise.risk`. Their coefficients come from
        one penalised regression of the weighted losses; `center` and `beta` then play no part.
    penalty : {"ridge", "lasso"} or float, default="ridge"
        Of that regression: of a strength chosen by cross-validation without the rows it will be
        used on, or of the ridge strength given.
    cross_fit : bool, default=True
        Each row's correction uses coefficients from the other folds only, so that estimating them
        adds no bias. Without it they come from all rows.

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514. Owen, Zhou (2000),
    doi:10.1080/01621459.2000.10473909.
    """

    center: str = "known"
    beta: float | None = None
    controls: Sequence[Control] | None = None
    penalty: str | float = "ridge"
    cross_fit: bool = True

    def __post_init__(self) -> None:
        check_choice(self.center, "center", ("known", "sample"))
        check_penalty(self.penalty)
        if self.controls is not None:
            self._check_controls()
        if self.beta is not None and not math.isfinite(check_number(self.beta, "beta")):
            raise ValueError(f"`beta` must be finite; got {self.beta!r}. Pass None to estimate it.")

    def _check_controls(self) -> None:
        controls = tuple(self.controls) if isinstance(self.controls, list | tuple) else ()
        usable = [isinstance(c, Control) and not isinstance(c, type) for c in controls]
        if not controls or not all(usable):
            raise ValueError(
                "`controls` must be a list of at least one control variate such as [Constant(), "
                f"Moments(2)]; got {self.controls!r}. Leave it out for the paper's."
            )
        if self.beta is not None:
            raise ValueError(
                f"`beta` must be None with several controls; got {self.beta!r}. Their coefficients "
                "are estimated."
            )
        # Hashable and safe from later changes to the caller's list.
        object.__setattr__(self, "controls", controls)

    @property
    def name(self) -> str:
        """The word that selects the method."""
        return "controlled" if self.controls is None else "moment_controlled"

    @property
    def needs_rows(self) -> bool:  # type: ignore[override]
        """Several controls are evaluated row by row."""
        return self.controls is not None

    @property
    def needs_features(self) -> bool:  # type: ignore[override]
        """Controls other than the weights are functions of the features."""
        return any(not isinstance(control, Constant) for control in self.controls or ())

    @property
    def base(self) -> Method:
        """What averages the losses that the controls leave.

        The weights themselves are left to the paper's control variate, fold by fold: in heavy
        tails it is steadier than a coefficient from the other folds.
        """
        paper = any(isinstance(control, Constant) for control in self.controls or (Constant(),))
        return Controlled() if paper else Weighted()

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Subtract the controls, where there are several."""
        if self.controls is None:
            return super().prepare(xp, sample)
        return control_variates(
            xp,
            sample,
            self.controls,
            self.base,
            penalty=self.penalty,
            cross_fit=self.cross_fit,
        )

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return beta: the estimate averages w (loss - beta) + beta."""
        return beta

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights as they are."""
        return weights

    def estimate(self, xp: Namespace, moments: Sums, /) -> tuple[Array, Array]:
        """Return the controlled mean and its beta."""
        mean_loss = moments.weighted_loss / moments.count
        mean_excess = moments.excess / moments.count
        if self.beta is not None:
            beta = xp.full_like(mean_loss, self.beta)
        else:
            covariance = moments.loss_excess - mean_loss * moments.excess
            spread = moments.excess_squared
            if self.center == "sample":
                spread = spread - mean_excess * moments.excess
            # Below this, the spread is rounding error of equal weights.
            tiny = 16 * xp.finfo(spread.dtype).eps * moments.excess_squared
            flat = ~(spread > tiny)
            beta = covariance / xp.where(flat, xp.ones_like(spread), spread)
            beta = xp.where(flat, xp.zeros_like(beta), beta)
        return mean_loss - beta * mean_excess, beta
