"""Legends, limits, ticks and labelled rows of the displays' axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from counterpoise._format import printable, shorten, shorten_names
from counterpoise._validation import check_choice
from counterpoise.present.palette import DARK, LIGHT, Palette, palette_of, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_THEMES = {"light": LIGHT, "dark": DARK}


class Display:
    """Base of the displays: a subclass has a `size` and draws itself in `_draw`."""

    ax_: Axes
    figure_: Figure
    #: Width and height in inches of a new figure.
    size: tuple[float, float] = (6.0, 3.8)

    def plot(self, ax: Any = None, *, theme: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure of pyplot, which a notebook shows.
        theme : {"light", "dark"}, optional
            Default: the shades that suit the background of the axes, in matplotlib's current style.

        Returns
        -------
        self
        """
        palette = None if theme is None else _THEMES[check_choice(theme, "theme", _THEMES)]
        with style(palette):
            if ax is None:
                import matplotlib.pyplot as plt

                _, ax = plt.subplots(figsize=self.size, layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax, palette or palette_of(ax))
        return self

    def _draw(self, ax: Any, palette: Palette) -> None:
        raise NotImplementedError


#: Rows that a display draws at most.
MOST_ROWS = 30
# Intervals wider than the narrowest and the largest value by such a factor do not set the limits.
_WIDE = 20.0


def plain_text(text: Any, /, *, width: int = 60) -> str:
    """Return text from the data on one line, without control characters, not too long."""
    return shorten(printable(text), width)


def legend_text(text: Any, /) -> str:
    """Return text for a legend; matplotlib leaves out labels that begin with an underscore."""
    shown = plain_text(text)
    return f"\N{THIN SPACE}{shown}" if shown.startswith("_") else shown


def legend_above(ax: Axes, palette: Palette, /, *, note: str = "") -> Any:
    """Put a legend above the axes, with a remark as its heading; no label is a formula."""
    legend = ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=2,
        borderaxespad=0.2,
        columnspacing=1.2,
        handletextpad=0.5,
        title=note or None,
        title_fontsize="medium",
        alignment="left",
        fontsize="medium",
        frameon=False,
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
    legend.get_title().set_color(palette.soft)
    return legend


def clip_limits(points: np.ndarray, lows: np.ndarray, highs: np.ndarray, /) -> tuple[float, float]:
    """Return limits of an axis of risks; a much wider interval than the others is cut off."""
    points = points[np.isfinite(points)]
    if points.size == 0:
        return 0.0, 1.0
    ends = np.concatenate([points, lows[np.isfinite(lows)], highs[np.isfinite(highs)]])
    widths = (highs - lows)[np.isfinite(highs - lows) & (highs > lows)]
    widths = widths[widths <= _WIDE * max(widths.min(initial=np.inf), np.abs(points).max())]
    usual = float(np.median(widths)) if widths.size else 0.0
    reach = 2 * max(usual, float(np.ptp(points)) / 2)
    low = max(float(ends.min()), float(points.min()) - reach)
    high = min(float(ends.max()), float(points.max()) + reach)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 0.5
    return low - margin, high + margin


def plain_ticks(ax: Axes, which: str, /) -> None:
    """Write every tick of the x or y axis as a whole number or decimal, without an offset."""
    from matplotlib.ticker import MaxNLocator

    axis = getattr(ax, f"{which}axis")
    low, high = sorted(axis.get_view_interval())
    # Long labels need room: fewer of them.
    largest = max(abs(low), abs(high), 1e-300)
    digits = max(math.log10(largest / max(high - low, 1e-300)), math.log10(largest) - 3)
    axis.set_major_locator(MaxNLocator(nbins=5 if digits < 0.7 else 3 if digits < 3 else 2))
    axis.set_major_formatter("{x:,.12g}")


def log_axis(ax: Axes, which: str, /) -> None:
    """Make the x or y axis logarithmic, its ticks plain numbers: 0.01, 1, 10,000."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set(**{f"{which}scale": "log"})
    axis = getattr(ax, f"{which}axis")
    axis.set_major_locator(LogLocator(numticks=7))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter(NullFormatter())


def set_rows(ax: Any, names: Sequence[Any], width: int, palette: Palette, /) -> None:
    """Give an axes one labelled row per entry, the first on top; long names are shortened."""
    ax.set_yticks(np.arange(len(names)), shorten_names(names, width), parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x", color=palette.grid)
    ax.set_axisbelow(True)
    ax.spines[["left", "top", "right"]].set_visible(False)


def rows_height(count: int, row: float = 0.30, /) -> float:
    """Return the height in inches of a figure with so many rows."""
    return 1.15 + row * max(min(count, MOST_ROWS), 2)
