"""Units of losses: powers of two that keep squares inside the range of floating numbers.

A risk and its errors are proportional to the losses. Losses of 1e150 or of 1e-150 are divided by a
power of two first, which changes no digit, and the results are multiplied by it.
"""

from __future__ import annotations

from typing import Any

from counterpoise._arrays import Array, Namespace

__all__ = ["unit_of"]

# Fourth powers of numbers between these, summed and weighted, stay far from overflow and underflow.
_SMALL, _LARGE = 2.0**-60, 2.0**60


def unit_of(xp: Namespace, values: Array, /) -> Any:
    """Return the unit (...) of values (..., n): 1.0, or a power of two near the largest of them.

    1.0 where all entries are 0 or where one is missing (NaN).
    """
    largest = xp.max(xp.abs(values), axis=-1)
    extreme = ((largest > _LARGE) | (largest < _SMALL)) & (largest > 0)
    if not bool(xp.any(extreme)):
        return 1.0
    exponent = xp.floor(xp.log2(xp.where(extreme, largest, xp.ones_like(largest))))
    return 2.0**exponent
