"""Every risk method by its name, and what `method=` means."""

from __future__ import annotations

from counterpoise.exceptions import InputError
from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.averages import (
    Controlled,
    Method,
    Normalized,
    ParetoSmoothed,
    Source,
    Truncated,
    Weighted,
)
from counterpoise.risk.loss_model import Modelled

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
        Modelled(),
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


def register_method(method: Method, /) -> None:
    """Make a risk method known by its name, everywhere ``method=`` is a parameter.

    Parameters
    ----------
    method : Method
        An object of a class derived from :class:`counterpoise.risk.Average` or
        :class:`counterpoise.risk.Adjustment`, whose `name` is not taken yet.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> from counterpoise import risk
    >>> @dataclass(frozen=True)
    ... class Capped(risk.Weighted):
    ...     '''Weighted mean loss with weights of at most 2.'''
    ...
    ...     name: ClassVar[str] = "at most 2"
    ...
    ...     def effective_weights(self, xp, weights, /):
    ...         return xp.where(weights > 2, xp.asarray(2.0, dtype=weights.dtype), weights)
    >>> risk.register_method(Capped())
    >>> risk.target_risk([1.0, 2.0, 3.0], [0.5, 0.5, 4.0], method="at most 2").value
    2.5
    >>> _ = risk.METHODS.pop("at most 2")  # forgotten again
    """
    if not isinstance(method, Method) or isinstance(method, type):
        raise InputError(
            f"`method` must be a risk method; got {method!r}. Derive a class from "
            "counterpoise.risk.Average or Adjustment, and pass an object of it."
        )
    if method.name in METHODS:
        raise InputError(
            f"`method` has the name {method.name!r}, which is taken by {METHODS[method.name]!r}. "
            "Choose another one."
        )
    METHODS[method.name] = method
