"""Source and target in a plane, the source by weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.report._canvas import canvas, legend_above, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ShiftMapDisplay", "project"]

# Points of each sample that are drawn: more hide each other and make a large file.
_POINTS = 1000
_EDGES = (0.5, 1.0, 2.0, 5.0)
_CLASSES = ("below 0.5", "0.5 to 1", "1 to 2", "2 to 5", "above 5")
_SIZES = (7, 11, 17, 28, 48)


class ShiftMapDisplay:
    """Source and target rows in a plane: where the target is, and which source rows stand for it.

    Source rows are coloured and sized by their weight, in five classes; target rows lie behind as
    crosses. Of large samples a random part is drawn, and the plot says so.

    Parameters
    ----------
    source, target : arrays of shape (n, 2) and (m, 2)
    weights : array of shape (n,)
    axis_labels : pair of str
    random_state : int, default=0
        Of the rows that are drawn from large samples.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    source_index_, target_index_ : int arrays
        The rows that are drawn.

    See Also
    --------
    ShiftMapDisplay.from_samples : From data of any width, by principal components.

    Examples
    --------
    >>> import counterpoise as cp
    >>> from counterpoise.report import ShiftMapDisplay
    >>> problem = cp.datasets.gaussian_2d(gamma=0.7)
    >>> X, y, X_target, _ = problem.sample(200, 1000, random_state=0)
    >>> display = ShiftMapDisplay.from_samples(X, X_target, weights=problem.weights(X))
    >>> display.source_index_.shape, display.target_index_.shape
    ((200,), (1000,))
    """

    ax_: Axes
    figure_: Figure

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
        ax : matplotlib Axes, optional
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on either. Default: matplotlib's current style.

        Returns
        -------
        ShiftMapDisplay
        """
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
        ax : matplotlib Axes, optional
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on either. Default: matplotlib's current style.

        Returns
        -------
        ShiftMapDisplay
        """
        return cls.from_samples(X, X_target, weights=estimator.weights_, ax=ax, theme=theme)

    def plot(self, ax: Any = None, *, theme: str | None = None) -> ShiftMapDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure.
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on either. Default: matplotlib's current style.

        Returns
        -------
        self
        """
        with canvas(ax, theme, size=(6.0, 4.4)) as (ax, palette):
            self.ax_, self.figure_ = ax, ax.figure
            rng = np.random.default_rng(self.random_state)
            self.source_index_ = _sample(self.source.shape[0], rng)
            self.target_index_ = _sample(self.target.shape[0], rng)
            ax.scatter(
                *self.target[self.target_index_].T,
                s=14,
                marker="x",
                color=palette.target,
                alpha=0.45,
                linewidth=0.9,
                label="target",
            )
            points = self.source[self.source_index_]
            levels = np.searchsorted(_EDGES, self.weights[self.source_index_], side="right")
            for level, (name, size) in enumerate(zip(_CLASSES, _SIZES, strict=True)):
                ax.scatter(
                    *points[levels == level].T,
                    s=size,
                    color=palette.classes[level],
                    edgecolor=palette.paper,
                    linewidth=0.3,
                    label=f"source, weight {name}",
                    zorder=3 + level / 10,
                )
            for label, setter in zip(self.axis_labels, (ax.set_xlabel, ax.set_ylabel), strict=True):
                setter(plain_text(label), parse_math=False)
            legend_above(ax, palette, note=self._what_is_drawn())
        return self

    def _what_is_drawn(self) -> str:
        parts = [
            f"{drawn.size:,} of {points.shape[0]:,} {name} rows"
            for name, drawn, points in (
                ("source", self.source_index_, self.source),
                ("target", self.target_index_, self.target),
            )
            if drawn.size < points.shape[0]
        ]
        return " and ".join(parts)


def project(X_source: Any, X_target: Any, /) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Place two samples in one plane: two features as they are, more by principal components.

    The components are those of both samples together, each counting half, in standardised
    features: a large target does not decide alone. One feature is spread out at random upwards.

    Parameters
    ----------
    X_source, X_target : arrays, data frames or sparse matrices
        Of one width. Mixed types and missing values are encoded.

    Returns
    -------
    source, target : arrays of shape (n, 2) and (m, 2)
    labels : pair of str
        Of the axes.
    """
    from counterpoise.encoding import encode_pair

    pair = encode_pair(X_source, X_target)
    source, target = (
        np.asarray(pair.independent(X), dtype=np.float64) for X in (pair.source, pair.target)
    )
    names = pair.encoder.get_feature_names_out()[pair.encoder.independent_]
    if source.shape[1] == 1:
        rng = np.random.default_rng(0)
        return (
            np.column_stack([source[:, 0], rng.uniform(size=source.shape[0])]),
            np.column_stack([target[:, 0], rng.uniform(size=target.shape[0])]),
            (names[0], "(spread at random)"),
        )
    if source.shape[1] == 2:
        return source, target, (names[0], names[1])
    return _principal(source, target)


def _principal(
    source: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    centre = (source.mean(axis=0) + target.mean(axis=0)) / 2
    second = (np.mean((source - centre) ** 2, axis=0) + np.mean((target - centre) ** 2, axis=0)) / 2
    scale = np.where(second > 0, np.sqrt(second), 1.0)
    source, target = (source - centre) / scale, (target - centre) / scale
    moments = (source.T @ source / source.shape[0] + target.T @ target / target.shape[0]) / 2
    values, vectors = np.linalg.eigh(moments)
    axes = vectors[:, :-3:-1]
    # A sign is arbitrary; the largest coefficient is taken to be positive.
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(2)])
    shares = values[:-3:-1] / max(values.sum(), np.finfo(float).tiny)
    words = ("first", "second")
    labels = [
        f"{word} principal component ({share:.0%})"
        for word, share in zip(words, shares, strict=True)
    ]
    return source @ axes, target @ axes, (labels[0], labels[1])


def _sample(count: int, rng: np.random.Generator) -> np.ndarray:
    if count <= _POINTS:
        return np.arange(count)
    return np.sort(rng.choice(count, _POINTS, replace=False))
