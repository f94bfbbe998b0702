"""Maximum-likelihood mixture proportions: a batched primal-dual interior-point method.

maximise  f(p) = mean_j log(sum_b L_jb p_b)   over the simplex  {p >= 0, sum_b p_b = 1}

is convex. It is the whole of KLIEP, after a change of variables. No array library has a solver for
many problems at once, and cone solvers need about a second for one: hence this one, which is tested
against a cone solver. A step costs O(rows components^2 + components^3). References: Koenker, Mizera
(2014), doi:10.1080/01621459.2013.869224; Kim, Carbonetto, Stephens, Anitescu (2020),
arXiv:1806.01412 (the problem); Mehrotra (1992), doi:10.1137/0802028 (the steps).

How it works. The constraint sum p = 1 may be traded for a penalty: minimise sum p - f(p) over
p >= 0, whose solution has sum p = 1 because f rises by log c when p grows by the factor c. With
y = L p and multipliers nu for that equation, the optimality conditions are

    L'nu + s = 1,    p_b s_b = 0,    y_j nu_j = 1/m,    everything non-negative.

Newton steps on these conditions (the products p s pushed to 0 along the central path, with
Mehrotra's predictor and corrector) keep L'nu + s = 1 exactly, so each step only needs one
components x components system, whose matrix is L' diag(nu / y) L + diag(s / p). Treating nu as a
variable of its own, rather than as 1 / (m y), is what makes five to ten steps enough.

The result carries its own proof. With g_b = mean_j L_jb / (L p)_j, any other point q of the
simplex has f(q) - f(p) <= log mean_j (Lq)_j / (Lp)_j <= log max_b g_b <= max_b g_b - 1, and that
last number, `gap`, bounds what is missing in the objective.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.optimize import nnls

from counterpoise._arrays import Array, Namespace, array_namespace, device, is_numpy_namespace
from counterpoise.weights._convex.problem import add_diagonal, factorised, in_order, select

# Steps of the EM algorithm before the first Newton step: two passes over L each, where a Newton
# step costs about as much as thirty; six of them save two or three Newton steps.
_EM_STEPS = 6
# Problems that have converged leave the batch once they are this share of it.
_COMPACT_SHARE = 0.125
# With a tolerance above this, components that vanish need not be told from those that matter.
_LOOSE = 1e-4
# Largest derivative (1 at the solution) at proportions that are worth starting from. Narrow kernels
# leave rows that such a start hardly explains, and Newton's first steps are then short.
_NEAR = 1.5
# Steps after which Newton's method is given up, and the shortest step of its line search.
_MOST_STEPS, _SHORTEST = 30, 1e-6
# Components that may join in one step, in addition to as many as are in use.
_NEW = 10


class MixtureFit(NamedTuple):
    """Proportions of a mixture, and the proof of how good they are.

    `gap` bounds what any other proportions could add to `objective`, the mean log-likelihood.
    """

    proportions: Array  # (problems, components): components that do not matter are exactly 0
    objective: Array  # (problems,), as all that follow
    gap: Array
    n_iter: Array


class _Iterate(NamedTuple):
    """A point inside all bounds, for the problems still in the batch (first axis)."""

    L: Array  # (problems, rows, components)
    p: Array  # (problems, components), and its multipliers s
    s: Array
    y: Array  # (problems, rows), and its multipliers nu
    nu: Array
    index: Array  # (problems,): place in the original batch

    def take(self, keep: Array) -> _Iterate:
        xp = array_namespace(self.L)
        return _Iterate(*(xp.take(part, keep, axis=0) for part in self))


def maximize_likelihood(
    L: Array, /, *, tol: float, max_iter: int, start: Array | None = None
) -> MixtureFit:
    """Return the proportions of each problem of a stack L (problems, rows, components).

    Every row of L has its maximum at 1, and entries below what `without_dust` keeps are 0. Stops
    when the objective is proved to be within `tol` of its maximum (float32 cannot prove less than
    about 2e-5), or after `max_iter` Newton steps; three to fifteen are usual. Proportions are not
    unique where columns of L are linearly dependent; L p and the objective are.

    `start` (problems, components) are the proportions of similar problems. NumPy arrays are
    solved one by one on the components that matter (`newton_on_support`), faster on a CPU;
    problems that resist, and other arrays, by interior points.
    """
    xp = array_namespace(L)
    tol = attainable(xp, L.dtype, tol)
    if not is_numpy_namespace(xp):
        return _interior_points(L, tol, max_iter)
    fits = [
        _one_by_newton(single, tol, max_iter, None if start is None else start[i])
        or _interior_points(L[i : i + 1], tol, max_iter)
        for i, single in enumerate(L)
    ]
    return MixtureFit(*(np.concatenate(field) for field in zip(*fits, strict=True)))


def _one_by_newton(
    L: np.ndarray, tol: float, max_iter: int, start: np.ndarray | None
) -> MixtureFit | None:
    """Solve one problem (rows, components) on its support; None where that fails."""
    if start is None or not _is_near(L, start):
        start = _em(np, L[None])[0]
    newton = newton_on_support(L, start, tol=tol, max_iter=max_iter, sparse=tol <= _LOOSE)
    if newton is None:
        return None
    p, steps = newton[0][None], newton[1]
    objective, gap = _certify(np, L[None], p)
    return MixtureFit(p, objective, gap, np.asarray([steps])) if gap[0] <= tol else None


def _is_near(L: np.ndarray, p: np.ndarray) -> bool:
    y = L @ p
    return bool(np.min(y) > 0) and float(np.max((1.0 / y) @ L)) < _NEAR * len(L)


def _interior_points(L: Array, tol: float, max_iter: int) -> MixtureFit:
    """Run the primal-dual method of this module."""
    xp = array_namespace(L)
    state = _start(xp, L)
    solved: list[tuple[Array, ...]] = []
    for step in range(max_iter + 1):
        gradient = _columns(state.L, 1.0 / state.y) / L.shape[-2]
        gap = xp.max(gradient, axis=-1) * xp.sum(state.p, axis=-1) - 1.0
        last = step == max_iter
        done = (gap <= 0.5 * tol) | last
        if last or float(xp.mean(xp.astype(done, L.dtype))) >= _COMPACT_SHARE:
            finished = xp.nonzero(done)[0]
            ready = state.take(finished) if finished.shape[0] < done.shape[0] else state
            *part, sparse = _finish(xp, ready, xp.take(gap, finished), tol)
            good = ((sparse | (tol > _LOOSE)) & (part[3] <= tol)) | last
            solved.append(tuple(select(xp, good, *part, xp.full_like(part[0], step))))
            place = xp.clip(xp.cumulative_sum(xp.astype(done, xp.int64)) - 1, 0, None)
            (keep,) = xp.nonzero(~(done & xp.take(good, place)))
            if keep.shape[0] == 0:
                break
            state, gradient = state.take(keep), xp.take(gradient, keep, axis=0)
        state = _advance(xp, state, gradient)
    return MixtureFit(*in_order(xp, solved))


def without_dust(xp: Namespace, L: Array, /) -> Array:
    """Set to 0 what is below the square of the rounding unit, where each row has maximum 1.

    The solution has (L p)_j of at least 1/rows, so this cannot change it; but products of such
    numbers are denormal, and those make matrix products several times slower.
    """
    zero = xp.asarray(0.0, dtype=L.dtype, device=device(L))
    return xp.where(L - float(xp.finfo(L.dtype).eps) ** 2 > 0, L, zero)


def attainable(xp: Namespace, dtype: Any, tol: float, /) -> float:
    """Return the gap to ask for: the certificate is known to some units of rounding only."""
    return max(tol, 128 * float(xp.finfo(dtype).eps))


def _start(xp: Namespace, L: Array) -> _Iterate:
    """Go strictly inside all bounds from where the EM algorithm leads."""
    problems, rows, components = L.shape
    p = 0.98 * _em(xp, L) + 0.02 / components
    y = _rows(L, p)
    gradient = _columns(L, 1.0 / y) / rows
    # Scaled so that L'nu < 1, which leaves s > 0.
    scale = 1.05 * xp.max(gradient, axis=-1, keepdims=True)
    index = xp.arange(problems, dtype=xp.int64, device=device(L))
    return _Iterate(L, p, 1.0 - gradient / scale, y, 1.0 / (rows * y * scale), index)


def _em(xp: Namespace, L: Array) -> Array:
    """Take a few steps of the EM algorithm from equal proportions."""
    problems, rows, components = L.shape
    p = xp.ones((problems, components), dtype=L.dtype, device=device(L))  # a step scales them
    for _ in range(_EM_STEPS):
        p = p * _columns(L, 1.0 / _rows(L, p)) / rows
    return p


def _advance(xp: Namespace, state: _Iterate, gradient: Array) -> _Iterate:
    """One predictor-corrector step; `gradient` is L'(1/y) / rows."""
    L, p, s, y, nu, index = state
    half = L * xp.sqrt(nu / y)[..., None]
    solve = _solver(xp, xp.linalg.matrix_transpose(half) @ half, s / p)
    balance = 1.0 / L.shape[-2] - y * nu
    dp = solve(gradient - 1.0)
    ds = -s - s * dp / p
    dy = _rows(L, dp)
    dnu = (balance - nu * dy) / y
    primal = xp.minimum(_step(xp, p, dp), _step(xp, y, dy))
    dual = xp.minimum(_step(xp, s, ds), _step(xp, nu, dnu))
    # Mehrotra: aim as far down the central path as the plain Newton step could go.
    mu = xp.mean(p * s, axis=-1, keepdims=True)
    ahead = xp.mean((p + primal * dp) * (s + dual * ds), axis=-1, keepdims=True)
    aim = mu * (ahead / mu) ** 3 - dp * ds
    bend = primal * dual * dy * dnu
    dp = solve(gradient - 1.0 + aim / p - _columns(L, bend / y))
    ds = (aim - s * dp) / p - s
    dy = _rows(L, dp)
    dnu = (balance - bend - nu * dy) / y
    # Stop short of the bounds, by less and less, so that the last steps converge quadratically.
    short = xp.clip(1.0 - mu * p.shape[-1], 0.995, 1.0 - 1e-6)
    primal = short * xp.minimum(_step(xp, p, dp), _step(xp, y, dy))
    dual = short * xp.minimum(_step(xp, s, ds), _step(xp, nu, dnu))
    tiny = 1e-30  # a problem that waits in the batch after it converged must not divide by zero
    p, s = (xp.clip(a, tiny, None) for a in (p + primal * dp, s + dual * ds))
    y, nu = (xp.clip(a, tiny, None) for a in (y + primal * dy, nu + dual * dnu))
    return _Iterate(L, p, s, y, nu, index)


