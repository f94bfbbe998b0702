"""`ridge_path.path_forms` as one loop, compiled by Numba.

It keeps the path of one data set in the first-level cache, where array passes go through memory,
and takes about three quarters of their time. Without Numba the module still imports, and the loop
is plain Python.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

try:
    from numba import njit
except ModuleNotFoundError:

    def njit(**options):
        """Leave the function as it is."""
        return lambda function: function


__all__ = ["njit", "path_forms_kernel"]

_SWEEPS = 30
# Up to this many rows, Jacobi rotations beat the overhead of a call to LAPACK.
_SMALL = 6


@njit(cache=True, nogil=True)
def _eigen(A, V):
    """Diagonalise A in place by cyclic Jacobi rotations, collecting them in V.

    For a handful of rows it is as accurate as LAPACK and without its overhead per call, which
    would dominate.
    """
    d = A.shape[0]
    for i in range(d):
        for j in range(d):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        off = 0.0
        scale = 0.0
        for i in range(d):
            scale += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if off <= 1e-34 * scale:
            return
        for p in range(d - 1):
            for s in range(p + 1, d):
                x = A[p, s]
                if x == 0.0:
                    continue
                ratio = (A[s, s] - A[p, p]) / (2.0 * x)
                t = 1.0 / (abs(ratio) + np.sqrt(ratio * ratio + 1.0))
                if ratio < 0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                sn = t * c
                for i in range(d):
                    a, b = A[i, p], A[i, s]
                    A[i, p] = c * a - sn * b
                    A[i, s] = sn * a + c * b
                for i in range(d):
                    a, b = A[p, i], A[s, i]
                    A[p, i] = c * a - sn * b
                    A[s, i] = sn * a + c * b
                    a, b = V[i, p], V[i, s]
                    V[i, p] = c * a - sn * b
                    V[i, s] = sn * a + c * b
                A[p, s] = 0.0
                A[s, p] = 0.0


@njit(cache=True, nogil=True)
def _unpack(packed, out):
    q = out.shape[0]
    position = 0
    for i in range(q):
        for j in range(i, q):
            out[i, j] = packed[position]
            out[j, i] = packed[position]
            position += 1


@njit(cache=True, nogil=True)
def _rotate(form, V, half, out):
    """V' form V on the leading d columns, the target column turned once."""
    d = V.shape[0]
    for i in range(d):
        for j in range(d + 1):
            total = 0.0
            for k in range(d):
                total += V[k, i] * form[k, j]
            half[i, j] = total
    for i in range(d):
        for j in range(i, d):
            total = 0.0
            for k in range(d):
                total += half[i, k] * V[k, j]
            out[i, j] = total
        out[i, d] = half[i, d]
    out[d, d] = form[d, d]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_products(t, rotated, out):
    """Add the forms at every penalty: one pass over the penalties per product of coordinates."""
    d, L = t.shape
    M = out.shape[0]
    product = np.empty(L)
    for i in range(d):
        for j in range(i, d):
            factor = 1.0 if i == j else 2.0
            for p in range(L):
                product[p] = t[i, p] * t[j, p]
            for m in range(M):
                c = factor * rotated[m, i, j]
                for p in range(L):
                    out[m, p] += c * product[p]
        for m in range(M):
            c = -2.0 * rotated[m, i, d]
            for p in range(L):
                out[m, p] += c * t[i, p]
    for m in range(M):
        c = rotated[m, d, d]
        for p in range(L):
            out[m, p] += c


@njit(cache=True, nogil=True)
def path_forms_kernel(training, forms, alphas):
    """See `ridge_path.path_forms`."""
    R, K, M, P = forms.shape
    L = alphas.shape[0]
    q = int((np.sqrt(8.0 * P + 1.0) - 1.0) / 2.0 + 0.5)
    d = q - 1
    out = np.zeros((R, M, L))
    moments, form, half = np.empty((q, q)), np.empty((q, q)), np.empty((d, q))
    gram, V, t = np.empty((d, d)), np.empty((d, d)), np.empty((d, L))
    rotated, values = np.empty((M, q, q)), np.empty(d)
    for r in range(R):
        for k in range(K):
            _unpack(training[r, k], moments)
            gram[:, :] = moments[:d, :d]
            if d <= _SMALL:
                _eigen(gram, V)
                for i in range(d):
                    values[i] = gram[i, i]
            else:
                values[:], V[:, :] = np.linalg.eigh(gram)
            for i in range(d):
                c = 0.0
                for j in range(d):
                    c += V[j, i] * moments[j, d]
                value = max(values[i], 0.0)
                for p in range(L):
                    t[i, p] = c / (value + alphas[p])
            for m in range(M):
                _unpack(forms[r, k, m], form)
                _rotate(form, V, half, rotated[m])
            _add_products(t, rotated, out[r])
    return out
