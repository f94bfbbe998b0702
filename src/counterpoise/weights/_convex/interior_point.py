"""Interior point method for the quadratic programme of kernel mean matching."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from counterpoise._arrays import Array, Namespace, device
from counterpoise.weights._convex.problem import Problem, Solved, select

_MOST_ITERATIONS = 100


def interior_point(problem: Problem, K: Any, kappa: Array, index: Array, solved: Solved) -> None:
    """Run Mehrotra's predictor-corrector method; every problem ends up in `solved`.

    The variables are x = (w, t) with t = sum(w), each between bounds of its own, or x = w with
    a given sum when low = high: one equality constraint a'x = b in both cases, which the start
    satisfies and every step keeps.
    """
    xp = problem.xp
    box = _Box(problem, kappa)
    state = box.start(K, kappa)
    # Weights, multiplier and gap where the gap was smallest so far.
    best = [state.x[:, : box.n], state.nu, xp.full_like(state.nu, xp.inf)]
    for iteration in range(_MOST_ITERATIONS + 1):
        w = state.x[:, : box.n]
        image = K.times(w)
        gap = problem.relative_gap(w, image, kappa)
        best = _take_where(xp, gap < best[2], (w, state.nu, gap), best)
        # A NaN comes from a system beyond the dtype's reach and would not go away.
        done = (gap <= problem.gap_tol) | xp.isnan(gap) | (iteration == _MOST_ITERATIONS)
        solved.append(tuple(select(xp, done, index, *best[:2])))
        if bool(xp.all(done)):
            return
        kept = select(xp, ~done, K, kappa, index, image, *state, *best)
        K, kappa, index, image = kept[:4]
        state, best = box.step(K, image - kappa, _State(*kept[4:8])), kept[8:]


def _take_where(xp: Namespace, mask: Array, one: Any, other: Any) -> list[Array]:
    """Take the arrays of `one` for the problems where `mask` holds, of `other` elsewhere."""
    return [
        xp.where(mask if a.ndim == 1 else mask[:, None], a, b)
        for a, b in zip(one, other, strict=True)
    ]


class _State(NamedTuple):
    """Primal variables, their multipliers (lower and upper bound), multiplier of the sum."""

    x: Array
    z: Array
    y: Array
    nu: Array


class _Box:
    """Bounds of the interior point method's variables, and its Newton step."""

    def __init__(self, problem: Problem, like: Array) -> None:
        xp = self.xp = problem.xp
        self.n = like.shape[-1]
        self.ridge = problem.rounding
        bound = math.inf if problem.bound is None else problem.bound
        self.mean = (problem.low / self.n + min(problem.high / self.n, bound)) / 2
        self.ranged = problem.low < problem.high
        tail = ([problem.low], [problem.high], [-1.0]) if self.ranged else ([], [], [])
        make = partial(xp.asarray, dtype=like.dtype, device=device(like))
        self.lower = make([0.0] * self.n + tail[0])
        upper = make([bound] * self.n + tail[1])
        self.a = make([1.0] * self.n + tail[2])
        finite = xp.isfinite(upper)
        self.has_upper = xp.astype(finite, like.dtype)
        self.upper = xp.where(finite, upper, xp.zeros_like(upper))
        self.pairs = self.a.shape[0] + float(xp.sum(self.has_upper))

    def append(self, w: Array, t: Any) -> Array:
        """Return (w, t) where there is a t; `t` is a number or an array (S,)."""
        if not self.ranged:
            return w
        return self.xp.concat([w, self.xp.ones_like(w[:, :1]) * t], axis=-1)

    def start(self, K: Any, kappa: Array) -> _State:
        """Equal weights in the middle of the allowed sums, and multipliers of their gradient."""
        xp = self.xp
        x = self.append(xp.full_like(kappa, self.mean), self.n * self.mean)
        gradient = K.times(x[:, : self.n]) - kappa
        level = xp.max(xp.abs(gradient), axis=-1, keepdims=True)
        level = xp.where(level > 0, level, xp.ones_like(level))
        gradient = self.append(gradient, 0.0)
        z = xp.clip(gradient, 0.0, None) + level
        y = (xp.clip(-gradient, 0.0, None) + level) * self.has_upper
        return _State(x, z, y, xp.zeros_like(kappa[:, 0]))

    def step(self, K: Any, gradient: Array, state: _State) -> _State:
        """Return the state after one predictor-corrector step."""
        xp, (x, z, y, nu) = self.xp, state
        below = x - self.lower
        above = xp.where(self.has_upper > 0, self.upper - x, xp.ones_like(x))
        solve = self._solver(K, z / below + y / above)
        descent = -self.append(gradient, 0.0) - nu[:, None] * self.a
        affine, along = xp.unstack(
            solve(xp.stack([descent, self.a + xp.zeros_like(x)], axis=-1)), axis=-1
        )
        newton = _Newton(self, state, below, above, along)
        d = newton.direction(affine, 0.0, 0.0)
        reach = newton.longest(d)[:, None]
        products = (below + reach * d.x) * (z + reach * d.z)
        products = products + (above - reach * d.x) * (y + reach * d.y) * self.has_upper
        mu = xp.sum(below * z + above * y, axis=-1) / self.pairs
        centre = ((xp.sum(products, axis=-1) / self.pairs) ** 3 / mu**2)[:, None]
        bend = -d.x * d.z, d.x * d.y
        centring = descent + centre * (1.0 / below - self.has_upper / above)
        bending = bend[0] / below - self.has_upper * bend[1] / above
        parts = xp.unstack(solve(xp.stack([centring, bending], axis=-1)), axis=-1)
        # With the full second-order correction, about one wide-kernel problem in a thousand cycles
        # for ever: shares of it are tried too (Colombo and Gondzio, 2008, Computational
        # Optimization and Applications 41).
        directions = (
            newton.direction(
                parts[0] + share * parts[1], centre + share * bend[0], centre + share * bend[1]
            )
            for share in (xp.ones_like(reach), reach, reach**2)
        )
        return self._advanced(newton, state, directions)

    def _advanced(self, newton: _Newton, state: _State, directions: Iterable[_State]) -> _State:
        """Go as far as the best of several directions allows."""
        xp = self.xp
        best, length = state, xp.zeros_like(state.nu)
        for d in directions:
            reached = xp.clip(0.995 * newton.longest(d), None, 1.0)
            longer = reached > length
            length = xp.where(longer, reached, length)
            best = _State(*_take_where(xp, longer, d, best))
        column = length[:, None]
        x, z, y = (now + column * step for now, step in zip(state[:3], best[:3], strict=True))
        return _State(x, z, y, state.nu + length * best.nu)

    def _solver(self, K: Any, weight: Array) -> Any:
        """Solve with K + diag(weight), and with the weight alone for t."""
        solve = K.plus_diagonal(weight[:, : self.n] + self.ridge)
        if not self.ranged:
            return solve
        tail = weight[:, self.n :, None]
        return lambda b: self.xp.concat(
            [solve(b[:, : self.n, :]), b[:, self.n :, :] / tail], axis=1
        )


