"""The weights of a blend's members as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise._facts import name_candidates
from counterpoise._format import format_share
from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.palette import Palette

__all__ = ["BlendDisplay"]


class BlendDisplay(Display):
    """Weights of the members of a blend, the largest on top. At most 30 rows are drawn.

    Parameters
    ----------
    labels : sequence of str
        Names of the members.
    weights : array of shape (n_members,)
        With sum 1.
    width, most : int
        Largest number of characters of a label, and of rows.

    Attributes
    ----------
    order_ : int array
        The members that are drawn, from the top.
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from counterpoise.present import BlendDisplay
    >>> display = BlendDisplay(["ridge", "forest"], [0.3, 0.7]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['forest', 'ridge']
    """

    order_: np.ndarray
    bars_: Any

    def __init__(
        self,
        labels: Sequence[Any],
        weights: Any,
        *,
        width: int = 36,
        most: int = axes.MOST_ROWS,
    ) -> None:
        self.labels = [str(label) for label in labels]
        self.weights = np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (len(self.labels),) or not len(self.labels):
            raise ValueError(
                f"`weights` must hold one weight per member ({len(self.labels)}), and at least one "
                f"member; got shape {self.weights.shape}."
            )
        self.width = width
        self.most = most
        labels = axes.row_labels(self.labels, self.width)
        self.size = (6.4, axes.rows_height(min(len(self.labels), self.most), labels=labels))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, theme: str | None = None
    ) -> BlendDisplay:
        """Draw the blend of a search that was fitted with ``refit="blend"``.

        Parameters
        ----------
        estimator : fitted ShiftGridSearchCV or ShiftRandomizedSearchCV
        ax, theme
            As for :meth:`plot`.
        """
        if not hasattr(estimator, "blend_"):
            raise ValueError(
                f"`estimator` must have `blend_`; got {type(estimator).__name__} without. Pass "
                "refit='blend' to the search, and call fit."
            )
        names = name_candidates(estimator)
        labels = [names[i] for i in estimator.blend_.places]
        return cls(labels, estimator.blend_.weights).plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        self.order_ = np.argsort(-self.weights, kind="stable")[: self.most]
        shown = self.weights[self.order_]
        axes.set_rows(ax, [self.labels[i] for i in self.order_], self.width, palette)
        self.bars_ = ax.barh(np.arange(len(shown)), shown, height=0.62, color=palette.controlled)
        look = {"va": "center", "fontsize": "small", "color": palette.soft}
        for row, weight in enumerate(shown):
            offset = {"xytext": (4, 0), "textcoords": "offset points"}
            ax.annotate(format_share(weight), (weight, row), **offset, **look)
        ax.set_xlim(0, 1.18 * float(shown.max()))
        axes.plain_ticks(ax, "x")
        ax.set_xlabel("weight in the blend", loc="right")
        if len(shown) < len(self.labels):
            note = f"The {len(shown)} largest of {len(self.labels)} weights"
            axes.legend_above(ax, palette, note=note)
