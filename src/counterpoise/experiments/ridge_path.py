"""Quadratic forms along the ridge path: the one heavy step of the Monte Carlo.

For squared loss a risk, estimated or true, is u'Qu with u = (theta, -1), theta the ridge solution
and Q a matrix of second moments of the rows a = (x, 1, y). One eigendecomposition of the training
Gram matrix gives theta for every penalty. The products of the entries of u, times the packed
forms, are then one matrix product per data set. `path_forms` does that for a batch of data sets,
folds and forms at once.

Symmetric matrices are packed: the q (q + 1)/2 entries i <= j, row by row, with the target column
(y) last. On NumPy arrays a compiled loop takes over if Numba is installed; both give the same
numbers to rounding.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    free_memory,
    is_numpy_array,
    is_torch_namespace,
    on_cpu,
)

__all__ = ["library", "pack_outer", "path_forms", "unpack"]

# Entries (not bytes) of the largest array that a CPU works on at once.
_CACHED = 2**17
# Matrices that an accelerator decomposes in one call: its library asks for half a megabyte of
# work space for each, however small, and fails outright between 25 000 and 100 000.
_EIGEN_BATCH, _EIGEN_BYTES = 2**15, 2**22


def pack_outer(rows: Array, /) -> Array:
    """Return the packed outer products a a' of rows (..., n, q), as (..., n, P)."""
    xp = array_namespace(rows)
    parts = [rows[..., i : i + 1] * rows[..., i:] for i in range(rows.shape[-1])]
    return xp.concat(parts, axis=-1)


def unpack(packed: Array, q: int, /) -> Array:
    """Return symmetric matrices (..., q, q) from packed ones (..., P)."""
    xp = array_namespace(packed)
    place = np.zeros((q, q), dtype=np.int64)
    i, j = np.triu_indices(q)
    place[i, j] = place[j, i] = np.arange(len(i))
    index = xp.asarray(place.ravel(), device=device(packed))
    return xp.reshape(xp.take(packed, index, axis=-1), (*packed.shape[:-1], q, q))


def library(device_name: str = "cpu", /) -> str:
    """Name what computes the path: "numba" or "numpy" on a CPU, "torch" elsewhere."""
    if device_name != "cpu":
        return "torch"
    return "numpy" if _compiled() is None else "numba"


@cache
def _compiled() -> Any:
    if importlib.util.find_spec("numba") is None:
        return None
    from counterpoise.experiments.compiled_path import path_forms_kernel

    return path_forms_kernel


