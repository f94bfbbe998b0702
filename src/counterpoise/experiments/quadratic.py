"""Quadratic forms along the ridge path: the one heavy step of the Monte Carlo.

For squared loss a risk, estimated or true, is u'Qu with u = (theta, -1), theta the ridge solution
and Q a matrix of second moments of the rows a = (x, 1, y). One eigendecomposition of the training
Gram matrix gives theta for every penalty, and a form costs a few products per penalty. `path_forms`
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

from counterpoise._arrays import (
    Array,
    array_namespace,
    device,
    free_memory,
    is_numpy_array,
    is_torch_namespace,
    on_cpu,
)

__all__ = ["backend", "pack_outer", "packed_index", "path_forms", "unpack"]

# Data sets whose path is expanded at once by the array version on a CPU (entries, not bytes).
_EXPANDED = 2**18
# Matrices that an accelerator decomposes in one call: its library asks for half a megabyte of
# work space for each, however small, and fails outright between 25 000 and 100 000.
_EIGEN_BATCH, _EIGEN_BYTES = 2**15, 2**22


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
    if on_cpu(training):
        step = max(1, min(step, _EXPANDED // per_set))
    parts = [
        _expand(training[part, ...], forms[part, ...], alphas)
        for part in _slices(training.shape[0], step)
    ]
    return xp.concat(parts, axis=0)


def _slices(length: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]


def _expand(training: Array, forms: Array, alphas: Array) -> Array:
    """All penalties at once: the products of the entries of u, times the forms."""
    xp = array_namespace(training, forms, alphas)
    R, K, M, P = forms.shape
    q = _side(P)
    d = q - 1
    moments = unpack(training, q)
    values, vectors = _eigh(moments[..., :d, :d])
    rotated = xp.linalg.matrix_transpose(vectors) @ moments[..., :d, d:]
    # Rounding can leave a null direction slightly negative.
    shrunk = rotated / (xp.clip(values, 0, None)[..., None] + alphas)  # (R, K, d, L)
    products = _products(_rotated_back(vectors, shrunk))
    i, j = packed_index(q)
    doubled = np.where(i == j, 1.0, 2.0)  # an entry off the diagonal stands for two
    factor = xp.asarray(doubled, dtype=forms.dtype, device=device(forms))
    coefficients = xp.reshape(xp.permute_dims(forms * factor, (0, 2, 1, 3)), (R, M, K * P))
    return coefficients @ xp.reshape(products, (R, K * P, -1))


def _products(theta: Array) -> Array:
    """Packed products of the entries of u = (theta, -1), for theta (..., d, L): (..., P, L)."""
    xp = array_namespace(theta)
    *batch, d, L = theta.shape
    if not is_torch_namespace(xp):
        u = xp.concat([theta, -xp.ones_like(theta[..., :1, :])], axis=-2)
        return xp.concat([u[..., k : k + 1, :] * u[..., k:, :] for k in range(d + 1)], axis=-2)
    # The largest array of all: written in place, not put together from parts.
    shape = (*batch, (d + 1) * (d + 2) // 2, L)
    products = xp.empty(shape, dtype=theta.dtype, device=device(theta))
    start = 0
    for k in range(d):
        stop = start + d - k
        own = products[..., start:stop, :]
        xp.multiply(theta[..., k : k + 1, :], theta[..., k:, :], out=own)
        products[..., stop, :] = -theta[..., k, :]
        start = stop + 1
    products[..., start, :] = 1.0
    return products


def _rotated_back(vectors: Array, shrunk: Array) -> Array:
    """Product of (..., d, d) and (..., d, L)."""
    d = vectors.shape[-1]
    if on_cpu(vectors) or d > 4:
        return vectors @ shrunk
    # Matrix units want larger matrices: sums over so few entries are twice as fast.
    total = vectors[..., :, :1] * shrunk[..., :1, :]
    for k in range(1, d):
        total = total + vectors[..., :, k : k + 1] * shrunk[..., k : k + 1, :]
    return total


def _eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of symmetric matrices (..., d, d), in portions on accelerators."""
    xp = array_namespace(matrices)
    if on_cpu(matrices):
        return xp.linalg.eigh(matrices)
    flat = xp.reshape(matrices, (-1, *matrices.shape[-2:]))
    free = free_memory(matrices)
    step = _EIGEN_BATCH if free is None else max(256, min(_EIGEN_BATCH, free // _EIGEN_BYTES))
    found = [xp.linalg.eigh(flat[part, ...]) for part in _slices(flat.shape[0], step)]
    values, vectors = (xp.concat(list(part), axis=0) for part in zip(*found, strict=True))
    return xp.reshape(values, matrices.shape[:-1]), xp.reshape(vectors, matrices.shape)


def _side(P: int) -> int:
    return int((np.sqrt(8 * P + 1) - 1) / 2 + 0.5)


@cache
def _numba_kernel() -> Any:
    if importlib.util.find_spec("numba") is None:
        return None
    from counterpoise.experiments._numba_kernel import path_forms_kernel

    return path_forms_kernel
