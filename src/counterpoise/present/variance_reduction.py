"""Variance reduction by candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.fitted_risks import (
    as_bands,
    check_fitted,
    name_candidates,
    risks_by_method,
)
from counterpoise.present.palette import Palette, method_look

__all__ = ["VarianceReductionDisplay"]


class VarianceReductionDisplay(Display):
    """Share of the plain weighted estimate's variance that each method removes, per candidate.

    To the right of 0 a method is less noisy than plain weighting, to the left noisier.

    Parameters
    ----------
    labels : sequence of str
        Names of the candidates.
    reductions : mapping of str to array of shape (n_candidates,)
        1 - variance / variance of the plain weighted estimate, by method.
    chosen : int, optional
        Index of the choice.
    order : int array, optional
        Rows from the top. Default: the order given.
    width : int, default=36
        Longer labels are shortened.

    Attributes
    ----------
    order_ : int array
        The candidates that are drawn, from the top.
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of str to Line2D
        By method.

    Examples
    --------
    >>> from counterpoise.present import VarianceReductionDisplay
    >>> display = VarianceReductionDisplay(["shallow", "deep"], {"controlled": [0.5, 0.62]}).plot()
    >>> display.points_["controlled"].get_xdata().tolist()
    [0.5, 0.62]
    """

    points_: dict[str, Any]

    def __init__(
        self,
        labels: Sequence[Any],
        reductions: Mapping[str, Any],
        *,
        chosen: int | None = None,
        order: Any = None,
        width: int = 36,
    ) -> None:
        self.labels = [str(label) for label in labels]
        bands = as_bands(reductions, len(self.labels))
        self.reductions = {name: band.value for name, band in bands.items()}
        self.chosen = chosen
        self.order = np.arange(len(self.labels)) if order is None else np.asarray(order, dtype=int)
        self.width = width
        self.size = (6.4, axes.rows_height(len(self.order)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        methods: Sequence[str] | None = None,
        ax: Any = None,
        theme: str | None = None,
    ) -> VarianceReductionDisplay:
        """Draw the variance reduction of a fitted search's candidates, best candidate on top.

        Parameters
        ----------
        estimator : fitted ShiftRidgeCV, ShiftRidgeClassifierCV or a Shift search
        X, y, methods, ax, theme
            As for :meth:`RiskCurveDisplay.from_estimator`. "weighted" is the reference, and
            "source" estimates another risk: neither is drawn.
        """
        risks = risks_by_method(estimator, methods, X, y)
        shown = {
            name: risk.variance_reduction
            for name, risk in risks.items()
            if name not in ("source", "weighted")
        }
        if not shown:
            raise ValueError(
                f"`methods` must hold one beside 'source' and 'weighted'; got {', '.join(risks)}."
            )
        best = int(estimator.best_index_)
        order = axes.best_first(np.asarray(check_fitted(estimator).value), best)
        display = cls(name_candidates(estimator), shown, chosen=best, order=order)
        return display.plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        self.order_ = self.order[: axes.MOST_ROWS]
        axes.set_rows(ax, [self.labels[i] for i in self.order_], self.width, palette)
        y = np.arange(len(self.order_))
        self.points_ = {}
        for name, values in self.reductions.items():
            color, _, marker, label = method_look(palette, name)
            shown = values[self.order_]
            ax.hlines(y, 0, shown, color=color, linewidth=1.3, alpha=0.6)
            look = {"color": color, "label": axes.legend_text(label), "zorder": 4}
            (self.points_[name],) = ax.plot(shown, y, marker, **look)
        for row in np.flatnonzero(self.order_ == self.chosen):
            ax.get_yticklabels()[row].set_fontweight("bold")
        drawn = np.concatenate([own[self.order_] for own in self.reductions.values()])
        drawn = drawn[np.isfinite(drawn)]
        # A method a hundred times as noisy would leave no room for the others.
        low = max(float(drawn.min(initial=0.0)), -2.0)
        ax.set_xlim(min(low - 0.08, -0.1), max(1.0, float(drawn.max(initial=0.0))) + 0.03)
        ax.locator_params(axis="x", nbins=6)
        ax.axvline(0, color=palette.soft, linewidth=1.2, zorder=2)
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.set_xlabel("variance reduction", loc="right")
        note = f"{len(self.order_)} of {len(self.labels):,} candidates"
        axes.legend_above(ax, palette, note=note if len(self.order_) < len(self.labels) else "")
