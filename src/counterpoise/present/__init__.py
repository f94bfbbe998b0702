"""Displays and pages: they draw what others computed.

Displays follow those of scikit-learn: ``from_estimator`` draws from a fitted search, the
constructor takes the numbers themselves, and `plot` draws on given axes.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoise.present.answer import answer_page
    from counterpoise.present.balance import BalanceDisplay
    from counterpoise.present.forest import ForestDisplay
    from counterpoise.present.shift_map import ShiftMapDisplay

__all__ = [
    "BalanceDisplay",
    "ForestDisplay",
    "ShiftMapDisplay",
    "answer_page",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # ShiftMapDisplay is in shift_map, and so on.
    words = re.findall("[A-Z][a-z]+", name.removesuffix("Display"))
    home = "_".join(words).lower() or "answer"
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
