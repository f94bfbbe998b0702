"""Balance of the features before and after weighting: the love plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.report._canvas import canvas, legend_above
from counterpoise.report._rows import FRAME, MOST, row_labels, set_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BalanceDisplay"]

_ROW = 0.26
# A common rule of thumb for "balanced", in standard deviations (Austin 2009, doi:10.1002/sim.3697).
_BALANCED = 0.1


class BalanceDisplay:
    """Standardised mean differences per feature, before and after weighting (a love plot).

    The shaded band is within 0.1 standard deviations of equal means, which is usually called
    balanced. Largest difference before weighting on top; at most 30 features are drawn, and the
    plot says so.

    Parameters
    ----------
    features : sequence of str
    before, after : arrays of shape (n_features,)
        Mean in the target less that in the source, in standard deviations. Infinite ones are
        drawn as arrows at the edge; NaN is left out.
    width : int, default=32
        Longer names are shortened in the middle.

    Attributes
    ----------
    order_ : int array
        The features that are drawn, from the top.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : dict of str to Line2D
        "before" and "after".

    See Also
    --------
    BalanceDisplay.from_diagnostics : From the record of :func:`counterpoise.diagnose`.

    Examples
    --------
    >>> from counterpoise.report import BalanceDisplay
    >>> display = BalanceDisplay(["age", "dose"], [0.2, -0.7], [0.0, -0.1]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['dose', 'age']
    """

    ax_: Axes
    figure_: Figure
    points_: dict[str, Any]

    def __init__(
        self, features: Sequence[Any], before: Any, after: Any, *, width: int = 32
    ) -> None:
        self.features = [str(name) for name in features]
        self.before = np.asarray(before, dtype=np.float64)
        self.after = np.asarray(after, dtype=np.float64)
        for name, values in (("before", self.before), ("after", self.after)):
            if values.shape != (len(self.features),):
                raise ValueError(
                    f"`{name}` must hold one difference per feature ({len(self.features)}); got "
                    f"shape {values.shape}."
                )
        self.width = width

    @classmethod
    def from_diagnostics(
        cls, diagnostics: Any, *, ax: Any = None, theme: str | None = None
    ) -> BalanceDisplay:
        """Draw the balance that :func:`counterpoise.diagnose` found.

        Parameters
        ----------
        diagnostics : Diagnostics
        ax : matplotlib Axes, optional
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on either. Default: matplotlib's current style.

        Returns
        -------
        BalanceDisplay
        """
        display = cls(diagnostics.features, diagnostics.balance_before, diagnostics.balance_after)
        return display.plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, X_target: Any, *, ax: Any = None, theme: str | None = None
    ) -> BalanceDisplay:
        """Draw how the weights of a fitted search, or of a weight estimator, balance the features.

        Parameters
        ----------
        estimator : anything fitted with `weights_`
        X, X_target : arrays or data frames
            Source and target rows that it was fitted on.
        ax : matplotlib Axes, optional
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on either. Default: matplotlib's current style.

        Returns
        -------
        BalanceDisplay
        """
        from counterpoise.diagnostics import diagnose

        found = diagnose(X, X_target, weights=np.asarray(estimator.weights_))
        return cls.from_diagnostics(found, ax=ax, theme=theme)

    @property
    def size(self) -> tuple[float, float]:
        """Inches that the rows want."""
        return 6.0, FRAME + _ROW * max(min(len(self.features), MOST), 2)

    def plot(self, ax: Any = None, *, theme: str | None = None) -> BalanceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure, as high as its rows.
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on either. Default: matplotlib's current style.

        Returns
        -------
        self
        """
        self.order_ = np.argsort(-np.nan_to_num(np.abs(self.before)), kind="stable")[:MOST]
        with canvas(ax, theme, size=self.size) as (ax, palette):
            self.ax_, self.figure_ = ax, ax.figure
            set_rows(ax, row_labels([self.features[i] for i in self.order_], self.width), palette)
            before, after = self.before[self.order_], self.after[self.order_]
            edge = _edge(before, after)
            y = np.arange(len(self.order_))
            shown_before, shown_after = (np.clip(values, -edge, edge) for values in (before, after))
            ax.axvspan(-_BALANCED, _BALANCED, color=palette.mark, linewidth=0, zorder=0)
            ax.axvline(0, color=palette.soft, linewidth=1, zorder=1)
            ax.hlines(y, shown_before, shown_after, color=palette.grid, linewidth=2.2, zorder=2)
            self.points_ = {}
            looks = {
                "before": (shown_before, before, palette.target, "s", palette.hollow),
                "after": (shown_after, after, palette.controlled, "o", palette.controlled),
            }
            for name, (shown, given, color, marker, face) in looks.items():
                (self.points_[name],) = ax.plot(
                    shown,
                    y,
                    marker,
                    color=color,
                    markerfacecolor=face,
                    markeredgewidth=1.5,
                    label=f"{name} weighting",
                    zorder=3 + (name == "after"),
                )
                for row in np.flatnonzero(np.abs(given) > edge):
                    sign = "→" if given[row] > 0 else "←"
                    side = {"ha": "left" if given[row] > 0 else "right"}
                    ax.annotate(sign, (shown[row], row), color=color, va="center", **side)
            ax.set_xlim(-1.12 * edge, 1.12 * edge)
            ax.set_xlabel("target less source (standard deviations)", loc="right")
            note = ""
            if len(self.order_) < len(self.features):
                note = f"The {len(self.order_)} largest of {len(self.features):,} differences"
            legend_above(ax, palette, note=note)
        return self


def _edge(before: np.ndarray, after: np.ndarray) -> float:
    """Return the largest difference to make room for; beyond it an arrow will do."""
    sizes = np.abs(np.concatenate([before, after]))
    sizes = np.sort(sizes[np.isfinite(sizes)])
    if sizes.size == 0:
        return 1.0
    # Much beyond the largest tenth, the rest would shrink to a line.
    usual = 6 * max(float(np.quantile(sizes, 0.9)), _BALANCED)
    return max(2 * _BALANCED, min(float(sizes[-1]), usual))
