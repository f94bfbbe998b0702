"""Input checks at the public edge, and the messages they give.

Every message names the parameter, the requirement, what came, and the remedy. Inner functions
trust their inputs, so nothing here runs inside a loop.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, as_float_arrays, is_array, real_values
from counterpoise._threads import in_threads, row_slices
from counterpoise.exceptions import InputError as InputError

#: Losses beyond this are refused: their squares, weighted and summed, would overflow.
LARGEST_LOSS = 1e100
# The largest weight must be between these: weighted losses of any allowed size can be squared and
# weighted again. No normalised weights, with a largest value from 1 to n, leave the range.
_WEIGHT_SIZES = (1e-30, 1e30)
# Rows that are compared side by side: reductions over short rows are slow.
_SIDE_BY_SIDE = 64


def check_number(
    value: Any,
    name: str,
    /,
    *,
    low: float | None = None,
    high: float | None = None,
    closed: str = "neither",
    integer: bool = False,
    remedy: str = "",
) -> Any:
    """Return `value` if it is a real number (or an integer) inside the stated range.

    `closed` says which ends belong to the range: "neither", "low", "high" or "both".
    """
    kind = Integral if integer else Real
    allowed, limits = isinstance(value, kind) and not isinstance(value, bool), []
    if low is not None:
        least = closed in ("low", "both")
        limits.append(f"{'at least' if least else 'above'} {low:g}")
        allowed = allowed and (value >= low if least else value > low)
    if high is not None:
        most = closed in ("high", "both")
        limits.append(f"{'at most' if most else 'below'} {high:g}")
        allowed = allowed and (value <= high if most else value < high)
    if not allowed:
        noun = "an integer" if integer else "a number"
        requirement = " ".join([noun, " and ".join(limits)]).strip()
        raise InputError(f"`{name}` must be {requirement}; got {value!r}. {remedy}".strip())
    return value


def check_choice(value: Any, name: str, choices: Any, /) -> Any:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"`{name}` must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def check_finite(xp: Namespace, values: Array, name: str, remedy: str, /) -> None:
    """Refuse NaN and infinity, saying how many there are."""
    # A sum is one pass without a temporary, and not finite if any entry is not; only then (or on
    # overflow) is it worth looking closer.
    with np.errstate(over="ignore", invalid="ignore"):
        if bool(xp.isfinite(xp.sum(values))):
            return
    bad = int(xp.sum(xp.astype(~xp.isfinite(values), xp.int64)))
    if bad:
        raise ValueError(
            f"`{name}` must be finite; {bad} of its {math.prod(values.shape)} values are NaN or "
            f"infinite. {remedy}"
        )


def check_real(values: Any, name: str, /) -> Array:
    """Return values as an array, refusing masked entries, complex numbers, dates and text."""
    try:
        return real_values(values)
    except ValueError as error:
        raise InputError(
            f"`{name}` must hold real numbers, none of them masked; got "
            f"{type(values).__name__}: {error}. Drop masked samples, or pass numbers."
        ) from error


def refuse_column(shape: tuple[int, ...], name: str, /) -> None:
    """Refuse a column of samples, which would be read as many data sets of one sample."""
    if len(shape) > 1 and shape[-1] == 1 and shape[-2] > 1:
        raise ValueError(
            f"`{name}` has its samples on the last axis, but came with shape {shape}: a column "
            f"would be read as {shape[-2]} data sets of one sample. Pass {name}[..., 0] instead."
        )


def check_weights(weights: Any, /, *, name: str = "weights", n: int | None = None) -> Array:
    """Return weights (..., n) as a floating array: finite, not negative, not all zero."""
    xp, (weights,) = as_float_arrays(check_real(weights, name))
    if weights.ndim == 0 or weights.shape[-1] == 0:
        raise ValueError(
            f"`{name}` must hold one weight per sample; got shape {tuple(weights.shape)}. "
            "Pass an array of target-over-source ratios with the samples on the last axis."
        )
    refuse_column(weights.shape, name)
    if n is not None and weights.shape[-1] != n:
        raise ValueError(
            f"`{name}` has {weights.shape[-1]} values on its last axis, but there are {n} samples. "
            "Pass one weight per source row, in the same order."
        )
    check_ratios(xp, weights, name)
    if bool(xp.any(xp.max(weights, axis=-1) == 0)):
        raise ValueError(
            f"`{name}` must not all be zero: then no source sample says anything about the target. "
            "Check that source and target overlap."
        )
    return weights


def check_ratios(xp: Namespace, weights: Array, name: str, /) -> None:
    """Refuse weights that are not finite or below zero: of all rows, or of a block of them."""
    check_finite(xp, weights, name, "Check the density ratio for an overflow or a division by 0.")
    smallest = float(xp.min(weights))
    if smallest < 0:
        negative = int(xp.sum(xp.astype(weights < 0, xp.int64)))
        raise ValueError(
            f"`{name}` must not be negative; {negative} are (smallest {smallest:g}). "
            "Weights are density ratios: clip them at 0 or fit them again."
        )


def check_weight_size(least: float, most: float, name: str, /) -> None:
    """Refuse weights whose largest value, `least` to `most` in several sets, cannot be squared."""
    low, high = _WEIGHT_SIZES
    if not (least >= low and most <= high):
        raise InputError(
            f"`{name}` must have a largest value between {low:g} and {high:g}: density ratios "
            f"have mean 1 over the source; got {least if least < low else most:g}. Normalise them "
            "in logs: n * numpy.exp(log_w - scipy.special.logsumexp(log_w))."
        )


def check_loss_size(largest: float, name: str, /) -> None:
    """Refuse losses, the largest of this size, whose squares overflow or vanish."""
    if largest > LARGEST_LOSS or 0 < largest < 1 / LARGEST_LOSS:
        raise InputError(
            f"`{name}` must be between {1 / LARGEST_LOSS:g} and {LARGEST_LOSS:g} in size; the "
            f"largest is {largest:g}. Check the predictions, or divide labels and predictions by a "
            "constant."
        )


def check_losses_and_weights(losses: Any, weights: Any, /) -> tuple[Namespace, Array, Array]:
    """Return losses (..., n) and weights (n,) or (..., n), in one library and dtype."""
    xp, (losses, weights) = as_float_arrays(
        check_real(losses, "losses"), check_real(weights, "weights")
    )
    if losses.ndim == 0 or losses.shape[-1] == 0:
        raise ValueError(
            f"`losses` must hold one loss per sample; got shape {tuple(losses.shape)}. "
            "Pass an array with the samples on the last axis."
        )
    refuse_column(losses.shape, "losses")
    weights = check_weights(weights, n=losses.shape[-1])
    batch, axes = weights.shape[:-1], losses.shape[:-1]
    pairs = zip(axes[::-1], batch[::-1], strict=False)
    if len(batch) > len(axes) or any(own not in (1, size) for size, own in pairs):
        raise ValueError(
            f"`weights` has leading axes {tuple(batch)}, `losses` has {tuple(axes)}. "
            "Pass weights of shape (n,), or with leading axes that broadcast to those of losses."
        )
    check_finite(xp, losses, "losses", "Drop or impute those samples, or check the predictions.")
    check_loss_size(float(xp.max(xp.abs(losses))), "losses")
    largest = xp.max(weights, axis=-1)
    check_weight_size(float(xp.min(largest)), float(xp.max(largest)), "weights")
    return xp, losses, weights


def check_matrix(X: Any, name: str, /, *, min_rows: int = 1, batch: bool = False) -> Array:
    """Return a floating (n, D) array, finite and not empty; with `batch`, (..., n, D)."""
    return _matrix_and_sizes(X, name, min_rows, batch)[0]


def _matrix_and_sizes(X: Any, name: str, min_rows: int, batch: bool = False) -> tuple[Array, Array]:
    """Return the array of `check_matrix`, and the largest size (D,) of a value in each column."""
    try:
        xp, (X,) = as_float_arrays(X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must be numeric; got {type(X).__name__} that does not convert to numbers "
            f"({error}). Encode text and categories first."
        ) from error
    if X.ndim < 2 or (X.ndim > 2 and not batch):
        raise ValueError(
            f"`{name}` must be a 2-D array of shape (rows, features); got shape {tuple(X.shape)}. "
            f"Reshape one feature with {name}.reshape(-1, 1)."
        )
    rows, features = X.shape[-2:]
    if rows < min_rows or features < 1:
        raise ValueError(
            f"`{name}` must have at least {min_rows} row{'s' * (min_rows > 1)} and 1 feature; "
            f"got shape {tuple(X.shape)}. Pass more data."
        )
    check_finite(xp, X, name, "Drop or impute those rows first.")
    largest = _largest_in_columns(xp, X)
    _check_feature_size(xp, largest, X, name, small=False)
    return X, largest


def _largest_in_columns(xp: Namespace, X: Array) -> Array:
    """Largest size (D,) of a value in each column of (..., n, D)."""
    rest = X.shape[0] % _SIDE_BY_SIDE
    if X.ndim == 2 and X.shape[0] > 2 * _SIDE_BY_SIDE:
        folded = xp.reshape(X[rest:, :], (-1, _SIDE_BY_SIDE * X.shape[1]))

        def ends(rows: slice) -> Array:
            both = (end(folded[rows, :], axis=0) for end in (xp.max, xp.min))
            return xp.reshape(xp.concat(list(both)), (-1, X.shape[1]))

        X = xp.concat([X[:rest, :], *in_threads(ends, row_slices(folded), X)])
    largest = xp.maximum(xp.max(X, axis=-2), -xp.min(X, axis=-2))
    return largest if largest.ndim == 1 else xp.max(xp.reshape(largest, (-1, X.shape[-1])), axis=0)


def _check_feature_size(xp: Namespace, largest: Array, X: Array, name: str, *, small: bool) -> None:
    """Refuse columns whose squares overflow or, with `small`, underflow to nothing."""
    most = 1e150 if X.dtype == xp.float64 else 1e15
    bad = largest > most
    if small:
        bad = bad | ((largest < 1 / most) & (largest > 0))
    if not bool(xp.any(bad)):
        return
    column = int(xp.argmax(xp.astype(bad, xp.int64)))
    remedy = "" if X.dtype == xp.float64 else ", or convert to float64"
    raise InputError(
        f"`{name}` must have columns whose largest value is between {1 / most:g} and {most:g} in "
        f"size; that of column {column} is {float(largest[column]):g}. Rescale the column{remedy}."
    )


def check_domains(
    X_source: Any, X_target: Any, /, *, min_rows: int = 1, batch: bool = False
) -> tuple[Namespace, Array, Array]:
    """Return the two samples as floating matrices with the same columns; with `batch`, many."""
    X_target = match_columns(X_source, X_target)
    X_source, of_source = _matrix_and_sizes(X_source, "X_source", min_rows, batch)
    X_target, of_target = _matrix_and_sizes(X_target, "X_target", min_rows, batch)
    check_same_width(X_target, X_source.shape[-1], "X_target", "X_source")
    xp, (X_source, X_target, *sizes) = as_float_arrays(X_source, X_target, of_source, of_target)
    _check_feature_size(xp, xp.maximum(*sizes), X_source, "X_source", small=True)
    return xp, X_source, X_target


def check_labels(y: Any, /, *, numeric: bool = False) -> None:
    """Refuse missing labels, and numbers and text together; with `numeric`, any text.

    Looks at lists and at arrays of objects; numbers and texts of one type pass.
    """
    masked = int(np.sum(np.ma.getmaskarray(y))) if isinstance(y, np.ma.MaskedArray) else 0
    values = np.asarray(y) if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    if masked:
        raise ValueError(
            f"`y` must have a label in every row; {masked} of {values.size} are masked. Drop those "
            "rows."
        )
    if values.dtype.kind == "c" or (numeric and values.dtype.kind in "mM"):
        check_real(values, "y")
    bad = np.sum(~np.isfinite(values)) if values.dtype.kind == "f" else 0
    if bad:
        raise ValueError(
            f"`y` must be finite in every row; {bad} of {values.size} labels are NaN or infinite "
            "(inf). Drop those rows."
        )
    if values.dtype.kind not in "OUS" or values.ndim != 1:
        return
    found = values.tolist()
    text = next((v for v in found if isinstance(v, str | bytes)), None)
    missing = sum(map(is_missing, found))
    # NaN among numbers is refused with infinity, elsewhere.
    if missing and not all(isinstance(v, Real) for v in found):
        raise ValueError(
            f"`y` must have a label in every row; {missing} of {len(found)} are missing (None or "
            "NaN). Drop those rows."
        )
    number = next((v for v in found if isinstance(v, Real)), None)
    if text is not None and number is not None:
        raise ValueError(
            f"`y` must hold labels of one kind; got the number {number!r} and the text {text!r}. "
            "Pass numbers only, or text only: numpy.asarray(y).astype(str)."
        )
    if numeric and text is not None:
        raise ValueError(
            f"`y` must hold numbers for a regression; got the text {text!r}. Pass numbers, or "
            "use a classifier."
        )


def check_label_size(y: np.ndarray, /) -> None:
    """Refuse numbers whose squares overflow, or underflow to nothing."""
    largest = float(np.max(np.abs(y), initial=0.0)) if y.dtype.kind == "f" else 0.0
    if largest > 1e40 or 0 < largest < 1e-40:
        raise InputError(
            "`y` must have a largest value between 1e-40 and 1e+40 in size, so that squared losses "
            f"can be squared; got {largest:g}. Multiply the labels by a constant."
        )


def is_missing(label: Any, /) -> bool:
    """Tell None, NaN and pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA cannot be compared
        return True


