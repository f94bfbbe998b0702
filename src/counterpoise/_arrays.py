"""Array namespaces and devices: the only module that knows other array libraries exist.

Everything numerical in the project is written once, against the array API standard, and runs on
whatever array library the caller's data comes from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace as _array_namespace
from array_api_compat import device as device
from array_api_compat import is_numpy_array as is_numpy_array
from array_api_compat import is_numpy_namespace as is_numpy_namespace
from array_api_compat import is_torch_namespace as is_torch_namespace
from array_api_compat import numpy as numpy_namespace

# The standard has no common base class to annotate with.
Array = Any
Namespace = Any


def array_namespace(*arrays: Any) -> Namespace:
    """Return the array API namespace of the arrays; fast for NumPy arrays."""
    if all(type(array) is np.ndarray for array in arrays):
        return numpy_namespace
    return _array_namespace(*arrays)


def is_array(value: object, /) -> bool:
    """Tell whether `value` is an array of a library that follows the standard."""
    if type(value) is np.ndarray:
        return True
    try:
        array_namespace(value)
    except TypeError:
        return False
    return True


def as_float(value: Any, /, *, like: Array | None = None) -> Array:
    """Return `value` as a real floating array; lists become NumPy arrays.

    Floating dtypes are kept (float32 stays float32); integers and booleans become `like`'s
    floating dtype, or float64. With `like`, the result lives in its library and on its device.
    What is no real number (see `real_values`) is a ValueError.
    """
    value = real_values(value)
    if like is not None:
        xp = array_namespace(like)
        if array_namespace(value) is not xp:
            value = xp.asarray(value, device=device(like))
    xp = array_namespace(value)
    if xp.isdtype(value.dtype, "real floating"):
        return value
    return xp.astype(value, xp.float64 if like is None else like.dtype)


def real_values(value: Any, /) -> Array:
    """Return `value` as an array that converts to real numbers without losing anything.

    Masked entries, imaginary parts, dates and text are a ValueError that says what was found: a
    conversion would drop them, or make numbers of them, in silence.
    """
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        return value
    if isinstance(value, np.ma.MaskedArray):
        masked = int(np.sum(np.ma.getmaskarray(value)))
        if masked:
            raise ValueError(f"{masked} of {value.size} entries are masked")
        value = np.ma.getdata(value)
    value = value if is_array(value) else np.asarray(value)
    if not isinstance(value, np.ndarray):
        xp = array_namespace(value)
        if xp.isdtype(value.dtype, "complex floating"):
            raise ValueError("Complex data not supported")
        return value
    found = {"c": "Complex data not supported", "M": "these are dates", "m": "these are time spans"}
    text = value.dtype.kind in "USV"
    if value.dtype.kind == "O":
        text = any(isinstance(entry, str | bytes) for entry in value.ravel())
        try:
            value = value if text else value.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"some entries are no real numbers ({error})") from error
    if text or value.dtype.kind in found:
        raise ValueError("these are texts" if text else found[value.dtype.kind])
    return value


def as_float_arrays(*values: Any) -> tuple[Namespace, list[Array]]:
    """Bring several inputs to one library, device and floating dtype (the widest among them)."""
    if all(type(v) is np.ndarray and v.dtype == np.float64 for v in values):
        return numpy_namespace, list(values)
    first = next((v for v in values if is_array(v) and not is_numpy_array(v)), None)
    arrays = [as_float(v) for v in values]
    if first is not None:
        xp = array_namespace(first)
        arrays = [
            a if array_namespace(a) is xp else xp.asarray(a, device=device(first)) for a in arrays
        ]
    xp = array_namespace(*arrays)
    dtype = xp.result_type(*(a.dtype for a in arrays))
    return xp, [xp.astype(a, dtype, copy=False) for a in arrays]


def to_numpy(value: Array, /) -> np.ndarray:
    """Copy an array of any library, from any device, to NumPy."""
    if isinstance(value, np.ndarray):
        return value
    if is_array(value) and is_torch_namespace(array_namespace(value)):
        value = value.detach().cpu()
    return np.asarray(value)


def on_cpu(value: Array, /) -> bool:
    """Tell whether an array lives in the CPU's memory."""
    return "cpu" in str(device(value)).lower()


def free_memory(value: Array, /) -> int | None:
    """Bytes that can still be allocated where an array lives; None where that is not known.

    What PyTorch holds in reserve counts as free. Always None on a CPU.
    """
    if on_cpu(value) or not is_torch_namespace(array_namespace(value)):
        return None
    import torch

    place = device(value)
    if place.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(place)
    return int(free + torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place))


def exclusive_sum(values: Array, /, *, axis: int = -1) -> Array:
    """Sum of all entries along `axis` except the one at each position.

    Adds the entries before and after instead of subtracting the entry from the total: where one
    entry dwarfs the rest, that difference would have no correct digit left.
    """
    if isinstance(values, np.ndarray) and axis == -1:
        lower, upper = np.empty_like(values), np.empty_like(values)
        lower[..., :1] = upper[..., -1:] = 0
        values[..., :-1].cumsum(axis=-1, out=lower[..., 1:])
        values[..., :0:-1].cumsum(axis=-1, out=upper[..., -2::-1])
        lower += upper
        return lower
    xp = array_namespace(values)
    if axis != -1:
        return xp.moveaxis(exclusive_sum(xp.moveaxis(values, axis, -1)), -1, axis)

    def before(values: Array) -> Array:
        return xp.cumulative_sum(values, axis=-1, include_initial=True)[..., :-1]

    return before(values) + xp.flip(before(xp.flip(values, axis=-1)), axis=-1)


def as_index(rows: np.ndarray, like: Array, /) -> Array:
    """Row numbers as an index array of `like`'s library, on its device."""
    return array_namespace(like).asarray(rows.astype(np.int64), device=device(like))


def take_rows(X: Array, rows: np.ndarray, /) -> Array:
    """Rows of X (n, D) by their numbers."""
    return array_namespace(X).take(X, as_index(rows, X), axis=0)


def take_columns(X: Array, columns: np.ndarray, /) -> Array:
    """Columns of X (..., D) by their numbers, in ascending order."""
    if columns.shape[0] == X.shape[-1]:
        return X
    return array_namespace(X).take(X, as_index(columns, X), axis=-1)


def sort_rows(X: Array, /) -> Array:
    """Rows of X (n, D) in lexicographic order."""
    return take_rows(X, np.lexsort(to_numpy(X).T[::-1]))


def effective_rows(weights: Array, /) -> Array:
    """Return (sum w)^2 / sum w^2 over the last axis of weights (..., n), as (...).

    As many rows with equal weights give a mean the same variance. It is 0 where all weights are 0.
    """
    xp = array_namespace(weights)
    squares = xp.sum(weights**2, axis=-1)
    return xp.sum(weights, axis=-1) ** 2 / xp.where(squares > 0, squares, xp.ones_like(squares))


def as_scalar(value: Any, /) -> Any:
    """Return a NumPy scalar as a float, and arrays as they are."""
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return float(value)
    return value
