"""Every risk method by its name, and what `method=` means."""

from __future__ import annotations

from counterpoise.risk.auto import Auto
from counterpoise.risk.basic import (
    Controlled,
    Method,
    Normalized,
    Source,
    Truncated,
    Weighted,
    check_features,
    name_methods,
    needs_rows,
)
from counterpoise.risk.beyond import DoublyRobust, ParetoSmoothed, Ratio, Shrunk
from counterpoise.risk.controls import Constant, Moments

__all__ = [
    "METHODS",
    "Auto",
    "Controlled",
    "DoublyRobust",
    "Method",
    "Normalized",
    "ParetoSmoothed",
    "Ratio",
    "Shrunk",
    "Source",
    "Truncated",
    "Weighted",
    "check_features",
    "get_method",
    "name_methods",
    "needs_rows",
]

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Source(),
        Weighted(),
        Normalized(),
        Truncated(),
        ParetoSmoothed(),
        Shrunk(),
        Controlled(),
        Controlled(controls=(Constant(), Moments(2))),
        DoublyRobust(),
        Auto(),
    )
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
