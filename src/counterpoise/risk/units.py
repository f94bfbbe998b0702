"""Units of losses: powers of two that keep squares inside the range of floating numbers.

A risk and its errors are proportional to the losses. Losses of 1e150 or of 1e-150 are divided by a
power of two first, which changes no digit, and the results are multiplied by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from counterpoise._arrays import Array, Namespace
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.method import Method, Prepared

__all__ = ["in_unit", "prepare_in_unit", "unit_of"]

# Fourth powers of numbers between these stay far from overflow and underflow, even in single
# precision.
_SMALL, _LARGE = 2.0**-30, 2.0**30


def unit_of(xp: Namespace, values: Array, /, *, least: float = 0.0) -> Array | None:
    """Return the unit (...) of values (..., n), a power of two near the largest, or near `least`.

    1 where that is of ordinary size, where all entries are 0 and where one is missing (NaN); None
    if it is 1 everywhere.
    """
    largest = xp.max(xp.abs(values), axis=-1)
    if least:
        largest = xp.maximum(largest, xp.full_like(largest, least))
    extreme = ((largest > _LARGE) | (largest < _SMALL)) & (largest > 0)
    if not bool(xp.any(extreme)):
        return None
    exponent = xp.floor(xp.log2(xp.where(extreme, largest, 1.0)))
    # The inverse of the unit must be a number too.
    return 2.0 ** xp.clip(exponent, -1000.0, 1000.0)


def prepare_in_unit(xp: Namespace, method: Method, held_out: HeldOut, /) -> Prepared:
    """Let the method look at the rows with their losses in units of ordinary size."""
    unit = unit_of(xp, held_out.losses)
    if unit is None:
        return method.prepare(xp, held_out)
    scaled = replace(held_out, losses=held_out.losses / unit[..., None])
    return in_unit(method.prepare(xp, scaled), unit)


def in_unit(prepared: Prepared, unit: Array, /) -> Prepared:
    """Multiply what is left to average by the unit (...) of the losses."""
    direct, error = (
        part if isinstance(part, float) else part * unit
        for part in (prepared.direct, prepared.direct_error)
    )
    losses: Any = prepared.losses * unit[..., None]
    return replace(prepared, losses=losses, direct=direct, direct_error=error)