def path_forms(training: Array, forms: Array, alphas: Array, /, *, compiled: bool = True) -> Array:
    """Sum over folds of the forms u'Qu along the ridge path of each fold's training rows.

    `training` (R, K, P) holds the packed second moments sum w a a' of the training rows, `forms`
    (R, K, M, P) the packed matrices Q. `compiled` allows the compiled loop.

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
    >>> from counterpoise.experiments.ridge_path import pack_outer, path_forms
    >>> rows = np.array([[1.0, 1.0], [1.0, 3.0]])
    >>> moments = pack_outer(rows).sum(axis=0)
    >>> path_forms(moments[None, None], moments[None, None, None], np.array([0.0, 2.0]))
    array([[[2., 4.]]])
    """
    loop = _compiled() if compiled and is_numpy_array(training) else None
    if loop is not None:
        return loop(*(np.ascontiguousarray(a) for a in (training, forms, alphas)))
    xp = array_namespace(training, forms, alphas)
    R, K, M, P = forms.shape
    q = int((np.sqrt(8 * P + 1) - 1) / 2 + 0.5)
    L = alphas.shape[0]
    moments = unpack(training, q)
    values, vectors = _eigh(moments[..., :-1, :-1])
    # Rounding can leave a null direction slightly negative.
    values = xp.clip(values, 0, None)[..., None]
    rotated = xp.linalg.matrix_transpose(vectors) @ moments[..., :-1, -1:]
    evaluate = _one_form if M == 1 else _many_forms
    # On a CPU as many data sets at once as stay in its cache.
    step = max(1, _CACHED // (K * (q if M == 1 else P) * L)) if on_cpu(training) else R
    results = []
    for part in _slices(R, step):
        shrunk = rotated[part, ...] / (values[part, ...] + alphas)  # (step, K, d, L)
        results.append(evaluate(xp, forms[part, ...], vectors[part, ...], shrunk))
    return xp.concat(results, axis=0)


def _one_form(xp: Namespace, forms: Array, vectors: Array, shrunk: Array) -> Array:
    """Evaluate one form in the eigenbasis, t'Qt - 2 Q_y't + Q_yy: (R, 1, L).

    A product with a matrix per fold takes less time than the products of all pairs of entries.
    """
    R, K, d, L = shrunk.shape
    form = unpack(forms[:, :, 0, :], d + 1)
    back = xp.linalg.matrix_transpose(vectors)
    half = (back @ form[..., :-1, :-1] @ vectors) @ shrunk
    half -= 2 * (back @ form[..., :-1, -1:])
    half *= shrunk
    constant = xp.sum(form[..., -1, -1], axis=1)[:, None]
    return (xp.sum(xp.reshape(half, (R, K * d, L)), axis=1) + constant)[:, None, :]


def _many_forms(xp: Namespace, forms: Array, vectors: Array, shrunk: Array) -> Array:
    """Evaluate forms (R, K, M, P) by the products of the entries of u = (theta, -1): (R, M, L)."""
    R, K, M, P = forms.shape
    d, L = shrunk.shape[-2:]
    i, j = np.triu_indices(d + 1)
    doubled = np.where(i == j, 1.0, 2.0)  # an entry off the diagonal stands for two
    factor = xp.asarray(doubled, dtype=forms.dtype, device=device(forms))
    coefficients = xp.reshape(xp.permute_dims(forms * factor, (0, 2, 3, 1)), (R, M, P * K))
    # Folds and penalties are one axis: passes over long contiguous axes are the fast ones.
    theta = xp.permute_dims(_rotated_back(vectors, shrunk), (0, 2, 1, 3))
    theta = xp.reshape(theta, (R, d, K * L))
    # The largest array of all: filled in place, not put together from parts.
    products = xp.empty((R, P, K * L), dtype=forms.dtype, device=device(forms))
    start = 0
    for k in range(d):
        stop = start + d - k
        _multiply_into(xp, products[:, start:stop, :], theta[:, k : k + 1, :], theta[:, k:, :])
        products[:, stop, :] = -theta[:, k, :]
        start = stop + 1
    products[:, start, :] = 1.0
    return coefficients @ xp.reshape(products, (R, P * K, L))


def _multiply_into(xp: Namespace, out: Array, a: Array, b: Array) -> None:
    """Write a product into an array, without a temporary where the library can."""
    if is_numpy_array(out) or is_torch_namespace(xp):
        xp.multiply(a, b, out=out)
    else:
        out[...] = a * b


def _slices(length: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]


def _rotated_back(vectors: Array, shrunk: Array) -> Array:
    """Product of (..., d, d) and (..., d, L)."""
    d = vectors.shape[-1]
    if on_cpu(vectors) or d > 4:
        return vectors @ shrunk
    # An accelerator's matrix product wants larger matrices: sums are twice as fast here.
    total = vectors[..., :, :1] * shrunk[..., :1, :]
    for k in range(1, d):
        total = total + vectors[..., :, k : k + 1] * shrunk[..., k : k + 1, :]
    return total


def _eigh(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of symmetric matrices (..., d, d), in portions on accelerators."""
    xp = array_namespace(matrices)
    if on_cpu(matrices):
        values, vectors = xp.linalg.eigh(matrices)
        return values, vectors
    flat = xp.reshape(matrices, (-1, *matrices.shape[-2:]))
    free = free_memory(matrices)
    step = _EIGEN_BATCH if free is None else max(256, min(_EIGEN_BATCH, free // _EIGEN_BYTES))
    found = [xp.linalg.eigh(flat[part, ...]) for part in _slices(flat.shape[0], step)]
    values, vectors = (xp.concat(list(part), axis=0) for part in zip(*found, strict=True))
    return xp.reshape(values, matrices.shape[:-1]), xp.reshape(vectors, matrices.shape)
