"""The record for Dask arrays: every exact number by reduction over blocks, the rest from some rows.

The same sums, the same rows (their numbers depend on how many there are, not on the blocks) and the
same formulas as in memory, so the same numbers to rounding. Weights other than Gaussian ones are
fitted to 10 000 rows of each sample and predicted for the others. Passes over the features: two for
Gaussian weights (one for others), one for means, spreads and balance, one for what lies beyond the
quantiles of at most 200 000 source rows, and one that takes the rows for the two-sample test and
the support.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from counterpoise._arrays import is_array
from counterpoise._dask import as_rows, blocks, is_dask, tree_reduce
from counterpoise._pareto import tail_size
from counterpoise._validation import check_same_columns, check_same_width, feature_names
from counterpoise.diagnostics.diagnosis import METHODS_COMPARED, assemble, conclude
from counterpoise.diagnostics.gaps import QUANTILES, Gap, beyond_edges
from counterpoise.diagnostics.record import Diagnostics
from counterpoise.diagnostics.row_sums import ColumnSums, WeightSums
from counterpoise.encoding.rows import some_rows
from counterpoise.risk.dask import target_risk_dask
from counterpoise.risk.methods import get_method
from counterpoise.weights.gaussian import GaussianRatio
from counterpoise.weights.moments import DomainMoments
from counterpoise.weights.resolve import resolve_weights

__all__ = ["diagnose_dask"]

_ADD = partial(reduce, np.add)
# Source rows whose quantiles are the edges of its support.
_QUANTILE_ROWS = 200_000
# Rows of each sample that weights other than the Gaussian ones are fitted to.
_WEIGHT_ROWS = 10_000


def diagnose_dask(
    X_source: Any,
    X_target: Any,
    /,
    *,
    weights: Any,
    losses: Any,
    random_state: int | None,
    tell: Callable[[str], None],
) -> Diagnostics:
    """Return what `diagnose` does, for Dask arrays or data frames of numbers (or one of them)."""
    names = feature_names(X_source) if hasattr(X_source, "columns") else None
    if names is not None and hasattr(X_target, "columns"):
        check_same_columns(X_source, X_target)
    tell("encoding")
    source, target = _matrix(X_source, "X_source"), _matrix(X_target, "X_target")
    check_same_width(target, source.shape[1], "X_target", "X_source")
    features = [f"x{j}" for j in range(source.shape[1])] if names is None else list(map(str, names))
    tell("weights")
    w = _find_weights(weights, source, target)
    tell("sums")
    if losses is not None:
        losses = _one_per_row(losses, "losses", source)
    columns, sums = _all_sums(source, target, w, losses)
    rng = np.random.default_rng(random_state)
    rows = _Rows(source), _Rows(target)
    found = assemble(rows, columns, sums, (features, features), rng=rng, tell=tell)
    tell("regions with little support")
    gaps = _find_gaps(source, target, features)
    tell("losses")
    risks = None
    if losses is not None and found.n_effective > 0:
        risks = [
            target_risk_dask(losses, w, get_method(name), inside=False) for name in METHODS_COMPARED
        ]
    return conclude(replace(found, weights=w, losses=losses), risks, gaps)


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
    if values.shape != source.shape[:1]:
        raise ValueError(
            f"`{name}` must have shape ({source.shape[0]},), one per source row; got shape "
            f"{tuple(values.shape)}. Pass them in the order of the rows."
        )
    return values


def _find_weights(weights: Any, source: Any, target: Any) -> Any:
    """Return the weights of the source rows as a Dask array, cut like the source."""
    import dask.array as da

    if weights is None:
        return da.ones(source.shape[0], chunks=(source.chunks[0],))
    if is_dask(weights) or is_array(weights) or isinstance(weights, list | tuple):
        return _one_per_row(weights, "weights", source)
    if isinstance(weights, GaussianRatio) or (isinstance(weights, str) and weights == "gaussian"):
        return _gaussian_weights(weights, source, target)
    return _sampled_weights(weights, source, target)


def _sampled_weights(weights: Any, source: Any, target: Any) -> Any:
    """Fit an estimator to some rows of each sample, and predict the weights block by block."""
    import dask.array as da

    rng = np.random.default_rng(0)
    samples = [_Rows(X)[some_rows(X.shape[0], _WEIGHT_ROWS, rng)] for X in (source, target)]
    values, estimator = resolve_weights(weights, *samples)
    if len(values) == source.shape[0]:
        return da.from_array(values, chunks=(source.chunks[0],))
    assert estimator is not None  # arrays and None were handled before
    return source.map_blocks(estimator.predict, drop_axis=1, dtype=np.float64, meta=np.empty(0))


def _gaussian_weights(weights: Any, source: Any, target: Any) -> Any:
    ratio = GaussianRatio() if isinstance(weights, str) else weights
    if ratio.normalize:
        raise ValueError(
            "`weights` must not be normalised on Dask arrays; got GaussianRatio(normalize=True). "
            "Leave `normalize` out: the mean weight then says whether the target is covered."
        )
    spread = np.sqrt(_add_up(target).compute().variance)
    unit = np.where(spread > 0, spread, 1.0)
    work = partial(_moments, unit)
    merge = partial(reduce, DomainMoments.merge)
    found = [tree_reduce(blocks(X), work, merge) for X in (source, target)]
    import dask

    fitted = GaussianRatio(
        regularization=ratio.regularization, standardize=ratio.standardize
    ).fit_moments(*dask.compute(*found))
    return source.map_blocks(fitted.predict, drop_axis=1, dtype=np.float64, meta=np.empty(0))


def _moments(unit: np.ndarray, X: np.ndarray) -> DomainMoments:
    return DomainMoments.from_rows(X, unit)


def _add_up(X: Any, weights: Any = None) -> Any:
    return tree_reduce(blocks(X, weights), ColumnSums.of, partial(reduce, ColumnSums.merge))


def _all_sums(
    source: Any, target: Any, weights: Any, losses: Any
) -> tuple[tuple[ColumnSums, ColumnSums], WeightSums]:
    """Add up both domains and the weights, and refuse what is not finite."""
    import dask

    keep = tail_size(source.shape[0]) + 1
    rows = blocks(weights, losses)
    own, other, sums, low = dask.compute(
        _add_up(source, weights),
        _add_up(target),
        tree_reduce(rows, partial(_weight_sums, keep), partial(_merge_weights, keep)),
        weights.min(),
    )
    checked = [("X_source", own.squares), ("X_target", other.squares), ("weights", sums.mean[0])]
    if losses is not None:
        checked.append(("losses", sums.mean[1]))
    for name, values in checked:
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"`{name}` must be finite; it has NaN or infinite values. "
                "Drop or impute those rows first."
            )
    if low < 0:
        raise ValueError(
            f"`weights` must not be negative; the smallest is {float(low):g}. "
            "Weights are density ratios: clip them at 0 or fit them again."
        )
    return (own, other), sums


def _weight_sums(keep: int, weights: np.ndarray, losses: np.ndarray | None) -> WeightSums:
    with np.errstate(invalid="ignore"):
        return WeightSums.of(weights, losses, keep)


def _merge_weights(keep: int, parts: Sequence[WeightSums]) -> WeightSums:
    with np.errstate(invalid="ignore"):
        return WeightSums.merge(parts, keep)


def _find_gaps(source: Any, target: Any, features: list[str]) -> list[Gap]:
    some = some_rows(source.shape[0], _QUANTILE_ROWS, np.random.default_rng(0))
    edges = np.quantile(np.asarray(source[some].compute()), QUANTILES, axis=0).T
    counts = tree_reduce(blocks(target), partial(_outside_edges, edges), _ADD).compute()
    n = target.shape[0]
    found = []
    for name, own, (below, above) in zip(features, edges, counts, strict=True):
        found += beyond_edges(name, own, below / n, above / n)
    return found


def _outside_edges(edges: np.ndarray, X: np.ndarray) -> np.ndarray:
    below, above = np.sum(edges[:, 0] > X, axis=0), np.sum(edges[:, 1] < X, axis=0)
    return np.stack([below, above], axis=1)
