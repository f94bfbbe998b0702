"""Feature by feature: is the mean balanced, and how far does the target reach beyond the source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._validation import feature_names
from counterpoise.diagnostics.sums import column_sums, standardized
from counterpoise.weights._encoding import DomainEncoder
from counterpoise.weights._table import _MISSING, _columns, _is_numeric, _labels, _numbers

__all__ = [
    "QUANTILES",
    "Reach",
    "beyond_edges",
    "encoded_names",
    "little_support",
    "standardized_differences",
    "worth_naming",
]

# Share of the source beyond which a single feature counts as having little support.
_EDGE = 0.005
# Share of the target that must lie there to be worth naming.
_WORTH = 0.02
# Regions that are named.
_MOST = 5
# Rows of each domain whose categories are looked at: a share is then known to 0.1 %.
_ROWS = 200_000
#: Quantiles of the source beyond which a number has little support.
QUANTILES = (_EDGE, 1 - _EDGE)


def encoded_names(encoder: DomainEncoder, X: Any, width: int, /) -> list[str]:
    """Names of the encoded columns: of the features, "colour=red", "age missing"."""
    names = feature_names(X)
    count = X.shape[1] if len(X.shape) > 1 else 1
    plain = [f"x{j}" for j in range(count)] if names is None else [str(name) for name in names]
    mixed = getattr(encoder, "_encoder", None)
    if mixed is None:
        return plain
    if not hasattr(mixed, "numeric_"):
        return [f"direction {j}" for j in range(width)]
    numeric = [name for name, is_number in zip(plain, mixed.numeric_, strict=True) if is_number]
    labels = [name for name, is_number in zip(plain, mixed.numeric_, strict=True) if not is_number]
    found = list(numeric)
    if numeric:
        indicator = mixed.scale_[0].indicator_
        found += [f"{numeric[j]} missing" for j in indicator.features_]
    if labels:
        # One feature at a time: names may contain what a joined name would be split at.
        found += _category_names(mixed.one_hot_, labels)
    return found


def _category_names(one_hot: Any, labels: list[str]) -> list[str]:
    coded = one_hot.get_feature_names_out([f"{j}" for j in range(len(labels))])
    named = []
    for code in coded:
        place, value = str(code).split("_", 1)
        value = {_MISSING: "(missing)", "infrequent_sklearn": "(rare)"}.get(value, value)
        named.append(f"{labels[int(place)]}={value}")
    return named


def standardized_differences(
    source: np.ndarray, target: np.ndarray, weights: np.ndarray, /
) -> tuple[np.ndarray, np.ndarray]:
    """Mean in the target minus mean in the source, before and after weighting the source.

    Both in units of sqrt((var_source + var_target) / 2), unweighted, so that weighting changes
    the difference and not the yardstick. Infinite for two different constants.

    Parameters
    ----------
    source, target : arrays of shape (n, D) and (m, D)
    weights : array of shape (n,)
        Of any scale; all zero gives NaN after weighting.

    Returns
    -------
    before, after : arrays of shape (D,)
    """
    return standardized(column_sums(source, weights), column_sums(target))


@dataclass(frozen=True)
class Reach:
    """A region of one feature where the target has rows and the source hardly any.

    Attributes
    ----------
    share : float
        Of the target rows, in that region.
    words : str
        The region, as in "age is above 63".
    """

    share: float
    words: str


def little_support(X_source: Any, X_target: Any, /, *, rng: np.random.Generator) -> list[Reach]:
    """Find the regions of single features where the target has little support, largest first.

    Numbers and dates (in days): below the 0.5 % or above the 99.5 % quantile of the source.
    Categories: those that make up less than 0.5 % of the source, among at most 200 000 rows of
    each domain. Empty where no such region holds more of the target than chance explains (three
    standard errors, and 2 %).
    """
    names = feature_names(X_source)
    rows = _some_rows(X_source.shape[0], rng), _some_rows(X_target.shape[0], rng)
    columns = zip(_columns(X_source), _columns(X_target), strict=True)
    found = []
    for j, (own, other) in enumerate(columns):
        name = f"x{j}" if names is None else str(names[j])
        if _is_numeric(own) and _is_numeric(other):
            found += _number_reach(name, own, other)
        else:
            some = (_labels(np.asarray(c)[r]) for c, r in zip((own, other), rows, strict=True))
            found += _label_reach(name, *some)
    return worth_naming(found, X_source.shape[0], X_target.shape[0])


def worth_naming(found: list[Reach], n_source: int, n_target: int, /) -> list[Reach]:
    """Regions that hold more of the target than chance explains, largest first."""
    noise = math.sqrt(_EDGE * (1 / n_source + 1 / n_target))
    limit = max(_WORTH, _EDGE + 3 * noise)
    found = [reach for reach in found if reach.share > limit]
    return sorted(found, key=lambda reach: -reach.share)[:_MOST]


def beyond_edges(
    name: str, edges: Sequence[float], below: float, above: float, /, *, dates: bool = False
) -> list[Reach]:
    """Put the two ends of a numeric feature in words."""

    def show(value: float) -> str:
        if not dates:
            return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
        return str(np.datetime64(round(value), "D"))

    return [
        Reach(below, f"{name} is below {show(edges[0])}"),
        Reach(above, f"{name} is above {show(edges[1])}"),
    ]


def _some_rows(n: int, rng: np.random.Generator) -> Any:
    return slice(None) if n <= _ROWS else np.sort(rng.choice(n, _ROWS, replace=False))


def _number_reach(name: str, source: Any, target: Any) -> list[Reach]:
    own, other = _numbers(source), _numbers(target)
    own = own[~np.isnan(own)]
    if own.shape[0] == 0:
        return []
    edges = np.quantile(own, QUANTILES)
    below, above = float(np.mean(other < edges[0])), float(np.mean(other > edges[1]))
    dates = np.asarray(source).dtype.kind == "M"
    return beyond_edges(name, edges, below, above, dates=dates)


def _label_reach(name: str, source: np.ndarray, target: np.ndarray) -> list[Reach]:
    known, counts = np.unique(source, return_counts=True)
    common = set(known[counts >= _EDGE * source.shape[0]])
    values, counts = np.unique(target, return_counts=True)
    return [
        Reach(
            count / target.shape[0],
            f"{name} is missing" if value == _MISSING else f"{name} is {str(value)!r}",
        )
        for value, count in zip(values, counts, strict=True)
        if value not in common
    ]
