"""Decision values of a classifier, one per class."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._sklearn import ovr_decision_function

__all__ = ["decision_values"]


def decision_values(model: Any, X: Any, /) -> np.ndarray:
    """Return what `decision_function` says, (n,) for two classes and (n, n_classes) for more.

    Support vector classifiers with ``decision_function_shape="ovo"`` have a value for each pair of
    classes instead. They become what ``"ovr"`` returns: the pairs that a class wins, with the sum
    of its values between ties.
    """
    values = np.asarray(to_numpy(model.decision_function(X)))
    if values.ndim == 1:
        return values
    classes, columns = len(model.classes_), values.shape[1]
    pairs = classes * (classes - 1) // 2
    # Three classes have three pairs: then only the model can tell.
    if columns == pairs and (classes != 3 or _is_pairwise(model)):
        return np.asarray(ovr_decision_function(values < 0, -values, classes))
    if columns != classes:
        raise ValueError(
            f"`decision_function` of {type(model).__name__} must return one value for each of the "
            f"{classes} classes; got {columns} columns. Use another loss than 'hinge', or an "
            "estimator with one value per class."
        )
    return values


def _is_pairwise(model: Any) -> bool:
    """Look for the support vector classifier behind pipelines and searches."""
    for inside in ("best_estimator_", "_final_estimator"):
        model = getattr(model, inside, model)
    return getattr(model, "decision_function_shape", None) == "ovo"