def _finish(xp: Namespace, state: _Iterate, gap: Array, tol: float) -> tuple[Array, ...]:
    """Index, proportions, objective, its gap, and whether vanishing components were set to 0."""
    # Of p_b s_b = 0, the smaller factor is the one that is zero. Far from the solution that is
    # not so yet, and the proportions stay as they are. They must not stay so at the end: a
    # component with a negligible share here may rule elsewhere.
    sparse = xp.where(state.p > state.s, state.p, xp.zeros_like(state.p))
    objective, trial = _certify(xp, state.L, sparse)
    better = trial <= xp.maximum(gap, xp.full_like(gap, tol))
    p = xp.where(better[:, None], sparse, state.p)
    p = p / xp.sum(p, axis=-1, keepdims=True)
    if not bool(xp.all(better)):
        objective, trial = _certify(xp, state.L, p)
    return state.index, p, objective, trial, better


def _certify(xp: Namespace, L: Array, p: Array) -> tuple[Array, Array]:
    """Objective at p, scaled to the simplex, and the bound on what it misses."""
    total = xp.sum(p, axis=-1, keepdims=True)
    # No components left, or none that explain some row: infinitely bad, without a warning.
    y = xp.clip(_rows(L, p), float(xp.finfo(p.dtype).smallest_normal) ** 0.5, None)
    y = y / xp.where(total > 0, total, xp.ones_like(total))
    gap = xp.max(_columns(L, 1.0 / y), axis=-1) / y.shape[-1] - 1.0
    return xp.mean(xp.log(y), axis=-1), gap


