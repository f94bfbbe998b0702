"""Candidates as a forest plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpoise._facts import SIGNIFICANCE, name_candidates
from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.fitted_risks import as_bands, risks_by_method
from counterpoise.present.palette import Palette, method_look

__all__ = ["CandidatesDisplay"]


class CandidatesDisplay(Display):
    """Forest plot of candidates: an interval per candidate and method.

    The best is on top, by the last of the methods. The choice is in bold; rows that are not
    significantly different from it are shaded. At most 30 rows are drawn.

    Parameters
    ----------
    labels : sequence of str
        Names of the candidates.
    risks : mapping of str to RiskEstimate, (value, low, high) or array
        By method; the last one made the choice.
    chosen : int, optional
        Index of the choice.
    indistinguishable : int array, optional
        Candidates that are not significantly different from the choice.
    truth : array of shape (n_candidates,), optional
        Known risks.
    risk_name : str, default="target risk"
    level : float, default=0.95
        Level of the intervals.
    width, most : int
        Largest number of characters of a label, and of rows.

    Attributes
    ----------
    bands_ : dict of str to Band
        Estimates and intervals of all candidates, by method.
    order_ : int array
        The candidates that are drawn, from the top.
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of str to Line2D
        The estimates by method, and "truth".

    Examples
    --------
    >>> from counterpoise.present import CandidatesDisplay
    >>> display = CandidatesDisplay(
    ...     ["shallow", "deep"], {"controlled": ([0.4, 0.3], [0.3, 0.2], [0.5, 0.4])}, chosen=1
    ... ).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['deep', 'shallow']
    """

    points_: dict[str, Any]

    def __init__(
        self,
        labels: Sequence[Any],
        risks: Mapping[str, Any],
        *,
        chosen: int | None = None,
        indistinguishable: Any = None,
        truth: Any = None,
        risk_name: str = "target risk",
        level: float = 0.95,
        width: int = 36,
        most: int = axes.MOST_ROWS,
    ) -> None:
        self.labels = [str(label) for label in labels]
        self.bands_ = as_bands(risks, len(self.labels), level=level)
        self.chosen = chosen
        self.indistinguishable = np.asarray(
            [] if indistinguishable is None else indistinguishable, dtype=int
        )
        self.truth = None if truth is None else np.asarray(truth, dtype=np.float64)
        self.risk_name = risk_name
        self.level = level
        self.width = width
        self.most = most
        rows = min(len(self.labels), self.most)
        row = max(0.30, 0.13 * len(self.bands_))
        labels = axes.row_labels(self.labels, self.width)
        self.size = (6.4, axes.rows_height(rows, row, labels=labels))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        methods: Sequence[str] | None = None,
        truth: Any = None,
        level: float = 0.95,
        ax: Any = None,
        theme: str | None = None,
    ) -> CandidatesDisplay:
        """Draw the candidates of a fitted search.

        Parameters
        ----------
        estimator : fitted ShiftRidgeCV, ShiftRidgeClassifierCV or a Shift search
        X, y, methods, truth, level, ax, theme
            As for :meth:`RiskCurveDisplay.from_estimator`.
        """
        risks = risks_by_method(estimator, methods, X, y)
        display = cls(
            name_candidates(estimator),
            risks,
            chosen=int(estimator.best_index_),
            indistinguishable=getattr(estimator, "indistinguishable_", None),
            truth=truth,
            level=level,
        )
        return display.plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        names = list(self.bands_)
        self.order_ = axes.best_first(self.bands_[names[-1]].value, self.chosen, most=self.most)
        axes.set_rows(ax, [self.labels[i] for i in self.order_], self.width, palette)
        self._mark_rows(ax, palette)
        self._set_limits(ax)
        offsets = np.linspace(-0.26, 0.26, len(names)) if len(names) > 1 else [0.0]
        self.points_ = {}
        for name, offset in zip(names, offsets, strict=True):
            self._draw_method(ax, name, float(offset), name == names[-1], palette)
        if self.truth is not None:
            look = {"color": palette.truth, "markersize": 17, "markeredgewidth": 1.8, "zorder": 5}
            y = np.arange(len(self.order_))
            (self.points_["truth"],) = ax.plot(
                self.truth[self.order_], y, "|", label="truth", **look
            )
        name = axes.plain_text(self.risk_name, width=80)
        label = axes.fit_label(f"{name} ({self.level:.0%} interval)", 48)
        ax.set_xlabel(label, loc="right", parse_math=False)
        note = f"The best {len(self.order_)} of {len(self.labels):,} candidates"
        axes.legend_above(ax, palette, note=note if len(self.order_) < len(self.labels) else "")

    def _mark_rows(self, ax: Any, palette: Palette) -> None:
        alike = set(self.indistinguishable.tolist())
        shaded = 0
        for row, i in enumerate(self.order_.tolist()):
            if i in alike and len(alike) > 1:
                ax.axhspan(row - 0.5, row + 0.5, color=palette.mark, linewidth=0, zorder=0)
                shaded += 1
            if i == self.chosen:
                ax.get_yticklabels()[row].set_fontweight("bold")
        if shaded:
            ax.fill_between([], [], color=palette.mark, label=SIGNIFICANCE)

    def _set_limits(self, ax: Any) -> None:
        bands = [band.take(self.order_) for band in self.bands_.values()]
        values = [band.value for band in bands]
        values += [] if self.truth is None else [self.truth[self.order_]]
        ends = [np.concatenate([getattr(band, end) for band in bands]) for end in ("low", "high")]
        limits = axes.clip_limits(np.concatenate(values), *ends)
        if limits is not None:
            ax.set_xlim(*limits)
        axes.plain_ticks(ax, "x")

    def _draw_method(self, ax: Any, name: str, offset: float, main: bool, palette: Palette) -> None:
        band = self.bands_[name].take(self.order_)
        y = np.arange(len(self.order_)) + offset
        color, _, marker, label = method_look(palette, name)
        ax.hlines(y, band.low, band.high, color=color, linewidth=2.4 if main else 1.3, zorder=3)
        (self.points_[name],) = ax.plot(
            band.value,
            y,
            marker,
            color=color,
            markerfacecolor=color if main else palette.hollow,
            markersize=6.5 if main else 5,
            label=axes.legend_text(label),
            zorder=4,
        )
        if main:
            look = {"va": "center", "fontsize": "small", "color": palette.soft}
            for row in np.flatnonzero(np.isnan(band.value)):
                ax.annotate("failed", (0.01, row), xycoords=("axes fraction", "data"), **look)
