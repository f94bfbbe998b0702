"""Names with a value and two intervals each, as a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.present import axes
from counterpoise.present.axes import Display
from counterpoise.present.estimates import as_band, candidate_risks, name_candidates
from counterpoise.present.palette import Palette


class ForestDisplay(Display):
    """Forest plot: a row per candidate, per group, or per way to estimate.

    A thin line is the interval that allows for drift, a thick one the interval without. A hollow
    marker is a number that is not to be trusted. At most 30 rows are drawn, in the order given.

    Parameters
    ----------
    names : sequence of str
    risks : RiskEstimate, sequence of RiskEstimate, (value, low, high) or array
        With one entry per name.
    chosen : int, optional
        Row in bold.
    doubtful : sequence of int
        Rows with a hollow marker.
    truth : array of shape (n_names,), optional
        Known values, NaN where unknown.
    reference : tuple of (str, float), optional
        Name and place of a dashed line, such as the risk in the whole target.
    risk_name : str, default="target risk"
    width : int, default=36
        Longer names are shortened.

    Attributes
    ----------
    wide_, narrow_ : Band
        `value`, `low` and `high` of all rows, with and without drift.
    ax_, figure_ : matplotlib Axes and Figure
    points_ : list of Line2D
        The markers, from the top.

    Examples
    --------
    >>> from counterpoise.present import ForestDisplay
    >>> display = ForestDisplay(["deep", "shallow"], ([0.3, 0.4], [0.2, 0.3], [0.4, 0.5])).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['deep', 'shallow']
    """

    points_: list[Any]

    def __init__(
        self,
        names: Sequence[Any],
        risks: Any,
        *,
        chosen: int | None = None,
        doubtful: Sequence[int] = (),
        truth: Any = None,
        reference: tuple[str, float] | None = None,
        risk_name: str = "target risk",
        width: int = 36,
    ) -> None:
        self.names = [str(name) for name in names]
        self.wide_, self.narrow_ = as_band(risks), as_band(risks, drift=False)
        if self.wide_.value.shape != (len(self.names),):
            raise ValueError(
                f"`risks` must hold one value per name ({len(self.names)}); got shape "
                f"{self.wide_.value.shape}. Pass values in the order of the names."
            )
        self.chosen, self.doubtful = chosen, set(doubtful)
        self.truth = None if truth is None else np.asarray(truth, dtype=np.float64)
        self.reference, self.risk_name, self.width = reference, risk_name, width
        self.size = (6.4, axes.rows_height(len(self.names)))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, truth: Any = None, ax: Any = None, theme: str | None = None
    ) -> ForestDisplay:
        """Draw the candidates of a fitted search or ridge estimator, best on top.

        Parameters
        ----------
        estimator : fitted ShiftRidgeCV, ShiftRidgeClassifierCV or a Shift search
        truth : array of shape (n_candidates,), optional
            Known risks.
        ax, theme
            As for :meth:`plot`.
        """
        risk = candidate_risks(estimator)
        if risk is None:
            raise ValueError(
                "`estimator` must be a fitted search of counterpoise; got "
                f"{type(estimator).__name__} without `risk_` or `risk_curve_`. Call fit first."
            )
        names = name_candidates(estimator)
        order = np.argsort(np.asarray(risk.value), kind="stable")  # NaN, failed, is last
        display = cls(
            [names[i] for i in order],
            risk[order],
            chosen=int(np.flatnonzero(order == estimator.best_index_)[0]),
            truth=None if truth is None else np.asarray(truth)[order],
        )
        return display.plot(ax, theme=theme)

    @classmethod
    def from_groups(
        cls, groups: Any, *, ax: Any = None, theme: str | None = None, **options: Any
    ) -> ForestDisplay:
        """Draw the risk by group, the highest on top, beside that of the whole target.

        Parameters
        ----------
        groups : GroupRisks
            From ``search.risk_by_group`` or :func:`counterpoise.risk.risk_by_group`.
        ax, theme
            As for :meth:`plot`.
        **options
            As for the constructor.
        """
        known = [group for group in groups.values() if group.risk is not None]
        if not known:
            raise ValueError("`groups` must hold a group with an estimated risk; got none.")
        known.sort(key=lambda group: -group.risk.value)
        display = cls(
            [group.name for group in known],
            [group.risk for group in known],
            doubtful=[i for i, group in enumerate(known) if group.verdict == "do not trust"],
            reference=("whole target", float(groups.overall.value)),
            **options,
        )
        return display.plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        count = min(len(self.names), axes.MOST_ROWS)
        value, *wide = np.stack(self.wide_)[:, :count]
        _, *narrow = np.stack(self.narrow_)[:, :count]
        axes.set_rows(ax, self.names[:count], self.width, palette)
        values = [value]
        values += [] if self.truth is None else [self.truth[:count]]
        values += [] if self.reference is None else [np.array([self.reference[1]])]
        ax.set_xlim(*axes.clip_limits(np.concatenate(values), *wide))
        axes.plain_ticks(ax, "x")
        rows, color = np.arange(count), palette.estimate
        lines = {"color": color, "zorder": 3}
        ax.hlines(rows, *wide, linewidth=1.3, label="95% interval", **lines)
        thick = {"linewidth": 4, "alpha": 0.55, "label": "without drift"}
        ax.hlines(rows, *narrow, **thick, **lines)
        self.points_ = []
        for row in rows:
            face = palette.paper if row in self.doubtful else color
            look = {"color": color, "markerfacecolor": face, "markersize": 6.5, "zorder": 4}
            self.points_ += ax.plot(value[row], row, "o", **look)
            if np.isnan(value[row]):
                place = {"xycoords": ("axes fraction", "data"), "va": "center"}
                ax.annotate("failed", (0.01, row), color=palette.soft, **place)
            if row == self.chosen:
                ax.get_yticklabels()[row].set_fontweight("bold")
        if self.truth is not None:
            look = {"color": palette.truth, "markersize": 14, "markeredgewidth": 1.8, "zorder": 5}
            ax.plot(self.truth[:count], rows, "|", label="truth", **look)
        if self.reference is not None:
            line = {"color": palette.soft, "linestyle": "--", "linewidth": 1}
            ax.axvline(self.reference[1], label=axes.legend_text(self.reference[0]), **line)
        ax.set_xlabel(axes.plain_text(self.risk_name, width=56), loc="right", parse_math=False)
        note = f"The first {count} of {len(self.names):,}" if count < len(self.names) else ""
        axes.legend_above(ax, palette, note=note)
