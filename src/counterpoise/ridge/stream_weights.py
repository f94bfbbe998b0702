"""The weights of rows in a stream: given, or from an estimator fitted to sums or a sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from counterpoise._arrays import to_numpy
from counterpoise._validation import check_same_width
from counterpoise.ridge.cross_validation import TARGET_ROWS
from counterpoise.ridge.first_pass import Overview, joined_rows, look_at, places_of, rows_of
from counterpoise.ridge.folds import random_rows
from counterpoise.ridge.row_checks import check_rows
from counterpoise.ridge.stream import Chunk, Stream
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.gaussian import GaussianRatio
from counterpoise.weights.resolve import resolve_weights

__all__ = ["StreamWeights", "look_at_source", "predict_weights"]

# Rows whose weights are predicted at once: kernel methods make temporaries of many columns.
_ROWS = 2**16


@dataclass(frozen=True)
class StreamWeights:
    """Where the weights of a stream's rows come from; with neither, from the chunks, or ones."""

    estimator: DensityRatio | None = None  # applied to every chunk
    given: np.ndarray | None = None  # the weights themselves, (n,)
    target: np.ndarray | None = None  # target rows (m, D), or a sample, for the tail of the weights


def look_at_source(
    weights: Any, source: Stream, target: Stream | None, /, *, labels: str, weight_rows: int
) -> tuple[Overview, StreamWeights]:
    """Make the first pass over the source, and fit the weights.

    Parameters
    ----------
    weights : str, DensityRatio, array of shape (n,) or None
        Normal densities are fitted to all rows. Other estimators are fitted to a sample of each
        domain, unless they are fitted already. None: weights come with the chunks, or are ones.
    source, target : Stream
    labels : {"outputs", "classes"}
    weight_rows : int
        Size of the samples.
    """
    look = partial(look_at, source, labels=labels)
    if weights is None:
        return look(), StreamWeights()
    if not isinstance(weights, str | type) and not hasattr(weights, "fit"):
        overview = look()
        values, _ = resolve_weights(weights, _Rows(overview.count), None)
        return overview, StreamWeights(given=values)
    fitted = _is_fitted(weights)
    if target is None or isinstance(weights, type):
        if fitted:
            return look(), StreamWeights(weights)
        resolve_weights(weights, _Rows(1), None)  # raises an error that says what is missing
    target = cast(Stream, target)
    look_at_target = partial(look_at, target, title="X_target")
    if not fitted and (weights == "gaussian" or isinstance(weights, GaussianRatio)):
        ratio = GaussianRatio() if isinstance(weights, str) else weights
        return _fit_gaussian(ratio, source, look, look_at_target)
    found = look_at_target()
    overview = look()
    _check_same_features(overview, found)
    rows = random_rows(found.count, TARGET_ROWS if fitted else weight_rows)
    Z = rows_of(target, found, rows)[0]
    if fitted:
        return overview, StreamWeights(weights, target=Z)
    X = rows_of(source, overview, random_rows(overview.count, weight_rows), labels=labels)[0]
    values, estimator = resolve_weights(weights, X, Z)
    # The weights of the rows that it was fitted to, which some estimators do not predict again.
    whole = len(X) == overview.count
    return overview, StreamWeights(estimator, values if whole else None, Z)


def _fit_gaussian(
    ratio: GaussianRatio,
    source: Stream,
    look: partial[Overview],
    look_at_target: partial[Overview],
) -> tuple[Overview, StreamWeights]:
    """Look at both domains, and fit normal densities to the moments of all rows."""
    first = look_at_target(moments=True)
    spread = first.moments.spread  # type: ignore[union-attr]
    unit = np.where(spread > 0, spread, 1.0)
    places = places_of(random_rows(first.count, TARGET_ROWS), first)
    found = look_at_target(places, moments=True, unit=unit)
    overview = look(moments=True, unit=unit)
    _check_same_features(overview, found)
    ratio = clone(ratio).fit_moments(overview.moments, found.moments)
    if overview.names is not None and all(isinstance(name, str) for name in overview.names):
        ratio.feature_names_in_ = overview.names
    if ratio.normalize:
        sums = source.run(partial(_sum_of_weights, ratio), add)
        ratio.normalizer_ = cast(float, sums) / overview.count
    return overview, StreamWeights(ratio, target=joined_rows(found)[0])


class _Rows:
    """Stands for a matrix of which only the number of rows matters."""

    def __init__(self, n: int) -> None:
        self.shape = (n, 1)


def _check_same_features(source: Overview, target: Overview) -> None:
    if source.names is not None and target.names is not None and source.names != target.names:
        raise ValueError(
            f"`X_target` must have the columns {source.names}; got {target.names}. "
            "Pass the same columns in the same order."
        )
    check_same_width(target.location, len(source.location), "X_target", "X")


def _is_fitted(weights: Any) -> bool:
    if isinstance(weights, str | type):
        return False
    try:
        check_is_fitted(weights, "weights_")
    except NotFittedError:
        return False
    return True


def _sum_of_weights(ratio: DensityRatio, name: str, chunks: Iterable[Chunk], extra: None) -> float:
    rows = (check_rows(X, "X") for X, _, _ in chunks if len(X))
    return sum(float(np.sum(predict_weights(ratio, X))) for X in rows)


def predict_weights(estimator: Any, X: np.ndarray, /) -> np.ndarray:
    """Return the estimated ratio at the rows of X (n, D)."""
    slices = (X[start : start + _ROWS] for start in range(0, len(X), _ROWS))
    return np.concatenate([to_numpy(estimator.predict(rows)) for rows in slices])
