"""Checks of the rows of a chunk, and their messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._validation import check_label_size, check_real

__all__ = ["check_labels", "check_outputs", "check_row_weights", "check_rows"]


def check_rows(
    X: Any, name: str, /, *, width: int | None = None, finite: bool = True
) -> np.ndarray:
    """Return an (n, D) array in double precision, finite if asked, n = 0 allowed."""
    rows = _numbers(X, name)
    if rows.ndim != 2:
        raise ValueError(
            f"`{name}` must be a 2-D array of shape (rows, features); got shape {rows.shape}. "
            f"Reshape one feature with {name}.reshape(-1, 1)."
        )
    if width is not None and rows.shape[1] != width:
        raise ValueError(
            f"`{name}` must have {width} features like the rows before; got {rows.shape[1]}. "
            "Pass the same columns in the same order."
        )
    if finite:
        _check_finite(rows, name)
    return rows


def check_outputs(y: Any, n: int, name: str, /, *, outputs: int | None = None) -> np.ndarray:
    """Return n rows of outputs as (n, T), finite, in double precision."""
    given = _numbers(_present(y, name), name)
    rows = _check_length(given[:, None] if given.ndim == 1 else given, n, name)
    if rows.ndim != 2 or (outputs is not None and rows.shape[1] != outputs):
        wanted = "(n,) or (n, n_outputs)" if outputs is None else f"(n, {outputs})"
        raise ValueError(
            f"`{name}` must have the shape {wanted} in every chunk; got {rows.shape}. "
            "Pass the same outputs in the same order."
        )
    _check_finite(rows, name)
    check_label_size(rows)
    return rows


def check_labels(y: Any, n: int, name: str, /) -> np.ndarray:
    """Return n class labels of any kind, none of them missing."""
    given = np.asarray(check_real(y, name) if _is_masked(y) else _present(y, name))
    column = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    labels = _check_length(column, n, name)
    if labels.ndim != 1:
        raise ValueError(f"`{name}` must be 1-D class labels; got shape {labels.shape}.")
    if labels.dtype.kind == "f":
        _check_finite(labels, name)
        if np.any(labels != np.floor(labels)):
            raise ValueError(
                f"`{name}` must be class labels; got numbers with a fraction such as "
                f"{labels[labels != np.floor(labels)][0]:g}. Use ShiftRidgeCV for regression."
            )
    if labels.dtype == object and any(label is None or label != label for label in labels):
        raise ValueError(f"`{name}` must not miss labels. Drop those rows first.")
    return labels


def check_row_weights(weights: Any, n: int, name: str, /) -> np.ndarray:
    """Return n weights, finite and not negative; all of them may be zero."""
    checked = _check_length(_numbers(weights, name), n, name)
    if checked.ndim != 1:
        raise ValueError(f"`{name}` must be 1-D, one per row; got shape {checked.shape}.")
    _check_finite(checked, name)
    if np.any(checked < 0):
        raise ValueError(
            f"`{name}` must not be negative; {np.count_nonzero(checked < 0)} are. "
            "Weights are density ratios: clip them at 0 or fit them again."
        )
    return checked


def _present(y: Any, name: str) -> Any:
    if y is None:
        raise ValueError(
            f"`{name}` is missing: the source needs labels. Yield pairs (X, y), or name the "
            "label column."
        )
    return y


def _check_length(values: np.ndarray, n: int, name: str) -> np.ndarray:
    if values.ndim == 0 or values.shape[0] != n:
        got = values.shape[0] if values.ndim else "a single number"
        raise ValueError(
            f"`{name}` must have one entry for each of the {n} rows of X; got {got}. "
            "Pass features and labels of the same rows."
        )
    return values


def _numbers(values: Any, name: str) -> np.ndarray:
    """Real numbers of any dtype, in double precision; text and objects are refused."""
    array = check_real(values, name) if _is_masked(values) else np.asarray(values)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if hasattr(values, "dtypes") and hasattr(values, "to_numpy"):
        # Nullable columns of a data frame are numbers too, but NumPy makes objects of them.
        kinds = np.atleast_1d(np.asarray(values.dtypes, dtype=object))
        if all(getattr(kind, "kind", "O") in "fiub" for kind in kinds):
            numbers: np.ndarray = values.to_numpy(dtype=np.float64, na_value=np.nan)
            return numbers
    raise ValueError(
        f"`{name}` must be numeric; got dtype {array.dtype}. Encode text and categories first."
    )


def _is_masked(values: Any) -> bool:
    return isinstance(values, np.ma.MaskedArray)


def _check_finite(values: np.ndarray, name: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return
    bad = np.count_nonzero(~np.isfinite(values))
    if bad:
        raise ValueError(
            f"`{name}` must be finite; {bad} of its {values.size} values are NaN or infinite. "
            "Drop or impute those rows first."
        )
