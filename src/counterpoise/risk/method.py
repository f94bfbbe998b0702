"""What a risk method is: an average that needs sums, or an adjustment that looks at rows first.

HeldOut -> method.prepare -> Prepared -> Sums -> average.estimate -> RiskEstimate
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from counterpoise._arrays import Array, Namespace
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
        """Return c if the estimate averages w (loss - c); None if large weights do no harm."""
        return None


class Adjustment(Method):
    """A method that looks at rows first, and leaves the averaging to an `Average`.

    A subclass sets `name` and implements `prepare`. It gets losses of shape (L, n) of L candidates,
    weights (n,) and `domains.source` (n, D).
    """


def name_methods(methods: Sequence[Method], /) -> list[str]:
    """Return one name per method: "controlled", "controlled (2)" and so on."""
    names: list[str] = []
    for i, method in enumerate(methods):
        taken = sum(other.name == method.name for other in methods[:i])
        names.append(f"{method.name} ({taken + 1})" if taken else method.name)
    return names
