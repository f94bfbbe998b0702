"""The weights: how they are distributed, and how much the heaviest carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._validation import check_choice
from counterpoise.present.axes import legend_above, log_axis, plain_ticks
from counterpoise.present.display import Display, drawing
from counterpoise.present.palette import Palette

__all__ = ["WeightsDisplay"]

_KINDS = ("both", "histogram", "tail")
# Points of the tail that are drawn: more make no visible difference, only a larger file.
_POINTS = 400


class WeightsDisplay(Display):
    """Histogram of the weights, and their tail.

    The axes of the histogram are logarithmic where weights or counts span decades. Rows below a
    millionth of the largest weight are counted in a remark instead. The tail shows, for every
    weight w, the share of rows that weigh at least w and the share of the total weight that they
    carry: the further apart the two curves, the fewer rows dominate.

    Parameters
    ----------
    weights : array of shape (n_source,)

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of two
    figure_ : matplotlib Figure
    lines_ : dict of str to Line2D
        "rows" and "weight", the two curves of the tail.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.present import WeightsDisplay
    >>> weights = np.random.default_rng(0).lognormal(-0.5, 1, size=500)
    >>> display = WeightsDisplay(weights).plot(kind="tail")
    >>> bool(display.lines_["rows"].get_ydata()[0] == 1)  # all rows weigh at least the least weight
    True
    """

    ax_: Any
    lines_: dict[str, Any]

    def __init__(self, weights: Any) -> None:
        self.weights = np.asarray(weights, dtype=np.float64).ravel()
        if self.weights.size == 0 or not np.all(np.isfinite(self.weights) & (self.weights >= 0)):
            raise ValueError(
                "`weights` must be finite and not negative, and at least one; got "
                f"{self.weights.size} values. Pass target over source density ratios."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: str = "both", ax: Any = None, theme: str | None = None
    ) -> WeightsDisplay:
        """Draw the weights of a fitted search or weight estimator.

        Parameters
        ----------
        estimator : anything fitted with `weights_`
        kind, ax, theme
            As for :meth:`plot`.
        """
        weights = getattr(estimator, "weights_", None)
        if weights is None:
            raise ValueError(
                f"`estimator` must have `weights_`; got {type(estimator).__name__} without. "
                "Call fit first; where it was fitted in chunks, pass the weights themselves."
            )
        return cls(weights).plot(ax, kind=kind, theme=theme)

    def plot(
        self, ax: Any = None, *, kind: str = "both", theme: str | None = None
    ) -> WeightsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them for kind="both", optional
            Default: a new figure.
        kind : {"both", "histogram", "tail"}, default="both"
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on a light and on a dark page. Default:
            matplotlib's current style.

        Returns
        -------
        self
        """
        check_choice(kind, "kind", _KINDS)
        both = kind == "both"
        size = (8.4, 3.4) if both else (4.8, 3.4)
        with drawing(ax, theme, size=size, panels=2 if both else 1) as (self.ax_, palette):
            first, last = (self.ax_[0], self.ax_[1]) if both else (self.ax_, self.ax_)
            self.figure_ = first.figure
            self.lines_ = {}
            if kind != "tail":
                self._histogram(first, palette)
            if kind != "histogram":
                self._tail(last, palette)
        return self

    def _histogram(self, ax: Any, palette: Palette) -> None:
        drawn = self.weights[self.weights > self._floor]
        # One weight of 1000 among weights near 1 must stay visible, on both axes.
        wide = drawn.size > 0 and drawn.max() > 10 * drawn.min()
        if drawn.size:
            look = {"color": palette.source, "edgecolor": palette.paper, "linewidth": 0.6}
            counts, _, _ = ax.hist(drawn, bins=_bins(drawn, wide), **look)
            if counts.max() > 100 * counts[counts > 0].min():
                log_axis(ax, "y")
                ax.set_ylim(bottom=0.5)
        if wide:
            log_axis(ax, "x")
        else:
            plain_ticks(ax, "x")
        look = {"color": palette.target, "linestyle": "--", "linewidth": 1.4}
        ax.axvline(1, label="expected mean: 1", **look)
        ax.set(xlabel="weight", ylabel="source rows")
        ax.grid(False, axis="x")
        legend_above(ax, palette, note=self._what_is_left_out(drawn.size))

    @property
    def _floor(self) -> float:
        # Weights of the order of 1e-300 do occur; they would leave no room for the others.
        return 1e-6 * float(self.weights.max())

    def _what_is_left_out(self, drawn: int) -> str:
        left = self.weights.size - drawn
        if left == 0:
            return ""
        how = "nothing" if np.count_nonzero(self.weights) == drawn else "next to nothing"
        return f"{left:,} rows ({left / self.weights.size:.0%}) weigh {how}"

    def _tail(self, ax: Any, palette: Palette) -> None:
        order = np.sort(self.weights)
        rows = 1 - np.arange(order.size) / order.size
        total = order.sum()
        carried = np.cumsum(order[::-1])[::-1] / total if total > 0 else np.zeros(order.size)
        shown = np.flatnonzero(order > self._floor)
        if shown.size > _POINTS:
            # Evenly spaced in the logarithm of the rank from the top, where the tail is.
            ranks = np.unique(np.geomspace(1, shown.size, _POINTS).round().astype(int))
            shown = shown[-1] + 1 - ranks[::-1]
        for name, values, color, line, label in (
            ("weight", carried, palette.target, "--", "share of the weight they carry"),
            ("rows", rows, palette.source, "-", "rows that weigh at least as much"),
        ):
            x, y = order[shown], values[shown]
            (self.lines_[name],) = ax.plot(x, y, line, color=color, label=label)
        if shown.size:
            log_axis(ax, "x")
            log_axis(ax, "y")
            ax.set_ylim(top=1.6)
        ax.set(xlabel="weight", ylabel="share")
        legend_above(ax, palette, columns=1)


def _bins(weights: np.ndarray, wide: bool) -> Any:
    low, high = float(weights.min()), float(weights.max())
    if low == high:
        return 10
    count = int(np.clip(2 * weights.size ** (1 / 3), 8, 40))
    edges = np.geomspace(low, high, count + 1) if wide else np.linspace(low, high, count + 1)
    # Rounding in the logarithm must not push the ends off their bins.
    edges[[0, -1]] = low, high
    return edges
