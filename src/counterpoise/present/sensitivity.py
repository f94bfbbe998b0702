"""The range of the risk over how wrong the weights may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.palette import Palette, method_look

__all__ = ["SensitivityDisplay"]


class SensitivityDisplay(Display):
    """Least and largest risk if every weight is off by a factor of up to gamma.

    Parameters
    ----------
    gammas : array of shape (k,)
        Factors from 1 up.
    low, high : arrays of shape (k,)
        Bounds of the risk, by :func:`counterpoise.risk.sensitivity`.
    tipping : float, optional
        Factor at which a conclusion changes: a vertical line.
    risk_name : str, default="risk"
        Label of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of Line2D
        The lower and the upper bound.

    Examples
    --------
    >>> from counterpoise.present import SensitivityDisplay
    >>> display = SensitivityDisplay([1, 2, 3], [0.5, 0.3, 0.2], [0.5, 0.7, 0.8]).plot()
    >>> [line.get_ydata().tolist() for line in display.lines_]
    [[0.5, 0.3, 0.2], [0.5, 0.7, 0.8]]
    """

    lines_: list[Any]

    def __init__(
        self,
        gammas: Any,
        low: Any,
        high: Any,
        *,
        tipping: float | None = None,
        risk_name: str = "risk",
    ) -> None:
        self.gammas, self.low, self.high = (
            np.asarray(values, dtype=np.float64) for values in (gammas, low, high)
        )
        if not self.gammas.shape == self.low.shape == self.high.shape or self.gammas.ndim != 1:
            raise ValueError(
                "`gammas`, `low` and `high` must have the same shape (k,); got "
                f"{self.gammas.shape}, {self.low.shape} and {self.high.shape}."
            )
        self.tipping = tipping
        self.risk_name = risk_name
        self.size = (5.2, 3.6)

    def _draw(self, ax: Any, palette: Palette) -> None:
        color = method_look(palette, "controlled")[0]
        ax.fill_between(self.gammas, self.low, self.high, color=color, alpha=0.15, linewidth=0)
        look = {"color": color, "linewidth": 1.6}
        self.lines_ = [ax.plot(self.gammas, end, **look)[0] for end in (self.low, self.high)]
        ax.plot(self.gammas[:1], self.low[:1], "o", color=color, label="weights as they are")
        inside = self.tipping is not None and self.tipping <= self.gammas[-1]
        if self.tipping is not None and inside:
            line = {"color": palette.soft, "linewidth": 1.2, "linestyle": (0, (2, 2))}
            ax.axvline(self.tipping, label="the conclusion could change", **line)
        ax.set_xlim(1, float(self.gammas[-1]))
        axes.plain_ticks(ax, "x")
        axes.plain_ticks(ax, "y")
        ax.set_xlabel("weights off by a factor of up to")
        ax.set_ylabel(axes.plain_text(self.risk_name), parse_math=False)
        axes.legend_above(ax, palette)
