"""How the weights are distributed."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise.present.axes import legend_above, log_axis, plain_ticks
from counterpoise.present.display import Display
from counterpoise.present.palette import Palette

__all__ = ["WeightsDisplay"]


class WeightsDisplay(Display):
    """Histogram of the weights.

    Its axes are logarithmic where weights or counts span decades. Rows below a millionth of the
    largest weight are counted in a remark instead.

    Parameters
    ----------
    weights : array of shape (n_source,)

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.present import WeightsDisplay
    >>> weights = np.random.default_rng(0).lognormal(-0.5, 1, size=500)
    >>> display = WeightsDisplay(weights).plot()
    >>> sum(bar.get_height() for bar in display.ax_.patches)
    500.0
    """

    size = (4.8, 3.4)

    def __init__(self, weights: Any) -> None:
        self.weights = np.asarray(weights, dtype=np.float64).ravel()
        if self.weights.size == 0 or not np.all(np.isfinite(self.weights) & (self.weights >= 0)):
            raise ValueError(
                "`weights` must be finite and not negative, and at least one; got "
                f"{self.weights.size} values. Pass target over source density ratios."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, theme: str | None = None
    ) -> WeightsDisplay:
        """Draw the weights of a fitted search or weight estimator.

        Parameters
        ----------
        estimator : anything fitted with `weights_`
        ax, theme
            As for :meth:`plot`.
        """
        weights = getattr(estimator, "weights_", None)
        if weights is None:
            raise ValueError(
                f"`estimator` must have `weights_`; got {type(estimator).__name__} without. "
                "Call fit first; where it was fitted in chunks, pass the weights themselves."
            )
        return cls(weights).plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        # Weights of the order of 1e-300 do occur; they would leave no room for the others.
        drawn = self.weights[self.weights > 1e-6 * float(self.weights.max())]
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
        legend_above(ax, palette, note=self._remark(drawn.size))

    def _remark(self, drawn: int) -> str:
        left = self.weights.size - drawn
        if left == 0:
            return ""
        how = "nothing" if np.count_nonzero(self.weights) == drawn else "next to nothing"
        return f"{left:,} rows ({left / self.weights.size:.0%}) weigh {how}"


def _bins(weights: np.ndarray, wide: bool) -> Any:
    low, high = float(weights.min()), float(weights.max())
    if low == high:
        return 10
    count = int(np.clip(2 * weights.size ** (1 / 3), 8, 40))
    edges = np.geomspace(low, high, count + 1) if wide else np.linspace(low, high, count + 1)
    # Rounding in the logarithm must not push the ends off their bins.
    edges[[0, -1]] = low, high
    return edges
