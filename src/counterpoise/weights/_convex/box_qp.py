"""Batched solver for the quadratic programme of kernel mean matching.

    minimise  1/2 w'Kw - kappa'w   subject to   0 <= w <= bound,  low <= sum(w) <= high

for a whole batch of small problems at once, or for one large one with K in low-rank form. It is
written by hand because general solvers take one problem at a time, on the CPU; they serve as
the reference in the tests. Two methods share the work, each good where the other is poor:

- a primal-dual active set (semi-smooth Newton) method: guess which weights lie strictly inside
  their bounds, solve the equations for those, correct the guess by the signs of weights and
  multipliers. With a penalty or a narrow kernel (K well conditioned) it ends after two or three
  linear systems with exact zeros; for wide kernels without a penalty it cycles, and is not tried;
- a primal-dual interior point method (Mehrotra's predictor-corrector) for the problems left:
  some twelve systems. Its iterates stay strictly feasible.

A problem is solved when a duality gap, computed from the gradient, is small: it bounds the distance
to the optimal value whatever the method. Solved problems leave the batch at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from counterpoise._arrays import Array, array_namespace, device
from counterpoise.weights._convex.interior_point import interior_point
from counterpoise.weights._convex.problem import (
    Constraints,
    Dense,
    LowRank,
    Problem,
    Solved,
    in_order,
    select,
)

# The active set method ends within about this many systems, or not at all.
_ACTIVE_SET_ITERATIONS = 40
# How different points must be from their nearest neighbour for the method to be worth a try.
_SEPARATED = 0.1
# Size from which one problem is worth the search for an exact low-rank form.
_LARGE = 200
# Systems without progress after which it changes one weight at a time, provided that no more
# than one in twenty is wrong, and after which it is given up.
_BLOCK_STALLS, _FEW, _STALLS = 3, 20, 10


class QPSolution(NamedTuple):
    """Solutions of a batch of S problems, with the certificate of each.

    `gap` is an upper bound on the objective minus its optimum, relative to 1/2 w'Kw + kappa'w. The
    multiplier of the constraint on the sum is positive at `high`, negative at `low`, and else 0.
    """

    weights: Array  # (S, n)
    objective: Array  # (S,), as all that follow: 1/2 w'Kw - kappa'w
    gap: Array
    multiplier: Array


def solve_box_qp(
    K: Dense | LowRank,
    kappa: Array,
    constraints: Constraints,
    /,
    *,
    penalised: bool = False,
) -> QPSolution:
    """Solve a batch of problems with kappa (S, n).

    `penalised` says that a penalty is on the diagonal of K: the active set method then converges
    for wide kernels too, and is tried for every problem. Problems that are not solved within 100
    interior point iterations come back as they are then: look at `gap`.
    """
    xp = array_namespace(kappa)
    problem = Problem(constraints, kappa)
    solved: Solved = []
    index = xp.arange(kappa.shape[0], device=device(kappa))
    narrow = xp.full(index.shape, penalised, device=device(kappa))
    if not penalised and isinstance(K, Dense):
        narrow = K.separation() > _SEPARATED
    (wide,) = select(xp, ~narrow, index)
    tried, kappa_tried, numbers = select(xp, narrow, K, kappa, index)
    left = _active_set(problem, tried, kappa_tried, numbers, solved)
    index = xp.concat([left, wide], axis=0)
    if index.shape[0] > 0:
        rest = K.problems(index)
        if isinstance(rest, Dense) and index.shape[0] == 1 and kappa.shape[1] >= _LARGE:
            rest = rest.low_rank(problem.rounding)
        interior_point(problem, rest, xp.take(kappa, index, axis=0), index, solved)
    weights, multiplier = in_order(xp, solved)
    weights = problem.feasible(weights)
    image = K.times(weights)
    objective = xp.sum(weights * (0.5 * image - kappa), axis=-1)
    gap = problem.relative_gap(weights, image, kappa)
    return QPSolution(weights, objective, gap, multiplier)


def _active_set(
    problem: Problem, K: Dense | LowRank, kappa: Array, index: Array, solved: Solved
) -> Array:
    """Run the primal-dual active set method; return the problems that it leaves."""
    xp = problem.xp
    if index.shape[0] == 0:
        return index
    guess = _Guess(xp.ones_like(kappa), xp.zeros_like(kappa))
    best = xp.full(index.shape, kappa.shape[-1] + 1, dtype=xp.int64, device=device(kappa))
    stalled = xp.zeros_like(best)
    left = [index[:0]]
    for _ in range(_ACTIVE_SET_ITERATIONS):
        w, nu = _solve_free(problem, K, kappa, guess)
        image = K.times(w)
        one_only = stalled >= _BLOCK_STALLS
        new, changes = guess.corrected(problem, w, image - kappa + nu[:, None], kappa, one_only)
        w = problem.feasible(w)
        gap = problem.relative_gap(w, image, kappa)
        done = (changes == 0) & (gap <= problem.gap_tol)
        stalled = xp.where(changes < best, xp.zeros_like(stalled), stalled + 1)
        best = xp.minimum(best, changes)
        lost = (stalled >= _STALLS) | (one_only & (changes > kappa.shape[-1] // _FEW))
        hopeless = ~done & (lost | (changes == 0) | xp.isnan(gap))
        solved.append(tuple(select(xp, done, index, w, nu)))
        left += select(xp, hopeless, index)
        going = ~done & ~hopeless
        if not bool(xp.any(going)):
            index = index[:0]
            break
        kept = select(xp, going, K, kappa, index, best, stalled, new.free, new.fixed)
        K, kappa, index, best, stalled = kept[:5]
        guess = _Guess(*kept[5:])
    return xp.concat([*left, index], axis=0)


@dataclass(frozen=True)
class _Guess:
    """A guess of the solution's structure, each of shape (S, n).

    `free` is 1 for weights strictly between their bounds and 0 for the others, whose values are
    in `fixed`.
    """

    free: Array
    fixed: Array

    def corrected(
        self, problem: Problem, w: Array, slope: Array, kappa: Array, one_only: Array
    ) -> tuple[_Guess, Array]:
        """Fix the free weights that left their bounds; free those that the slope pulls inside.

        Where `one_only` (S,) holds, only the last of them changes: slow, but it breaks the
        cycles that changing all at once can enter (Júdice and Pires, 1994, Computers & Operations
        Research 21). Also returns how many are on the wrong side, (S,).
        """
        xp = problem.xp
        # Signs of numbers within rounding mean nothing, and would flip for ever.
        flat = problem.rounding * xp.max(xp.abs(kappa), axis=-1, keepdims=True)
        was_free = self.free > 0
        stays = w >= -problem.rounding
        freed = slope < -flat
        if problem.bound is not None:
            stays = stays & (w <= problem.bound * (1 + problem.rounding))
            freed = xp.where(self.fixed > 0, slope > flat, freed)
        wrong = xp.where(was_free, ~stays, freed)
        place = xp.arange(w.shape[-1], device=device(w))
        last = xp.max(xp.where(wrong, place, -xp.ones_like(place)), axis=-1, keepdims=True)
        changed = wrong & (~one_only[:, None] | (place == last))
        free = xp.astype(was_free != changed, w.dtype)
        fixed = self.fixed
        if problem.bound is not None:
            at_bound = xp.where(changed, was_free & (w > 0), fixed > 0)
            fixed = problem.bound * xp.astype(at_bound, w.dtype)
        return _Guess(free, fixed), xp.sum(xp.astype(wrong, xp.int64), axis=-1)


def _solve_free(
    problem: Problem, K: Dense | LowRank, kappa: Array, guess: _Guess
) -> tuple[Array, Array]:
    """Solve for the free weights and the multiplier of the sum, the other weights given.

    A ridge of some thousand roundings keeps duplicated points solvable; with a non-negative K it
    changes the quadratic term by no more than that relative amount.
    """
    xp = problem.xp
    target = kappa if problem.bound is None else kappa - K.times(guess.fixed)
    sides = xp.stack([target * guess.free, guess.free], axis=-1)
    solution = K.restricted(guess.free, problem.rounding)(sides)
    unconstrained, response = solution[..., 0] + guess.fixed, solution[..., 1]
    total = xp.sum(unconstrained, axis=-1)
    excess = total - xp.clip(total, problem.low, problem.high)
    size = xp.sum(response, axis=-1)
    nu = excess / xp.where(size > 0, size, xp.ones_like(size))
    return unconstrained - nu[:, None] * response, nu
