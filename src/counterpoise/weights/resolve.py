"""What `weights=` means, everywhere it is a parameter: a name, an estimator, an array, or None."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from counterpoise._arrays import is_array, to_numpy
from counterpoise._validation import check_weights
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.default import DEFAULT_WEIGHTS, fit_default, is_default
from counterpoise.weights.names import NAMES, named_estimator


def are_values(weights: Any, /) -> bool:
    """Tell weights themselves (an array, a list, a series) from a name or an estimator."""
    return is_array(weights) or isinstance(weights, list | tuple) or hasattr(weights, "to_numpy")


def resolve_weights(
    weights: Any, X_source: Any, X_target: Any, /
) -> tuple[np.ndarray, DensityRatio | None]:
    """Return the weights of the source rows, and the fitted estimator where there is one.

    Parameters
    ----------
    weights : str, DensityRatio, array or series of shape (n_source,), or None
        "auto" (the library's default, see `fit_default`; a warning says where its first choice
        collapsed), a name from `NAMES`, an estimator (a clone of it is fitted), the weights
        themselves, or None for ones: no shift is assumed, and no target is needed.
    X_source : array of shape (n_source, n_features)
    X_target : array of shape (n_target, n_features) or None

    Returns
    -------
    weights : array of shape (n_source,)
    estimator : DensityRatio or None
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
    estimator = named_estimator(weights)
    if estimator is None and not is_default(weights):
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
    if estimator is None:
        default = fit_default(X_source, X_target)
        if default.note:
            warnings.warn(default.note, RuntimeWarning, stacklevel=3)
        return default.weights, default.estimator
    estimator = clone(estimator).fit(X_source, X_target)
    return to_numpy(estimator.weights_), estimator
