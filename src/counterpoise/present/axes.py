"""Legends, limits, ticks and labelled rows of the displays' axes."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._format import printable, shorten, shorten_names
from counterpoise.present.palette import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MOST_ROWS",
    "best_first",
    "clip_limits",
    "fit_label",
    "legend_above",
    "legend_text",
    "log_axis",
    "plain_text",
    "plain_ticks",
    "power_of_ten",
    "row_labels",
    "rows_height",
    "set_rows",
    "thin_ticks",
]

#: Rows that a display draws at most.
MOST_ROWS = 30
# Characters by which a line of a broken name may exceed the width, and inches for two lines.
_SLACK, _TWO_LINES = 6, 0.38
# Inches between two labels of an axis.
_GAP = 0.08
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain_text(text: Any, /, *, width: int = 60) -> str:
    """Return text from the data on one line, without control characters, not too long."""
    return shorten(printable(text), width)


def legend_text(text: Any, /) -> str:
    """Return text for a legend; matplotlib leaves out labels that begin with an underscore."""
    shown = plain_text(text)
    return f"\N{THIN SPACE}{shown}" if shown.startswith("_") else shown


def legend_above(ax: Axes, palette: Palette, /, *, note: str = "", columns: int = 2) -> Any:
    """Put a legend above the axes, with a remark as its heading; no label is a formula."""
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


def clip_limits(
    points: np.ndarray, lows: np.ndarray, highs: np.ndarray, /
) -> tuple[float, float] | None:
    """Return limits of an axis of risks; a much wider interval than the others is cut off."""
    points = points[np.isfinite(points)]
    if points.size == 0:
        return None
    ends = np.concatenate([points, lows[np.isfinite(lows)], highs[np.isfinite(highs)]])
    widths = (highs - lows)[np.isfinite(highs - lows)]
    usual = float(np.median(widths)) if widths.size else 0.0
    reach = 2 * max(usual, float(np.ptp(points)) / 2)
    low = max(float(ends.min()), float(points.min()) - reach)
    high = min(float(ends.max()), float(points.max()) + reach)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 0.5
    return low - margin, high + margin


def plain_ticks(ax: Axes, which: str, /) -> None:
    """Write every tick of the x or y axis as a whole number or decimal, without an offset."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = getattr(ax, f"{which}axis")
    low, high = sorted(getattr(ax, f"get_{which}lim")())
    # Long labels need room: fewer of them.
    digits = math.log10(max(abs(low), abs(high), 1e-300) / max(high - low, 1e-300))
    axis.set_major_locator(MaxNLocator(nbins=6 if digits < 1.5 else 4 if digits < 3 else 3))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))


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
    return "10" + str(round(math.log10(value))).translate(_SUPERSCRIPT)


def set_rows(ax: Any, names: Sequence[Any], width: int, palette: Palette, /) -> None:
    """Give an axes one labelled row per entry, the first on top; long names are shortened."""
    labels = row_labels(names, width)
    ax.set_yticks(np.arange(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x", color=palette.grid)
    ax.set_axisbelow(True)
    ax.spines[["left", "top", "right"]].set_visible(False)


def row_labels(names: Sequence[Any], width: int, /) -> list[str]:
    r"""Break names that are longer than `width` into two lines, between words.

    Names that do not fit into two lines are shortened, all of them by the same rule.

    Examples
    --------
    >>> row_labels(["forest max_features=0.33, leaf=1", "ridge alpha=1"], 22)
    ['forest\nmax_features=0.33, leaf=1', 'ridge alpha=1']
    """
    full = [printable(name) for name in names]
    broken = [_two_lines(name, width) for name in full]
    if any(lines is None for lines in broken) or len(set(full)) < len(full):
        return shorten_names(names, width)
    return [str(lines) for lines in broken]


def _two_lines(name: str, width: int) -> str | None:
    """Return a name in one line or two, the longer as short as possible; None if it is too long."""
    if len(name) <= width:
        return name
    cuts = [i for i, char in enumerate(name) if char == " "]
    if not cuts:
        return None
    cut = min(cuts, key=lambda i: max(i, len(name) - i - 1))
    fits = max(cut, len(name) - cut - 1) <= width + _SLACK
    return f"{name[:cut]}\n{name[cut + 1 :]}" if fits else None


def rows_height(count: int, row: float = 0.30, /, *, labels: Sequence[str] = ()) -> float:
    """Return the height in inches of a figure with so many rows; two lines need more of it."""
    row = max(row, _TWO_LINES) if any("\n" in label for label in labels) else row
    return 1.15 + row * max(min(count, MOST_ROWS), 2)


def fit_label(text: str, width: int, /) -> str:
    """Return the label of an axis in at most two lines of `width` characters."""
    if len(text) <= width:
        return text
    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    return "\n".join(
        lines if len(lines) <= 2 else textwrap.wrap(shorten(text, 2 * width - 6), width)
    )


def thin_ticks(figure: Any, /) -> None:
    """Show fewer ticks on linear x axes whose labels would touch each other."""
    from matplotlib.ticker import MaxNLocator

    with warnings.catch_warnings():
        # The reader's fonts have what matplotlib's may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.draw_without_rendering()
        for ax in figure.axes:
            if ax.get_xscale() != "linear":
                continue
            for count in (4, 3, 2, 1):
                if not _touch(ax):
                    break
                ax.xaxis.set_major_locator(MaxNLocator(nbins=count))
                figure.draw_without_rendering()


def _touch(ax: Axes) -> bool:
    """Tell whether two labels of the x axis are closer than the width of a character."""
    low, high = sorted(ax.get_xlim())
    ticks = [tick for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    boxes = sorted((tick.label1.get_window_extent() for tick in ticks), key=lambda box: box.x0)
    gap = ax.figure.dpi * _GAP
    return any(right.x0 - left.x1 < gap for left, right in pairwise(boxes))


def best_first(risk: np.ndarray, chosen: int | None, /, *, most: int = MOST_ROWS) -> np.ndarray:
    """Return the candidates to draw, least risk first, the choice always among them."""
    shown = np.argsort(risk, kind="stable")[:most]  # NaN, for those that failed, is last
    if chosen is not None and chosen not in shown:
        shown = np.append(shown[:-1], chosen)
    return shown