def match_columns(X_source: Any, X_target: Any, /) -> Any:
    """Return the target with its columns in the order of the source, matched by name.

    Only two data frames have names to match; anything else is returned as it is.
    """
    return reorder(feature_names(X_source), X_target, "X_target", exact=True)


def reorder(columns: list[str] | None, X: Any, name: str, /, *, exact: bool = False) -> Any:
    """Return these columns of a data frame, in this order; anything else as it is.

    Other columns are left out, unless the match must be exact.
    """
    names = feature_names(X)
    if columns is None or names is None or columns == names:
        return X
    missing = [column for column in columns if column not in names]
    extra = [column for column in names if column not in columns]
    if missing or (exact and extra):
        raise ValueError(
            f"`{name}` must have the columns {columns}; it lacks {missing} and adds {extra}. "
            "Pass the same columns, in any order."
        )
    return X[columns]


def check_same_width(X: Array, width: int, name: str, other: str, /) -> None:
    """Refuse a sample whose number of features differs from that of the other sample."""
    if X.shape[-1] != width:
        raise ValueError(
            f"`{name}` has {X.shape[-1]} features, `{other}` has {width}. "
            "Pass the same columns in the same order."
        )


def feature_names(X: Any, /) -> list[str] | None:
    """Return the column names of a data frame, or None for arrays."""
    columns = getattr(X, "columns", None)
    return None if columns is None or is_array(X) else list(columns)
