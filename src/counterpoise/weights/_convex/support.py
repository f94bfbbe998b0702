"""Mixture proportions by Newton steps on the components that matter: one problem, in NumPy.

About a point p with y = L p, and with z = L q / y for another point q, mean log z is close to
mean(2 z - z^2 / 2) - 3/2. Each step maximises that over q >= 0, less sum(q): the objective grows by
log c where p grows by the factor c, so 1 is the multiplier of the constraint on the sum. It is a
non-negative least squares problem in the components that are in use, or that the gradient asks for
(Wang 2007, doi:10.1111/j.1467-9868.2007.00583.x). A backtracking line search follows.

Few components have a share in most solutions. A step then costs two passes over L and a small
system, where an interior point step works on all components; three to five steps are usual. SciPy
solves the least squares problem on the CPU: batches on an accelerator take the other method.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.optimize import nnls

# Steps after which the method is given up, and the shortest step of the line search.
_MOST_STEPS, _SHORTEST = 30, 1e-6
# Components that may join in one step, in addition to as many as are in use.
_NEW = 10


def newton_on_support(
    L: np.ndarray, p: np.ndarray, /, *, tol: float, max_iter: int, sparse: bool
) -> tuple[np.ndarray, int] | None:
    """Return proportions (components,) with a gap of at most `tol`, and the steps taken.

    None if the method does not get there. L (rows, components) has its row maxima at 1, and the
    start p, of sum 1, explains every row. With `sparse`, components without a share are exactly 0.
    """
    rows = L.shape[0]
    y = L @ p
    full_step = not sparse
    for step in range(min(max_iter, _MOST_STEPS) + 1):
        gradient = (1.0 / y) @ L / rows
        if full_step and np.max(gradient) - 1.0 <= tol:
            return p, step
        chosen = _chosen(p, gradient)
        scaled = np.take(L, chosen, axis=1) / y[:, None]
        q = _least_squares(scaled.T @ scaled / rows, 2.0 * gradient[chosen] - 1.0)
        if q is None:
            return None
        change = np.zeros_like(p)
        change[chosen] = q - p[chosen]
        length = _line_search(y, L @ change, change, gradient)
        if length is None:
            return None
        full_step = length == 1.0 or not sparse
        p = np.clip(p + length * change, 0.0, None)
        p = p / np.sum(p)
        y = L @ p
    return None


def _chosen(p: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the components in use, and the most promising of the others."""
    used = p > 0
    others = np.flatnonzero(~used & (gradient > 1.0))
    most = _NEW + int(np.count_nonzero(used))
    others = others[np.argsort(-gradient[others], kind="stable")[:most]]
    return np.sort(np.concatenate([np.flatnonzero(used), others]))


def _least_squares(H: np.ndarray, c: np.ndarray) -> np.ndarray | None:
    """Minimise q'Hq / 2 - c'q over q >= 0; None where that fails.

    A ridge of some roundings keeps components that are alike solvable; the certificate would show
    if it mattered.
    """
    # LAPACK itself: for such small systems SciPy's wrappers take longer than the work.
    H.flat[:: len(c) + 1] *= 1.0 + 1e-14 * len(c)
    factor, failed = dpotrf(H)
    if failed:
        return None
    free: np.ndarray = dpotrs(factor, c)[0]
    if np.min(free) >= 0:
        return free
    try:
        kept: np.ndarray = nnls(factor, dtrtrs(factor, c, trans=1)[0])[0]
        return kept
    except RuntimeError:  # too many iterations
        return None


def _line_search(
    y: np.ndarray, dy: np.ndarray, change: np.ndarray, gradient: np.ndarray
) -> float | None:
    """Halve the step until mean log y - sum p grows by a share of what the slope promises."""
    slope, growth = float((gradient - 1.0) @ change), float(np.sum(change))
    slack = 8.0 * float(np.finfo(y.dtype).eps)
    relative = dy / y
    length = 1.0
    while length >= _SHORTEST:
        ratio = 1.0 + length * relative
        if np.min(ratio) > 0:
            gain = float(np.mean(np.log(ratio))) - length * growth
            if gain >= 1e-4 * length * slope - slack:
                return length
        length *= 0.5
    return None
