"""Checks of the rows of a chunk, and their messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._arrays import as_float, numpy_namespace
from counterpoise._validation import check_finite, check_label_size, check_labels, check_real

__all__ = ["Chunk", "check_chunk"]

# Features, labels or None, weights or None.
Chunk = tuple[Any, Any, Any]


def check_chunk(chunk: Chunk, labels: str, name: str, /) -> Chunk:
    """Return features (n, D), labels or None, and weights (n,) or None, all of them checked.

    `labels` says what `y` is: "outputs", returned as (n, T), "classes", returned as (n,), or "none".
    `name` is what the features are called.
    """
    X, y, w = chunk
    X = _numbers(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"`{name}` must be a 2-D array of shape (rows, features); got shape {X.shape}. "
            f"Reshape one feature with {name}.reshape(-1, 1)."
        )
    if labels == "none":
        return X, None, None
    if y is None:
        raise ValueError(
            "`y` is missing: the source needs labels. Yield pairs (X, y), or name the label column."
        )
    w = None if w is None else _of_rows(_numbers(w, "weights"), len(X), "weights")
    if w is not None and np.any(w < 0):
        raise ValueError(
            f"`weights` must not be negative; {np.count_nonzero(w < 0)} are. Weights are density "
            "ratios: clip them at 0 or fit them again."
        )
    return X, _classes(y, len(X)) if labels == "classes" else _outputs(y, len(X)), w


def _outputs(y: Any, n: int) -> np.ndarray:
    outputs = _of_rows(_numbers(y, "y"), n, "y")
    if outputs.ndim > 2:
        raise ValueError(f"`y` must have the shape (n,) or (n, n_outputs); got {outputs.shape}.")
    check_label_size(outputs)
    return outputs.reshape(n, -1)


def _classes(y: Any, n: int) -> np.ndarray:
    check_labels(y)
    labels = _of_rows(np.asarray(y), n, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"`y` must be 1-D class labels; got shape {labels.shape}.")
    if labels.dtype.kind == "f" and np.any(labels != np.floor(labels)):
        bad = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"`y` must be class labels; got {bad:g}, which is missing or has a fraction. Drop rows "
            "without a label; use ShiftRidgeCV for regression."
        )
    return labels


def _numbers(values: Any, name: str) -> np.ndarray:
    """Finite real numbers in double precision."""
    kinds = np.atleast_1d(np.asarray(getattr(values, "dtypes", "O"), dtype=object))
    if all(getattr(kind, "kind", "O") in "fiub" for kind in kinds):
        # Nullable columns of a data frame are numbers too, but NumPy makes objects of them.
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = np.asarray(as_float(check_real(values, name)), dtype=np.float64)
    check_finite(numpy_namespace, numbers, name, "Drop or impute those rows first.")
    return np.asarray(numbers)


def _of_rows(values: np.ndarray, n: int, name: str) -> np.ndarray:
    if values.ndim == 0 or values.shape[0] != n:
        raise ValueError(
            f"`{name}` must have one entry for each of the {n} rows of X; got shape "
            f"{values.shape}. Pass features and labels of the same rows."
        )
    return values
