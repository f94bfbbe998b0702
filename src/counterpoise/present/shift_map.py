"""Source and target in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.present.axes import legend_above, plain_text, plain_ticks
from counterpoise.present.display import Display
from counterpoise.present.palette import Palette

__all__ = ["ShiftMapDisplay"]

# Points of each sample that are drawn: more hide each other and make a large file.
_POINTS = 1000
_EDGES = (0.5, 1.0, 2.0, 5.0)
# Classes of weights, and the size of their dots.
_CLASSES = {"below 0.5": 7, "0.5 to 1": 11, "1 to 2": 17, "2 to 5": 28, "above 5": 48}


class ShiftMapDisplay(Display):
    """Source and target rows in a plane.

    Source rows are coloured and sized by their weight, in five classes; target rows are crosses
    behind them. Of large samples a random subset is drawn.

    Parameters
    ----------
    source, target : arrays of shape (n, 2) and (m, 2)
    weights : array of shape (n,)
    axis_labels : pair of str
    random_state : int, default=0
        Seed for drawing rows from large samples.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    source_index_, target_index_ : int arrays
        The rows that are drawn.

    Examples
    --------
    >>> import counterpoise as cp
    >>> from counterpoise.present import ShiftMapDisplay
    >>> problem = cp.datasets.gaussian_2d(gamma=0.7)
    >>> X, y, X_target, _ = problem.sample(200, 1000, random_state=0)
    >>> display = ShiftMapDisplay.from_samples(X, X_target, weights=problem.weights(X))
    >>> display.source_index_.shape, display.target_index_.shape
    ((200,), (1000,))
    """

    size = (6.0, 4.4)

    def __init__(
        self,
        source: Any,
        target: Any,
        weights: Any,
        *,
        axis_labels: Sequence[str] = ("first component", "second component"),
        random_state: int = 0,
    ) -> None:
        self.source = np.asarray(source, dtype=np.float64)
        self.target = np.asarray(target, dtype=np.float64)
        self.weights = np.asarray(weights, dtype=np.float64)
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
        self.random_state = random_state

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
        """Draw two samples in their first two principal components.

        Two features are drawn as they are. Mixed types and missing values are encoded as in
        :func:`counterpoise.diagnose`.

        Parameters
        ----------
        X_source, X_target : arrays, data frames or sparse matrices
        weights : array of shape (n_source,)
        ax, theme
            As for :meth:`plot`.
        """
        from counterpoise.diagnostics.projection import project

        source, target, labels = project(X_source, X_target)
        return cls(source, target, weights, axis_labels=labels).plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, X_target: Any, *, ax: Any = None, theme: str | None = None
    ) -> ShiftMapDisplay:
        """Draw the samples that a search or weight estimator was fitted on, with its weights.

        Parameters
        ----------
        estimator : anything fitted with `weights_`
        X, X_target : arrays, data frames or sparse matrices
        ax, theme
            As for :meth:`plot`.
        """
        return cls.from_samples(X, X_target, weights=estimator.weights_, ax=ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        rng = np.random.default_rng(self.random_state)
        self.source_index_ = _sample(self.source.shape[0], rng)
        self.target_index_ = _sample(self.target.shape[0], rng)
        look: dict[str, Any] = {"color": palette.target, "alpha": 0.45, "linewidth": 0.9}
        ax.scatter(*self.target[self.target_index_].T, s=14, marker="x", label="target", **look)
        points = self.source[self.source_index_]
        levels = np.searchsorted(_EDGES, self.weights[self.source_index_], side="right")
        for level, (name, size) in enumerate(_CLASSES.items()):
            look = {"color": palette.classes[level], "edgecolor": palette.paper, "linewidth": 0.3}
            rows = points[levels == level].T
            ax.scatter(*rows, s=size, label=f"source, weight {name}", zorder=3 + level / 10, **look)
        for which, label in zip("xy", self.axis_labels, strict=True):
            plain_ticks(ax, which)
            getattr(ax, f"set_{which}label")(plain_text(label), parse_math=False)
        counts = [
            f"{len(drawn):,} of {len(rows):,} {name} rows"
            for name, drawn, rows in (
                ("source", self.source_index_, self.source),
                ("target", self.target_index_, self.target),
            )
            if len(drawn) < len(rows)
        ]
        legend_above(ax, palette, note=" and ".join(counts))


def _sample(count: int, rng: np.random.Generator) -> np.ndarray:
    if count <= _POINTS:
        return np.arange(count)
    return np.sort(rng.choice(count, _POINTS, replace=False))
