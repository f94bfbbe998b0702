"""Quadratic forms along the ridge path: the one heavy step of the Monte Carlo.

For squared loss a risk, estimated or true, is u'Qu with u = (theta, -1), theta the ridge solution
and Q a matrix of second moments of the rows a = (x, 1, y). In the eigenbasis of the training Gram
matrix theta is diagonal in the penalty, so a form costs a few products per penalty. `path_forms`
does that for a batch of data sets, folds and forms at once.

Symmetric matrices are packed: the q (q + 1)/2 entries i <= j, row by row, with the target column
(y) last. On NumPy arrays a Numba kernel takes over where Numba is installed: it keeps the path of
one data set in the first-level cache, where array passes go through memory. Both give the same
numbers to rounding.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace, device, is_numpy_array

__all__ = ["backend", "pack_outer", "packed_index", "path_forms", "unpack"]

# Data sets whose path is expanded at once by the array version on a CPU (entries, not bytes).
_EXPANDED = 2**18


def packed_index(q: int, /) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the packed entries of a symmetric (q, q) matrix."""
    return np.triu_indices(q)


def pack_outer(rows: Array, /) -> Array:
    """Return the packed outer products a a' of rows (..., n, q), as (..., n, P)."""
    xp = array_namespace(rows)
    parts = [rows[..., i : i + 1] * rows[..., i:] for i in range(rows.shape[-1])]
    return xp.concat(parts, axis=-1)


def unpack(packed: Array, q: int, /) -> Array:
    """Return symmetric matrices (..., q, q) from packed ones (..., P)."""
    xp = array_namespace(packed)
    place = np.zeros((q, q), dtype=np.int64)
    i, j = packed_index(q)
    place[i, j] = place[j, i] = np.arange(len(i))
    index = xp.asarray(place.ravel(), device=device(packed))
    return xp.reshape(xp.take(packed, index, axis=-1), (*packed.shape[:-1], q, q))


def backend(device_name: str = "cpu", /) -> str:
    """Name what computes the path: "numba" or "numpy" on a CPU, "torch" elsewhere."""
    if device_name != "cpu":
        return "torch"
    return "numba" if _numba_kernel() is not None else "numpy"


def path_forms(training: Array, forms: Array, alphas: Array, /, *, numba: bool = True) -> Array:
    """Sum over folds of the forms u'Qu along the ridge path of each fold's training rows.

    Parameters
    ----------
    training : array of shape (R, K, P)
        Packed second moments sum w a a' of the training rows.
    forms : array of shape (R, K, M, P)
        Packed matrices Q.
    alphas : array of shape (L,)
    numba : bool, default=True
        Use the Numba kernel where it is available.

    Returns
    -------
    array of shape (R, M, L)
        sum_k u_k(alpha)' Q_km u_k(alpha), with u = (theta, -1) and
        theta = (sum w (x, 1)(x, 1)' + alpha I)^-1 sum w (x, 1) y.

    Examples
    --------
    One feature-free data set: theta = sum y / (n + alpha), and the form of the rows themselves
    is the sum of squared residuals.

    >>> import numpy as np
    >>> from counterpoise.experiments.quadratic import pack_outer, path_forms
    >>> rows = np.array([[1.0, 1.0], [1.0, 3.0]])
    >>> moments = pack_outer(rows).sum(axis=0)
    >>> path_forms(moments[None, None], moments[None, None, None], np.array([0.0, 2.0]))
    array([[[2., 4.]]])
    """
    kernel = _numba_kernel() if numba and is_numpy_array(training) else None
    if kernel is not None:
        return kernel(*(np.ascontiguousarray(a) for a in (training, forms, alphas)))
    xp = array_namespace(training, forms, alphas)
    per_set = training.shape[1] * training.shape[2] * alphas.shape[0]
    step = training.shape[0]
    if "cpu" in str(device(training)).lower():
        step = max(1, min(step, _EXPANDED // per_set))
    parts = [
        _expand(training[part, ...], forms[part, ...], alphas)
        for part in _slices(training.shape[0], step)
    ]
    return xp.concat(parts, axis=0)


def _slices(length: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]


def _expand(training: Array, forms: Array, alphas: Array) -> Array:
    """All penalties at once: the products of eigen-coordinates, times the rotated forms."""
    xp = array_namespace(training, forms, alphas)
    R, K, M, P = forms.shape
    q = _side(P)
    d = q - 1
    moments = unpack(training, q)
    values, vectors = xp.linalg.eigh(moments[..., :d, :d])
    rotated = xp.linalg.matrix_transpose(vectors) @ moments[..., :d, d:]
    # Rounding can leave a null direction slightly negative.
    t = rotated / (xp.clip(values, 0, None)[..., None] + alphas)  # (R, K, d, L)
    basis = _extended(vectors)[..., None, :, :]
    turned = xp.linalg.matrix_transpose(basis) @ unpack(forms, q) @ basis
    i, j = packed_index(q)
    flat = xp.reshape(turned, (R, K, M, q * q))
    index = xp.asarray(i * q + j, device=device(forms))
    doubled = np.where(i == j, 1.0, 2.0) * np.where((j == d) & (i < d), -1.0, 1.0)
    factor = xp.asarray(doubled, dtype=forms.dtype, device=device(forms))
    coefficients = xp.take(flat, index, axis=-1) * factor
    t = xp.concat([t, xp.ones_like(t[..., :1, :])], axis=-2)
    products = xp.concat([t[..., k : k + 1, :] * t[..., k:, :] for k in range(q)], axis=-2)
    coefficients = xp.reshape(xp.permute_dims(coefficients, (0, 2, 1, 3)), (R, M, K * P))
    return coefficients @ xp.reshape(products, (R, K * P, -1))


def _extended(vectors: Array) -> Array:
    """Eigenvectors (..., d, d) with the target column left alone: (..., q, q)."""
    xp = array_namespace(vectors)
    zeros = xp.zeros_like(vectors[..., :1])
    wide = xp.concat([vectors, zeros], axis=-1)
    corner = xp.concat(
        [xp.zeros_like(wide[..., :1, :-1]), xp.ones_like(zeros[..., :1, :])], axis=-1
    )
    return xp.concat([wide, corner], axis=-2)


def _side(P: int) -> int:
    return int((np.sqrt(8 * P + 1) - 1) / 2 + 0.5)


@cache
def _numba_kernel() -> Any:
    if importlib.util.find_spec("numba") is None:
        return None
    from counterpoise.experiments._numba_kernel import path_forms_kernel

    return path_forms_kernel
