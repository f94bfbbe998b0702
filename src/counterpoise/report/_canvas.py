"""What every display needs: axes to draw on, and text that is shown as it is."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._validation import check_choice
from counterpoise.report.palette import BOTH, DARK, LIGHT, Palette, palette_of, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "THEMES",
    "canvas",
    "clip_limits",
    "legend_above",
    "legend_text",
    "log_axis",
    "plain_text",
    "power_of_ten",
    "shorten",
    "theme_palette",
]

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THEMES = {"light": LIGHT, "dark": DARK, "both": BOTH}


def theme_palette(theme: str | None, /) -> Palette | None:
    """Return the palette of a named theme; None for the user's own style."""
    if theme is None:
        return None
    return THEMES[check_choice(theme, "theme", THEMES)]


@contextmanager
def canvas(
    ax: Any, theme: str | None, /, *, size: tuple[float, float], panels: int = 1
) -> Iterator[tuple[Any, Palette]]:
    """Yield the axes to draw on (an array of them for several panels) and the palette.

    Without `ax` a figure is made through pyplot, as scikit-learn's displays do, so that a notebook
    shows it. Axes that are given keep their style; their background decides which shades are
    used, unless a theme says so.
    """
    palette = theme_palette(theme)
    with style(palette):
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
            ax = ax[0, 0] if panels == 1 else ax[0]
        elif panels > 1:
            ax = np.asarray(ax, dtype=object).ravel()
            if ax.shape[0] != panels:
                raise ValueError(
                    f"`ax` must hold {panels} axes, one per panel; got {ax.shape[0]}. "
                    f"Pass the axes of plt.subplots(1, {panels}), or None."
                )
        yield ax, palette or palette_of(ax if panels == 1 else ax[0])


def plain_text(text: Any, /, *, width: int = 60) -> str:
    """Return text from the data on one line: no control characters, not too long."""
    shown = "".join(
        " " if char.isspace() else "\N{REPLACEMENT CHARACTER}" if _unprintable(char) else char
        for char in str(text)
    )
    return shorten(shown.strip(), width)


def _unprintable(char: str) -> bool:
    # Control, format (such as those that turn the writing direction), surrogate, unassigned.
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")


def shorten(text: str, width: int, /) -> str:
    """Return text of at most `width` characters, the middle left out: names differ at both ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def legend_above(ax: Axes, palette: Palette, /, *, note: str = "", columns: int = 2) -> Any:
    """Put a legend over the axes, where nothing lies under it, with a remark as its heading.

    It ends where the axes end and grows to the left, over the labels of the rows. Its labels are
    never taken for formulas.
    """
    handles, labels = ax.get_legend_handles_labels()
    found = ax.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        columnspacing=1.2,
        handletextpad=0.5,
        title=note or None,
        title_fontsize="small",
        alignment="left",
        fontsize="small",
        frameon=False,
    )
    for text in (*found.get_texts(), found.get_title()):
        text.set_parse_math(False)
    found.get_title().set_color(palette.soft)
    return found


def legend_text(text: Any, /) -> str:
    """Return text for a legend, which leaves out what begins with an underscore."""
    shown = plain_text(text)
    return f"\N{THIN SPACE}{shown}" if shown.startswith("_") else shown


def clip_limits(
    points: np.ndarray, lows: np.ndarray, highs: np.ndarray, /
) -> tuple[float, float] | None:
    """Return limits of an axis of risks: all estimates, and intervals as far as is useful.

    One interval that is many times wider than the rest would squeeze everything else to a line.
    None where nothing is finite.
    """
    points = points[np.isfinite(points)]
    if points.size == 0:
        return None
    ends = np.concatenate([points, lows[np.isfinite(lows)], highs[np.isfinite(highs)]])
    widths = (highs - lows)[np.isfinite(highs - lows)]
    usual = float(np.median(widths)) if widths.size else 0.0
    spread = float(np.ptp(points))
    reach = 2 * max(usual, spread / 2)
    low = max(float(ends.min()), float(points.min()) - reach)
    high = min(float(ends.max()), float(points.max()) + reach)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 0.5
    return low - margin, high + margin


def log_axis(ax: Axes, which: str, /) -> None:
    """Make the x or y axis logarithmic, its ticks plain numbers: 0.01, 1, 100, 10⁵."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(**{f"{which}scale": "log"})
    axis = getattr(ax, f"{which}axis")
    axis.set_major_locator(LogLocator(numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    axis.set_minor_formatter(NullFormatter())


def power_of_ten(value: float, /) -> str:
    """Return a tick's label: 0.01 as it is, 0.00001 as 10⁻⁵."""
    if value <= 0 or not math.isfinite(value):
        return ""
    if 1e-3 <= value < 1e5:
        return f"{value:,.10g}"
    exponent = round(math.log10(value))
    return "10" + str(exponent).translate(_SUPERSCRIPT)
