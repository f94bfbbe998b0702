"""Source and target in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.encoding.rows import some_rows
from counterpoise.present.axes import Display, legend_above, plain_text, plain_ticks
from counterpoise.present.palette import Palette

# Points of each sample that are drawn: more hide each other and make a large file.
_POINTS = 600
_EDGES = (0.5, 1.0, 2.0, 5.0)
# Classes of weights, and the size of their dots.
_CLASSES = {"below 0.5": 7, "0.5 to 1": 11, "1 to 2": 17, "2 to 5": 28, "above 5": 48}


class ShiftMapDisplay(Display):
    """Source and target rows in a plane.

    Source rows are coloured and sized by their weight, in five classes; target rows are crosses
    behind them. Of large samples 600 rows are drawn, at random with a fixed seed.

    Parameters
    ----------
    source, target : arrays of shape (n, 2) and (m, 2)
    weights : array of shape (n,)
    axis_labels : pair of str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import counterpoise as cp
    >>> from counterpoise.present import ShiftMapDisplay
    >>> X, _, X_target, _ = cp.datasets.gaussian_2d(gamma=0.7).sample(200, 500, random_state=0)
    >>> ratio = cp.weights.GaussianRatio().fit(X, X_target)
    >>> display = ShiftMapDisplay.from_samples(X, X_target, weights=ratio.weights_)
    >>> display.source.shape, display.target.shape
    ((200, 2), (500, 2))
    """

    def __init__(
        self,
        source: Any,
        target: Any,
        weights: Any,
        *,
        axis_labels: Sequence[str] = ("first component", "second component"),
    ) -> None:
        self.source, self.target, self.weights = (
            np.asarray(values, dtype=np.float64) for values in (source, target, weights)
        )
        for name, points in (("source", self.source), ("target", self.target)):
            if points.ndim != 2 or points.shape[1] != 2:
                raise ValueError(
                    f"`{name}` must have two columns; got shape {points.shape}. "
                    "Use ShiftMapDisplay.from_samples for data of another width."
                )
        if self.weights.shape != self.source.shape[:1]:
            raise ValueError(
                f"`weights` must hold one weight per source row ({self.source.shape[0]}); got "
                f"shape {self.weights.shape}."
            )
        self.axis_labels = tuple(axis_labels)

    @classmethod
    def from_samples(
        cls,
        X_source: Any,
        X_target: Any,
        /,
        *,
        weights: Any,
        ax: Any = None,
        theme: str | None = None,
    ) -> ShiftMapDisplay:
        """Draw two samples: two features as they are, more by their principal components.

        Parameters
        ----------
        X_source, X_target : arrays, data frames or sparse matrices
            Mixed types and missing values are encoded as in :func:`counterpoise.diagnose`.
        weights : array of shape (n_source,)
        ax, theme
            As for :meth:`plot`.
        """
        from counterpoise.diagnostics.projection import project

        source, target, labels = project(X_source, X_target)
        return cls(source, target, weights, axis_labels=labels).plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        rng = np.random.default_rng(0)
        rows, crosses = (some_rows(len(own), _POINTS, rng) for own in (self.source, self.target))
        look: dict[str, Any] = {"color": palette.target, "alpha": 0.45, "linewidth": 0.9}
        ax.scatter(*self.target[crosses].T, s=14, marker="x", label="target", **look)
        levels = np.searchsorted(_EDGES, self.weights[rows], side="right")
        for level, (name, size) in enumerate(_CLASSES.items()):
            look = {"color": palette.classes[level], "edgecolor": palette.paper, "linewidth": 0.3}
            points = self.source[rows][levels == level].T
            label = f"{'…' if level else 'source, weight'} {name}"
            ax.scatter(*points, s=size, label=label, zorder=3 + level / 10, **look)
        for which, label in zip("xy", self.axis_labels, strict=True):
            plain_ticks(ax, which)
            getattr(ax, f"set_{which}label")(plain_text(label), parse_math=False)
        legend_above(ax, palette)
