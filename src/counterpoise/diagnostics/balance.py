"""Feature by feature: is the mean balanced, and how far does the target reach beyond the source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._validation import feature_names
from counterpoise.weights._encoding import DomainEncoder
from counterpoise.weights._table import _MISSING, _columns, _is_numeric, _labels, _numbers

__all__ = ["Reach", "encoded_names", "farthest_reach", "standardized_differences"]

# Share of the source beyond which a single feature counts as having little support.
_EDGE = 0.005
# Share of the target that must lie there to be worth naming.
_WORTH = 0.02


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
    spread = np.sqrt((np.var(source, axis=0) + np.var(target, axis=0)) / 2)
    centre = np.mean(target, axis=0)
    total = np.sum(weights)
    weighted = weights @ source / total if total > 0 else np.full(centre.shape, np.nan)

    def difference(mean: np.ndarray) -> np.ndarray:
        # Rounding in the mean of a constant is no difference.
        gap = centre - mean
        gap = np.where(np.abs(gap) <= 1e-12 * np.abs(centre), 0.0, gap)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap / spread)

    return difference(np.mean(source, axis=0)), difference(weighted)


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


def farthest_reach(X_source: Any, X_target: Any, /) -> Reach | None:
    """Find the feature and the direction in which most of the target has little support.

    Numbers and dates (in days): below the 0.5 % or above the 99.5 % quantile of the source.
    Categories: those that make up less than 0.5 % of the source. None where no such region holds
    more of the target than chance explains (three standard errors, and 2 %).
    """
    names = feature_names(X_source)
    columns = zip(_columns(X_source), _columns(X_target), strict=True)
    found = []
    for j, (own, other) in enumerate(columns):
        name = f"x{j}" if names is None else str(names[j])
        if _is_numeric(own) and _is_numeric(other):
            found += _number_reach(name, own, other)
        else:
            found += _label_reach(name, _labels(own), _labels(other))
    noise = math.sqrt(_EDGE * (1 / X_source.shape[0] + 1 / X_target.shape[0]))
    best = max(found, key=lambda reach: reach.share, default=None)
    return best if best and best.share > max(_WORTH, _EDGE + 3 * noise) else None


def _number_reach(name: str, source: Any, target: Any) -> list[Reach]:
    dates = np.asarray(source).dtype.kind == "M"
    own, other = _numbers(source), _numbers(target)
    own = own[~np.isnan(own)]
    if own.shape[0] == 0:
        return []
    low, high = np.quantile(own, [_EDGE, 1 - _EDGE])
    below, above = float(np.mean(other < low)), float(np.mean(other > high))

    def show(value: float) -> str:
        if not dates:
            return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
        return str(np.datetime64(round(value), "D"))

    return [
        Reach(below, f"{name} is below {show(low)}"),
        Reach(above, f"{name} is above {show(high)}"),
    ]


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
