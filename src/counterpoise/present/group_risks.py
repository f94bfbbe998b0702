"""Risk by group as a forest plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.palette import Palette

__all__ = ["GroupRisksDisplay"]


class GroupRisksDisplay(Display):
    """Forest plot of the groups of a target: an interval each, the highest risk on top.

    A dashed line is at the risk of the whole target. Groups with the verdict "do not trust" have a
    hollow marker. Groups without an estimate are left out; at most 30 rows are drawn.

    Parameters
    ----------
    groups : GroupRisks
        From ``search.risk_by_group`` or :func:`counterpoise.risk.risk_by_group`.
    risk_name : str, default="target risk"
    level : float, default=0.95
        Level of the intervals.
    width : int
        Largest number of characters of a label.

    Attributes
    ----------
    names_ : list of str
        The groups that are drawn, from the top.
    ax_, figure_ : matplotlib Axes and Figure
    """

    names_: list[str]

    def __init__(
        self,
        groups: Any,
        *,
        risk_name: str = "target risk",
        level: float = 0.95,
        width: int = 36,
    ) -> None:
        self.groups = groups
        self.risk_name = risk_name
        self.level = level
        self.width = width
        known = [own for own in groups.values() if own.risk is not None]
        self._shown = sorted(known, key=lambda own: -own.risk.value)[: axes.MOST_ROWS]
        if not self._shown:
            raise ValueError("`groups` must hold a group with an estimated risk; got none.")
        self.size = (6.4, axes.rows_height(len(self._shown)))

    def _draw(self, ax: Any, palette: Palette) -> None:
        self.names_ = [own.name for own in self._shown]
        axes.set_rows(ax, self.names_, self.width, palette)
        value = np.array([own.risk.value for own in self._shown])
        ends = np.array([own.risk.interval(self.level) for own in self._shown]).T
        limits = axes.clip_limits(np.append(value, self.groups.overall.value), *ends)
        if limits is not None:
            ax.set_xlim(*limits)
        axes.plain_ticks(ax, "x")
        rows, color = np.arange(len(value)), palette.controlled
        ax.hlines(rows, *ends, color=color, linewidth=2.4, zorder=3)
        for row, own in enumerate(self._shown):
            doubtful = own.verdict == "do not trust"
            look = {"markerfacecolor": palette.hollow if doubtful else color, "zorder": 4}
            ax.plot(value[row], row, "o", color=color, markersize=6.5, **look)
        overall = self.groups.overall.value
        ax.axvline(overall, color=palette.soft, linestyle="--", linewidth=1, label="whole target")
        label = f"{axes.plain_text(self.risk_name)} ({self.level:.0%} interval)"
        ax.set_xlabel(label, loc="right", parse_math=False)
        axes.legend_above(ax, palette)
