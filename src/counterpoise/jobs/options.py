"""How a selection chooses and what it delivers: the options and their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoise._validation import check_choice
from counterpoise.risk import METHODS

__all__ = [
    "DEFAULT_DELIVERY",
    "DEFAULT_FIT_WEIGHTED",
    "DEFAULT_SELECTION",
    "DELIVERIES",
    "FIT_WEIGHTED",
    "SELECTIONS",
    "Options",
]

#: What the options may be, in the order of the help.
SELECTIONS = ("consensus", "min")
DELIVERIES = ("blend", "one")
FIT_WEIGHTED: dict[str, bool | str] = {"no": False, "yes": True, "both": "both"}
#: What they are unless something else is asked for.
DEFAULT_SELECTION = "consensus"
DEFAULT_DELIVERY = "blend"
DEFAULT_FIT_WEIGHTED = "both"


@dataclass(frozen=True)
class Options:
    """How the search judges and chooses, what it delivers, and how candidates are trained."""

    method: str
    selection: str
    deliver: str
    fit_weighted: bool | str

    @classmethod
    def of(
        cls, method: str, selection: str | None, deliver: str | None, fit_weighted: str | None, /
    ) -> Options:
        """Check the options; None is the default."""
        selection = DEFAULT_SELECTION if selection is None else selection
        deliver = DEFAULT_DELIVERY if deliver is None else deliver
        trained = DEFAULT_FIT_WEIGHTED if fit_weighted is None else fit_weighted
        check_choice(method, "--method", METHODS)
        check_choice(selection, "--selection", SELECTIONS)
        check_choice(deliver, "--deliver", DELIVERIES)
        check_choice(trained, "--fit-weighted", FIT_WEIGHTED)
        return cls(method, selection, deliver, FIT_WEIGHTED[trained])
