"""What a risk method is, and averages: the methods that are functions of sums over rows.

HeldOut -> method.prepare -> Prepared -> Sums -> average.estimate -> RiskEstimate
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterpoise._arrays import Array, Namespace
from counterpoise._pareto import smooth_tail
from counterpoise._validation import check_choice, check_number
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.sums import Sums


@dataclass(frozen=True, eq=False)
class Prepared:
    """The average that remains to be taken: direct + average(losses, weights)."""

    losses: Array  # (..., n): what remains of them, for instance after subtracting a model
    weights: Array  # (n,) or (..., n)
    average: Average
    direct: Any = 0.0  # (...): the part that is known already, such as a mean over the target
    direct_error: Any = 0.0  # (...): its standard error, from the finite target sample
    # (m,), if the tail error must not use `Domains.target_weights`: the mean of these over the
    # target is the mean square of `weights` over the source.
    target_weights: Array | None = None


class Method:
    """What every risk method offers. Derive from `Average` or `Adjustment` to make one.

    Attributes
    ----------
    name : str
        The word that selects the method.
    needs_features : bool
        Whether the method needs the features of both domains.
    """

    name: ClassVar[str]
    needs_features: ClassVar[bool] = False

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Return what is left to average."""
        raise NotImplementedError

    def check_features(self, features: Any, /) -> None:
        """Refuse to go on without the features of both domains if they are needed."""
        if features is None and self.needs_features:
            raise ValueError(
                f"`X_target` is missing: method {self.name!r} needs the features of both domains. "
                "Pass X_source and X_target to target_risk, X_target to fit of a search (it is not "
                "pickled with it: fit again), or method='controlled'."
            )


class Average(Method):
    """A method that is a function of sums over rows, and works on streams and batches.

    A subclass sets `name` and implements `estimate`; it may override the other methods.
    """

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Return the losses and weights unchanged."""
        return Prepared(held_out.losses, held_out.weights, self)

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights that the method uses, from all weights of a sample (..., n)."""
        return weights

    def estimate(self, xp: Namespace, sums: Sums, /) -> tuple[Array, Array]:
        """Return the estimated risk and beta."""
        raise NotImplementedError

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return c if the estimate averages w (loss - c) + c; None if large weights do no harm."""
        return beta


class Adjustment(Method):
    """A method that looks at rows first, and leaves the averaging to an `Average`.

    A subclass sets `name` and implements `prepare`. It gets losses of shape (L, n) of L candidates,
    weights (n,) and `domains.source` (n, D), all in NumPy.
    """


def name_methods(methods: Sequence[Method], /) -> list[str]:
    """Return one name per method: "controlled", "controlled (2)" and so on."""
    names: list[str] = []
    for i, method in enumerate(methods):
        taken = sum(other.name == method.name for other in methods[:i])
        names.append(f"{method.name} ({taken + 1})" if taken else method.name)
    return names


@dataclass(frozen=True)
class Weighted(Average):
    """Importance-weighted mean loss, (1/n) sum w loss.

    Unbiased for the target risk with true weights; its variance grows with that of the weights
    and can be infinite.

    References
    ----------
    Sugiyama, Krauledat, Müller (2007), importance-weighted cross-validation.
    """

    name: ClassVar[str] = "weighted"

    def estimate(self, xp: Namespace, sums: Sums, /) -> tuple[Array, Array]:
        """Return the mean weighted loss; beta is 0."""
        value = sums.weighted_loss / sums.count
        return value, xp.zeros_like(value)


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

    References
    ----------
    Ionides (2008), doi:10.1198/106186008X320456.
    """

    cap: float | str = "sqrt"

    name: ClassVar[str] = "truncated"

    def __post_init__(self) -> None:
        if isinstance(self.cap, str):
            check_choice(self.cap, "cap", ("sqrt",))
        else:
            check_number(self.cap, "cap", low=0, remedy='Pass a largest weight, or "sqrt".')

    def effective_weights(self, xp: Namespace, weights: Array, /) -> Array:
        """Return the weights, none above the cap."""
        level = math.sqrt(weights.shape[-1]) if isinstance(self.cap, str) else float(self.cap)
        return xp.minimum(weights, xp.full_like(weights[..., :1], level))

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

    def estimate(self, xp: Namespace, sums: Sums, /) -> tuple[Array, Array]:
        """Return the ratio of sums; beta is 0."""
        total = sums.weight
        value = sums.weighted_loss / xp.where(total > 0, total, 1.0)
        return value, xp.zeros_like(value)

    def tail_offset(self, value: Array, beta: Array, /) -> Array | None:
        """Return the estimate itself."""
        return value


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
class Controlled(Average):
    """Weighted mean loss with the weights as control variate: the paper's estimator.

    R = (1/n) sum [w loss - beta (w - 1)]. The expected weight is known to be 1, so the correction
    has expectation 0 for any fixed beta, and the beta that minimises the variance is
    cov(w loss, w) / var(w). Estimated from the same rows it costs a bias of O(1/n).

    With the sample-centred beta, the estimate is the height at w = 1 of the least-squares line of
    the weighted losses on the weights. If the weights have no spread, beta is 0 and the estimate is
    the plain weighted one.

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
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514.
    """

    center: str = "known"
    beta: float | None = None

    name: ClassVar[str] = "controlled"

    def __post_init__(self) -> None:
        check_choice(self.center, "center", ("known", "sample"))
        if self.beta is not None and not math.isfinite(check_number(self.beta, "beta")):
            raise ValueError(f"`beta` must be finite; got {self.beta!r}. Pass None to estimate it.")

    def estimate(self, xp: Namespace, sums: Sums, /) -> tuple[Array, Array]:
        """Return the controlled mean and its beta."""
        mean_loss = sums.weighted_loss / sums.count
        mean_excess = sums.excess / sums.count
        if self.beta is not None:
            beta = xp.full_like(mean_loss, float(self.beta))
            return mean_loss - beta * mean_excess, beta
        covariance = sums.loss_excess - mean_loss * sums.excess
        spread = sums.excess_squared
        if self.center == "sample":
            spread = spread - mean_excess * sums.excess
        # Below this, the spread is rounding error of equal weights.
        tiny = 16 * xp.finfo(spread.dtype).eps * sums.excess_squared
        flat = ~(spread > tiny)
        beta = xp.where(flat, 0.0, covariance / xp.where(flat, 1.0, spread))
        return mean_loss - beta * mean_excess, beta


def method_by_row(method: Method, n: int, /) -> Average:
    """Return an average that takes a row's weight from the row alone, for n rows in all.

    Refuses a method that must see all rows first: rows in chunks and on Dask are never together.
    """
    if type(method) is Truncated:
        # Every chunk has the cap of all rows.
        return replace(method, cap=math.sqrt(n)) if isinstance(method.cap, str) else method
    if isinstance(method, Average) and type(method) in (Source, Weighted, Normalized, Controlled):
        return method
    raise ValueError(
        f"`method` must take a row's weight from the row alone; got {method!r}, which looks at all "
        "rows at once. Pass 'controlled', 'weighted', 'normalized', 'truncated' or 'source'."
    )
