"""Displays and pages: they draw what others computed.

Displays follow those of scikit-learn: ``from_estimator`` draws from a fitted search, the
constructor takes the numbers themselves, and `plot` draws on given axes.
"""

from counterpoise.present.answer import answer_page
from counterpoise.present.balance import BalanceDisplay
from counterpoise.present.forest import ForestDisplay
from counterpoise.present.shift_map import ShiftMapDisplay

__all__ = ["BalanceDisplay", "ForestDisplay", "ShiftMapDisplay", "answer_page"]
