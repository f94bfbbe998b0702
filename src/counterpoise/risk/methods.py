"""The risk methods: how weighted losses become an estimate of the target risk.

A method is two pure steps: which weights it uses, and the estimate as a function of the sums in
:class:`~counterpoise.risk.moments.Moments`. Nothing else about it is known elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from counterpoise._arrays import Array, Namespace
from counterpoise._validation import check_choice, check_number
from counterpoise.risk.moments import Moments

__all__ = [
    "METHODS",
    "Controlled",
    "Method",
    "Normalized",
    "Source",
    "Truncated",
    "Weighted",
    "get_method",
]


@runtime_checkable
class Method(Protocol):
    """What a risk method must offer."""

    @property
    def name(self) -> str:
        """The word that selects the method."""

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights that the method uses, from all of a sample's weights (..., n)."""

    def estimate(self, xp: Namespace, moments: Moments, /) -> tuple[Array, Array]:
        """Return the estimated risk and beta, from sums over samples."""


@dataclass(frozen=True)
class Weighted:
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

    def estimate(self, xp: Namespace, moments: Moments, /) -> tuple[Array, Array]:
        """Return the mean weighted loss; beta is 0."""
        value = moments.weighted_loss / moments.count
        return value, xp.zeros_like(value)


@dataclass(frozen=True)
class Source(Weighted):
    """Unweighted mean loss: the risk in the source, blind to the shift."""

    name: ClassVar[str] = "source"

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return ones."""
        return xp.ones_like(weights)


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


@dataclass(frozen=True)
class Normalized(Weighted):
    """Self-normalised weighted mean loss, sum w loss / sum w.

    Returns a constant loss exactly and does not depend on the scale of the weights; biased by
    O(1/n). Where all weights are zero (a fold far from the target) it is 0.
    """

    name: ClassVar[str] = "normalized"

    def estimate(self, xp: Namespace, moments: Moments, /) -> tuple[Array, Array]:
        """Return the ratio of sums; beta is 0."""
        total = moments.count + moments.excess
        value = moments.weighted_loss / xp.where(total > 0, total, xp.ones_like(total))
        return value, xp.zeros_like(value)


@dataclass(frozen=True)
class Controlled:
    """Weighted mean loss with the weights as their own control variate: the paper's estimator.

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

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514. Owen, Zhou (2000),
    doi:10.1080/01621459.2000.10473909.
    """

    center: str = "known"
    beta: float | None = None

    name: ClassVar[str] = "controlled"

    def __post_init__(self) -> None:
        check_choice(self.center, "center", ("known", "sample"))
        if self.beta is not None and not math.isfinite(check_number(self.beta, "beta")):
            raise ValueError(f"`beta` must be finite; got {self.beta!r}. Pass None to estimate it.")

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights as they are."""
        return weights

    def estimate(self, xp: Namespace, moments: Moments, /) -> tuple[Array, Array]:
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


METHODS: dict[str, Method] = {
    method.name: method
    for method in (Source(), Weighted(), Normalized(), Truncated(), Controlled())
}


def get_method(method: str | Method, /) -> Method:
    """Return the method of that name, or the method object itself."""
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]
    if isinstance(method, Method) and not isinstance(method, type):
        return method
    names = ", ".join(repr(name) for name in METHODS)
    raise ValueError(
        f"`method` must be one of {names}, or an object such as "
        f'counterpoise.risk.Controlled(center="sample"); got {method!r}.'
    )
