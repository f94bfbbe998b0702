"""The weights that the library estimates unless told otherwise, and what replaces a collapse.

Chosen by ``benchmarks/weight_study.py``; see the guide of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import is_array, to_numpy
from counterpoise.encoding.rows import some_rows
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.collapse import effective_rows, has_collapsed
from counterpoise.weights.names import NAMES

__all__ = [
    "DEFAULT_WEIGHTS",
    "MOST_ROWS",
    "ORDER",
    "DefaultWeights",
    "fit_default",
    "is_default",
]

# What every `weights=` of the library is unless it is given.
DEFAULT_WEIGHTS = "auto"
# The names it stands for: the first is used, the others replace it where it fails or collapses.
ORDER = ("kmm", "ulsif", "classifier")
# Random rows of each sample that it is fitted to, where there are more: means over so many rows
# have an error below 1 % of a standard deviation.
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class DefaultWeights:
    """The default weights of one pair of samples.

    Attributes
    ----------
    name : str
        Of the estimator that was used.
    weights : array of shape (n_source,)
    estimator : DensityRatio
        Fitted.
    note : str
        Why it is not the first of `ORDER`; empty where it is.
    """

    name: str
    weights: np.ndarray
    estimator: DensityRatio
    note: str = ""


def is_default(weights: Any, /) -> bool:
    """Tell whether `weights` asks for the default."""
    return isinstance(weights, str) and weights == DEFAULT_WEIGHTS


def fit_default(X_source: Any, X_target: Any, /, *, n_jobs: int | None = None) -> DefaultWeights:
    """Fit the first estimator of `ORDER` whose weights do not collapse.

    If all of them collapse, the one with the largest effective sample is taken. Estimators are
    fitted to at most 20 000 random rows of each sample; the other rows are predicted.

    Parameters
    ----------
    X_source, X_target : arrays of shape (n_source, n_features) and (n_target, n_features)
    n_jobs : int or None, default=None
        For estimators that take it.

    Returns
    -------
    DefaultWeights
    """
    source, target = (X if is_array(X) else np.asarray(X) for X in (X_source, X_target))
    rng = np.random.default_rng(0)
    samples = [X[some_rows(X.shape[0], MOST_ROWS, rng)] for X in (source, target)]
    found: dict[str, tuple[float, np.ndarray, Any]] = {}
    reasons: dict[str, str] = {}
    failures: list[ValueError] = []
    for name in ORDER:
        estimator = NAMES[name]()
        if "n_jobs" in estimator.get_params():
            estimator.set_params(n_jobs=n_jobs)
        try:
            estimator.fit(*samples)
        except ValueError as error:
            failures.append(error)
            reasons[name] = f"{name!r} cannot be fitted ({error})"
            continue
        whole = samples[0].shape[0] == source.shape[0]
        weights = to_numpy(estimator.weights_ if whole else estimator.predict(source))
        size = effective_rows(weights)
        found[name] = size, weights, estimator
        if not has_collapsed(weights):
            break
        reasons[name] = f"{name!r} has an effective sample of {size:.1f} rows"
    if not found:
        raise failures[0]
    name = max(found, key=lambda one: found[one][0])
    size, weights, estimator = found[name]
    if name == ORDER[0]:
        return DefaultWeights(name, weights, estimator)
    why = "; ".join(reason for other, reason in reasons.items() if other != name)
    note = f"{name!r} (effective sample: {size:.1f} rows) is used because {why}."
    return DefaultWeights(name, weights, estimator, note)
