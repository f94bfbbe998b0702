"""The summary of Dask arrays: sums by reduction over blocks, and the rows that are looked at.

Passes over the features: one for the weights, one for means, spreads and balance, one for what lies
beyond the quantiles, and one that takes the rows for the two-sample test and the support.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._arrays import is_array
from counterpoise._dask import as_rows, blocks, is_dask, tree_reduce
from counterpoise._pareto import tail_size
from counterpoise._validation import (
    check_finite,
    check_ratios,
    check_same_width,
    feature_names,
    match_columns,
)
from counterpoise.diagnostics.diagnosis import Summary, check_one_per_row, fit_weights
from counterpoise.diagnostics.gaps import Gap, beyond_edges, support_edges
from counterpoise.diagnostics.row_sums import ColumnSums, WeightSums
from counterpoise.encoding.rows import some_rows
from counterpoise.weights.resolve import MOST_ROWS


def summarise_dask(X_source: Any, X_target: Any, weights: Any, losses: Any, /) -> Summary:
    """Return the summary of Dask arrays or data frames of numbers; refuse what is not finite."""
    import dask

    names = feature_names(X_source) if hasattr(X_source, "columns") else None
    if names is not None and hasattr(X_target, "columns"):
        X_target = match_columns(X_source, X_target)
    source, target = _matrix(X_source, "X_source"), _matrix(X_target, "X_target")
    check_same_width(target, source.shape[1], "X_target", "X_source")
    features = [f"x{j}" for j in range(source.shape[1])] if names is None else list(map(str, names))
    w = _find_weights(weights, source, target)
    if losses is not None:
        losses = _one_per_row(losses, "losses", source)
    keep = tail_size(source.shape[0]) + 1
    merge = partial(reduce, ColumnSums.merge)
    of_source, of_target, sums = dask.compute(
        tree_reduce(blocks(source, w), partial(_column_sums, "X_source"), merge),
        tree_reduce(blocks(target, None), partial(_column_sums, "X_target"), merge),
        tree_reduce(
            blocks(w, losses), partial(_weight_sums, keep), partial(WeightSums.merge, keep=keep)
        ),
    )
    edges = support_edges(_Rows(source))
    beyond = tree_reduce(blocks(target), partial(_outside_edges, edges), partial(reduce, np.add))
    gaps: list[Gap] = []
    for name, ends, count in zip(features, edges, beyond.compute(), strict=True):
        gaps += beyond_edges(name, ends, *count / target.shape[0])
    columns, rows = (of_source, of_target), (_Rows(source), _Rows(target))
    return Summary(rows, columns, sums, w, losses, gaps, features, features, slice(None))


class _Rows:
    """Rows of a Dask array, in memory once asked for."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self.array[rows].compute())


def _matrix(X: Any, name: str) -> Any:
    X = as_rows(X, name)
    if X.ndim != 2 or min(X.shape) < 1:
        raise ValueError(
            f"`{name}` must be a 2-D array with at least 1 row and 1 feature; got shape "
            f"{tuple(X.shape)}. Pass rows of features."
        )
    return X


def _one_per_row(values: Any, name: str, source: Any) -> Any:
    values = as_rows(values, name, like=source)
    check_one_per_row(values, name, source.shape[0])
    return values


def _find_weights(weights: Any, source: Any, target: Any) -> Any:
    """Return the weights of the source rows as a Dask array, cut like the source."""
    import dask.array as da

    if weights is None:
        return da.ones(source.shape[0], chunks=(source.chunks[0],))
    if is_dask(weights) or is_array(weights) or isinstance(weights, list | tuple):
        return _one_per_row(weights, "weights", source)
    rng = np.random.default_rng(0)
    samples = [_Rows(X)[some_rows(X.shape[0], MOST_ROWS, rng)] for X in (source, target)]
    values, estimator = fit_weights(weights, *samples)
    if len(values) == source.shape[0]:
        return da.from_array(values, chunks=(source.chunks[0],))
    if estimator is None:
        return da.zeros(source.shape[0], chunks=(source.chunks[0],))
    return source.map_blocks(estimator.predict, drop_axis=1, dtype=np.float64, meta=np.empty(0))


def _column_sums(name: str, X: np.ndarray, weights: np.ndarray | None) -> ColumnSums:
    check_finite(xp, X, name, "Drop or impute those rows first.")
    return ColumnSums.of(X, weights)


def _weight_sums(keep: int, weights: np.ndarray, losses: np.ndarray | None) -> WeightSums:
    check_ratios(xp, weights, "weights")
    if losses is not None:
        check_finite(xp, losses, "losses", "Drop or impute those samples.")
    return WeightSums.of(weights, losses, keep)


def _outside_edges(edges: np.ndarray, X: np.ndarray) -> np.ndarray:
    below, above = np.sum(edges[:, 0] > X, axis=0), np.sum(edges[:, 1] < X, axis=0)
    return np.stack([below, above], axis=1)
