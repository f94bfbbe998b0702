"""Every risk method by its name, and what `method=` means."""

from __future__ import annotations

from typing import Any

from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.averages import (
    Controlled,
    Normalized,
    ParetoSmoothed,
    Source,
    Truncated,
    Weighted,
)
from counterpoise.risk.method import Method

__all__ = ["METHODS", "check_features", "get_method"]

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
        MomentControlled(),
        DoublyRobust(),
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


def check_features(method: Method, X_target: Any, /) -> None:
    """Refuse a method that needs target rows if there are none, before any work."""
    if X_target is None and method.needs_features:
        raise ValueError(
            f"`X_target` is missing: method {method.name!r} compares the features of source and "
            "target. Pass X_target, or method='controlled'."
        )