class _Newton:
    """Newton directions at one point, for several targets of the complementarity products.

    With slacks s = x - lower and u = upper - x, the targets are those of s * z and u * y.
    `along` is the solution of the reduced system for the constraint's own column.
    """

    def __init__(self, box: _Box, state: _State, below: Array, above: Array, along: Array) -> None:
        self.box, self.state = box, state
        self.below, self.above, self.along = below, above, along
        self.size = box.xp.sum(along * box.a, axis=-1)

    def direction(self, free: Array, target_below: Any, target_above: Any) -> _State:
        """Project the solution without the constraint onto it, and recover the multipliers."""
        xp, box = self.box.xp, self.box
        _, z, y, _ = self.state
        dnu = xp.sum(free * box.a, axis=-1) / self.size
        dx = free - dnu[:, None] * self.along
        dz = (target_below - z * dx) / self.below - z
        dy = ((target_above + y * dx) / self.above - y) * box.has_upper
        return _State(dx, dz, dy, dnu)

    def longest(self, d: _State) -> Array:
        """Longest step, at most 1, that keeps slacks and multipliers non-negative."""
        xp, has_upper = self.box.xp, self.box.has_upper
        primal = xp.maximum(-d.x / self.below, has_upper * d.x / self.above)
        dual = xp.maximum(-d.z / self.state.z, -d.y / (self.state.y + 1.0 - has_upper))
        return 1.0 / xp.clip(xp.max(xp.maximum(primal, dual), axis=-1), 1.0, None)
