"""What `weights=` means, everywhere it is a parameter: a name, an estimator, an array, or None.

The default was chosen on the tables of ``benchmarks/real_data.py`` and is judged by
``benchmarks/judgement.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from counterpoise._arrays import effective_rows, is_array, to_numpy
from counterpoise._validation import check_weights
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


def are_values(weights: Any, /) -> bool:
    """Tell weights themselves (an array, a list, a series) from a name or an estimator."""
    return is_array(weights) or isinstance(weights, list | tuple) or hasattr(weights, "to_numpy")


def resolve_weights(
    weights: Any, X_source: Any, X_target: Any, /
) -> tuple[np.ndarray, DensityRatio | None]:
    """Return the weights of the source rows, (n,), and the fitted estimator where there is one.

    `weights` is "auto" (the library's default, see `fit_default`; a warning says where its first
    choice collapsed), a name from `NAMES`, an estimator (a clone of it is fitted), the weights
    themselves as an array or a series, or None for ones: no shift is assumed, and no target needed.
    """
    n = X_source.shape[0]
    if weights is None:
        return np.ones(n), None
    if are_values(weights):
        # A series counts by its order, whatever its index.
        values = weights.to_numpy() if hasattr(weights, "to_numpy") else weights
        checked = to_numpy(check_weights(values, n=n))
        if checked.ndim != 1:
            raise ValueError(
                f"`weights` must be 1-D, one per source row; got shape {checked.shape}. "
                "Pass weights of shape (n_source,)."
            )
        return checked.astype(np.float64, copy=False), None
    named = isinstance(weights, str)
    estimator = NAMES[weights]() if named and weights in NAMES else weights
    is_default = named and weights == DEFAULT_WEIGHTS
    if not is_default and (isinstance(estimator, type | str) or not hasattr(estimator, "fit")):
        names = ", ".join(repr(name) for name in [DEFAULT_WEIGHTS, *NAMES])
        raise ValueError(
            f"`weights` must be one of {names}, an estimator from counterpoise.weights, an array "
            f"with one weight per source row, or None for no weighting; got {weights!r}."
        )
    if X_target is None:
        raise ValueError(
            "`X_target` is missing: a sample of the target population is needed to estimate the "
            "weights. Pass fit(X, y, X_target=...), or give the weights as an array; without a "
            "target, scikit-learn's own cross-validation is the tool."
        )
    if is_default:
        return fit_default(X_source, X_target)
    estimator = clone(estimator).fit(X_source, X_target)
    return to_numpy(estimator.weights_), estimator


def has_collapsed(weights: Any, /) -> bool:
    """Tell whether the effective sample is below 10 rows or 1 % of the rows.

    A weighted mean is then a mean over a handful of rows, whatever the other rows say. Of fewer
    than 20 rows, half is enough.
    """
    n = int(weights.shape[0])
    least = min(max(_LEAST_ROWS, _LEAST_SHARE * n), 0.5 * n)
    return float(effective_rows(weights)) < least


def fit_default(X_source: Any, X_target: Any, /) -> tuple[np.ndarray, DensityRatio]:
    """Fit the first estimator of `ORDER` whose weights do not collapse; return weights and it.

    If all of them collapse, the one with the largest effective sample is taken. A warning says why
    it is not the first. Estimators are fitted to at most 20 000 random rows of each sample; the
    other rows are predicted.
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
    if name != ORDER[0]:
        why = "; ".join(reason for replaced, reason in reasons.items() if replaced != name)
        warnings.warn(
            f"{name!r} (effective sample: {size:.1f} rows) is used because {why}.",
            RuntimeWarning,
            stacklevel=4,
        )
    return weights, estimator
