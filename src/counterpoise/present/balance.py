"""Balance of the features before and after weighting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.present import axes
from counterpoise.present.axes import Display
from counterpoise.present.palette import Palette

# A common limit for "balanced", in standard deviations (Austin 2009, doi:10.1002/sim.3697).
_BALANCED = 0.1


class BalanceDisplay(Display):
    """Standardised mean differences per feature, before and after weighting (a love plot).

    The shaded band is within 0.1 standard deviations of equal means, which is usually called
    balanced. The largest difference before weighting is on top. At most 30 features are drawn.
    Differences beyond the axis are drawn at its edge, with an arrow.

    Parameters
    ----------
    features : sequence of str
    before, after : arrays of shape (n_features,)
        Mean in the target less that in the source, in standard deviations. NaN is left out.
    width : int, default=32
        Longer names are shortened.

    Attributes
    ----------
    order_ : int array
        The features that are drawn, from the top.
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of str to Line2D
        "before" and "after".

    Examples
    --------
    >>> from counterpoise.present import BalanceDisplay
    >>> display = BalanceDisplay(["age", "dose"], [0.2, -0.7], [0.0, -0.1]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['dose', 'age']
    """

    points_: dict[str, Any]

    def __init__(
        self, features: Sequence[Any], before: Any, after: Any, *, width: int = 32
    ) -> None:
        self.features = [str(name) for name in features]
        self.before, self.after = (np.asarray(a, dtype=np.float64) for a in (before, after))
        for name, values in (("before", self.before), ("after", self.after)):
            if values.shape != (count := len(self.features),):
                raise ValueError(
                    f"`{name}` must hold one difference per feature ({count}); got {values.shape}."
                )
        self.width = width
        self.size = (6.0, axes.rows_height(len(self.features), 0.26))

    @classmethod
    def from_diagnostics(
        cls, diagnostics: Any, *, ax: Any = None, theme: str | None = None
    ) -> BalanceDisplay:
        """Draw the balance that :func:`counterpoise.diagnose` or a search found.

        Parameters
        ----------
        diagnostics : Diagnostics
        ax, theme
            As for :meth:`plot`.
        """
        display = cls(diagnostics.features, diagnostics.balance_before, diagnostics.balance_after)
        return display.plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        self.order_ = np.argsort(-np.nan_to_num(np.abs(self.before)), kind="stable")[
            : axes.MOST_ROWS
        ]
        axes.set_rows(ax, [self.features[i] for i in self.order_], self.width, palette)
        before, after = self.before[self.order_], self.after[self.order_]
        edge = _edge(np.concatenate([before, after]))
        rows = np.arange(len(self.order_))
        ax.axvspan(-_BALANCED, _BALANCED, color=palette.mark, linewidth=0, zorder=0)
        ax.axvline(0, color=palette.soft, linewidth=1, zorder=1)
        ends = (np.clip(values, -edge, edge) for values in (before, after))
        ax.hlines(rows, *ends, color=palette.grid, linewidth=2.2, zorder=2)
        self.points_ = {}
        for name, values, color, marker, face in (
            ("before", before, palette.target, "s", palette.paper),
            ("after", after, palette.estimate, "o", palette.estimate),
        ):
            look = {"color": color, "markerfacecolor": face, "markeredgewidth": 1.5, "zorder": 3}
            shown = np.clip(values, -edge, edge)
            (self.points_[name],) = ax.plot(shown, rows, marker, label=f"{name} weighting", **look)
            for row in np.flatnonzero(np.abs(values) > edge):
                arrow, side = ("→", "left") if values[row] > 0 else ("←", "right")
                ax.annotate(arrow, (shown[row], row), ha=side, va="center", color=color)
        ax.set_xlim(-1.12 * edge, 1.12 * edge)
        axes.plain_ticks(ax, "x")
        ax.set_xlabel("target less source (standard deviations)", loc="right")
        note = f"The {len(self.order_)} largest of {len(self.features):,} differences"
        axes.legend_above(ax, palette, note=note if len(self.order_) < len(self.features) else "")


def _edge(differences: np.ndarray) -> float:
    """Return the largest difference that the axis shows."""
    sizes = np.sort(np.abs(differences[np.isfinite(differences)]))
    if sizes.size == 0:
        return 1.0
    # Much beyond the largest tenth, the other differences would become invisible.
    usual = 6 * max(float(np.quantile(sizes, 0.9)), _BALANCED)
    return max(2 * _BALANCED, min(float(sizes[-1]), usual))
