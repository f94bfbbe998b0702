"""Losses along the ridge path: the one heavy step of the Monte Carlo.

One eigendecomposition of the training Gram matrix gives the ridge solution for every penalty. The
residuals of some rows at every penalty are then one matrix product, and every risk that is linear
in the losses another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterpoise._arrays import Array, array_namespace, device, on_cpu
from counterpoise._linalg import small_eigh

# Entries (not bytes) of the largest array that a CPU works on at once.
_CACHED = 2**17


@dataclass(frozen=True)
class RidgePaths:
    """Ridge solutions of J training samples in each of R data sets, for any penalty.

    theta = (sum w (x, 1)(x, 1)' + alpha I)^-1 sum w (x, 1) y = V (V'c / (v + alpha)), with the
    eigenvalues v and eigenvectors V of the Gram matrix.

    Examples
    --------
    Without features theta = sum y / (n + alpha); here is the sum of its squared residuals.

    >>> import numpy as np
    >>> from counterpoise.experiments.ridge_path import RidgePaths
    >>> rows = np.array([[1.0, 1.0], [1.0, 3.0]])
    >>> paths = RidgePaths.of((rows.T @ rows)[None, None])
    >>> paths.risks(slice(0, 1), rows[None, None], np.ones((1, 1, 2)), np.array([0.0, 2.0]))
    array([[[2., 4.]]])
    """

    values: Array  # (R, J, d, 1)
    vectors: Array  # (R, J, d, d)
    rotated: Array  # V'c, (R, J, d, 1)

    @classmethod
    def of(cls, moments: Array, /) -> RidgePaths:
        """Return the paths for second moments sum w a a' (R, J, q, q) of rows a = (x, 1, y)."""
        xp = array_namespace(moments)
        values, vectors = small_eigh(moments[..., :-1, :-1])
        rotated = xp.linalg.matrix_transpose(vectors) @ moments[..., :-1, -1:]
        # Rounding can leave a null direction slightly negative.
        return cls(xp.clip(values, 0, None)[..., None], vectors, rotated)

    def risks(self, samples: slice, rows: Array, coefficients: Array, alphas: Array, /) -> Array:
        """Return sums of squared residuals of rows, each times a coefficient: (R, M, L).

        Parameters
        ----------
        samples : slice
            Which K of the training samples.
        rows : array of shape (R, K, m, q)
            The rows a = (x, 1, y) whose losses count, for each of these samples.
        coefficients : array of shape (R, M, K m)
            Of their losses, in each of M risks.
        alphas : array of shape (L,)
        """
        xp = array_namespace(rows)
        R, K, m, q = rows.shape
        L = alphas.shape[0]
        options = {"dtype": rows.dtype, "device": device(rows)}
        vectors = self.vectors[:, samples, ...]
        turned = xp.concat([rows[..., :-1] @ vectors, -rows[..., -1:]], axis=-1)
        # On a CPU as many data sets at once as stay in its cache.
        step = min(R, max(1, _CACHED // (K * m * L))) if on_cpu(rows) else R
        solutions = xp.ones((step, K, q, L), **options)  # of each penalty, turned, and 1 for y
        results = xp.empty((R, coefficients.shape[1], L), **options)
        for start in range(0, R, step):
            part = slice(start, min(start + step, R))
            solution = solutions[: part.stop - start, ...]
            values, rotated = self.values[part, samples, ...], self.rotated[part, samples, ...]
            solution[..., :-1, :] = rotated / (values + alphas)
            losses = turned[part, ...] @ solution
            losses *= losses
            results[part, ...] = coefficients[part, ...] @ xp.reshape(losses, (-1, K * m, L))
        return results
