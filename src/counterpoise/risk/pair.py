"""Two methods at once: one for the level of the risks, one for their differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from counterpoise._arrays import Array, Namespace
from counterpoise.risk.average import average_value, prepare
from counterpoise.risk.basic import Method
from counterpoise.risk.beyond import _NeedsRows
from counterpoise.risk.sample import Prepared, Sample

__all__ = ["Pair", "combine"]


@dataclass(frozen=True)
class Pair(_NeedsRows):
    """One method for the level of the risks, another for the differences between candidates.

    value = level(A) + B - level(B), where the level is the mean over the better half of the
    candidates by their unweighted loss. Errors are those of A, which estimates both parts.

    Parameters
    ----------
    level, difference : Method
    """

    level: Method
    difference: Method

    name: ClassVar[str] = "pair"

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Let the level's method prepare, and add what the other says of the differences."""
        first = prepare(xp, self.level, sample)
        if self.level == self.difference or sample.losses.shape[1] == 1:
            return first
        level, difference = (
            average_value(xp, prepared, sample.folds)
            for prepared in (first, prepare(xp, self.difference, sample))
        )
        both = combine(xp, level, difference, xp.mean(sample.losses, axis=-1))
        return replace(first, direct=first.direct + both - level)


def combine(xp: Namespace, level: Array, difference: Array, mean_loss: Array, /) -> Array:
    """Return risks (..., L) with the level of the first and the differences of the second."""
    rank = xp.argsort(xp.argsort(mean_loss, axis=-1), axis=-1)
    size = (mean_loss.shape[-1] + 1) // 2
    share = xp.astype(rank < size, mean_loss.dtype) / size
    return difference + xp.sum((level - difference) * share, axis=-1, keepdims=True)