def _step(xp: Namespace, value: Array, change: Array) -> Array:
    """Largest step in (0, 1] that keeps value + step * change non-negative."""
    return 1.0 / xp.clip(xp.max(-change / value, axis=-1, keepdims=True), 1.0, None)


def _rows(L: Array, p: Array) -> Array:
    return (L @ p[..., None])[..., 0]


def _columns(L: Array, v: Array) -> Array:
    return (v[..., None, :] @ L)[..., 0, :]


def _solver(xp: Namespace, matrix: Array, diagonal: Array) -> Any:
    """Return the function that solves with matrix + diag(diagonal); may overwrite `matrix`.

    One Cholesky factor serves predictor and corrector. A ridge of a few units of rounding keeps
    duplicated components solvable; it is far below what the certificate can see.
    """
    size = matrix.shape[-1]
    level = xp.max(xp.linalg.diagonal(matrix), axis=-1, keepdims=True)
    ridge = size * float(xp.finfo(matrix.dtype).eps) * level
    solve = factorised(xp, add_diagonal(xp, matrix, diagonal + ridge))
    return lambda right: solve(right[..., None])[..., 0]


def newton_on_support(
    L: np.ndarray, p: np.ndarray, /, *, tol: float, max_iter: int, sparse: bool
) -> tuple[np.ndarray, int] | None:
    """Return proportions (components,) with a gap of at most `tol`, and the steps taken.

    None if the method does not get there. L (rows, components) has its row maxima at 1, and the
    start p, of sum 1, explains every row. With `sparse`, components without a share are exactly 0.

    About a point p with y = L p, and with z = L q / y for another point q, mean log z is close to
    mean(2 z - z^2 / 2) - 3/2. Each step maximises that over q >= 0, less sum(q): the objective
    grows by log c where p grows by the factor c, so 1 is the multiplier of the constraint on the
    sum. It is a non-negative least squares problem in the components that are in use, or that the
    gradient asks for (Wang 2007, doi:10.1111/j.1467-9868.2007.00583.x). A backtracking line
    search follows.

    Few components have a share in most solutions. A step then costs two passes over L and a small
    system, where an interior point step works on all components; three to five steps are usual.
    SciPy solves the least squares problem on the CPU: an accelerator takes the other method.
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
