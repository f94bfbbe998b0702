"""The weights that the library estimates unless told otherwise, and what replaces a collapse.

Chosen on the tables of ``benchmarks/real_data.py``; judged by ``benchmarks/judgement.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import effective_rows, is_array, to_numpy
from counterpoise.encoding.rows import some_rows
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.names import NAMES

# What every `weights=` of the library is unless it is given.
DEFAULT_WEIGHTS = "auto"
# The names it stands for: the first is used, the others replace it where it fails or collapses.
ORDER = ("kmm", "ulsif", "classifier")
# Random rows of each sample that it is fitted to, where there are more: means over so many rows
# have an error below 1 % of a standard deviation.
MOST_ROWS = 20_000
# An effective sample below so many rows, or below this share of the rows, is a collapse.
_LEAST_ROWS, _LEAST_SHARE = 10.0, 0.01


@dataclass(frozen=True, eq=False)
class DefaultWeights:
    """The default weights of one pair of samples.

    `note` says why the estimator is not the first of `ORDER`; it is empty where it is.
    """

    name: str
    weights: np.ndarray  # (n_source,)
    estimator: DensityRatio
    note: str = ""


def is_default(weights: Any, /) -> bool:
    """Tell whether `weights` asks for the default."""
    return isinstance(weights, str) and weights == DEFAULT_WEIGHTS


def has_collapsed(weights: Any, /) -> bool:
    """Tell whether the effective sample is below 10 rows or 1 % of the rows.

    A weighted mean is then a mean over a handful of rows, whatever the other rows say. Of fewer
    than 20 rows, half is enough.
    """
    n = int(weights.shape[0])
    least = min(max(_LEAST_ROWS, _LEAST_SHARE * n), 0.5 * n)
    return float(effective_rows(weights)) < least


def fit_default(X_source: Any, X_target: Any, /) -> DefaultWeights:
    """Fit the first estimator of `ORDER` whose weights do not collapse.

    If all of them collapse, the one with the largest effective sample is taken. Estimators are
    fitted to at most 20 000 random rows of each sample; the other rows are predicted.

    Parameters
    ----------
    X_source, X_target : arrays of shape (n_source, n_features) and (n_target, n_features)

    Returns
    -------
    DefaultWeights
    """
    source, target = (X if is_array(X) else np.asarray(X) for X in (X_source, X_target))
    rng = np.random.default_rng(0)
    samples = [X[some_rows(X.shape[0], MOST_ROWS, rng)] for X in (source, target)]
    whole = samples[0].shape[0] == source.shape[0]
    fits: dict[str, tuple[float, np.ndarray, DensityRatio]] = {}
    reasons: dict[str, str] = {}
    failures: list[ValueError] = []
    for name in ORDER:
        try:
            estimator = NAMES[name]().fit(*samples)
        except ValueError as error:
            failures.append(error)
            reasons[name] = f"{name!r} cannot be fitted ({error})"
            continue
        weights = to_numpy(estimator.weights_ if whole else estimator.predict(source))
        size = float(effective_rows(weights))
        fits[name] = size, weights, estimator
        if not has_collapsed(weights):
            break
        reasons[name] = f"{name!r} has an effective sample of {size:.1f} rows"
    if not fits:
        raise failures[0]
    name = max(fits, key=lambda fitted: fits[fitted][0])
    size, weights, estimator = fits[name]
    if name == ORDER[0]:
        return DefaultWeights(name, weights, estimator)
    why = "; ".join(reason for replaced, reason in reasons.items() if replaced != name)
    note = f"{name!r} (effective sample: {size:.1f} rows) is used because {why}."
    return DefaultWeights(name, weights, estimator, note)
