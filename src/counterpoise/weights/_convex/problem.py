"""The quadratic programme of kernel mean matching: constraints, duality gap, solved problems."""

from __future__ import annotations

from typing import Any, NamedTuple

from counterpoise._arrays import Array, Namespace, array_namespace, device

# Numbers in the batch, weights, multipliers and iterations of problems, as they are solved.
Solved = list[tuple[Array, ...]]


class Constraints(NamedTuple):
    """0 <= w <= bound and low <= sum(w) <= high, with numbers common to the batch."""

    bound: float
    low: float
    high: float


class Problem:
    """What both methods share: the constraints, the certificate and the stopping rule."""

    def __init__(self, constraints: Constraints, gap_tol: float, like: Array) -> None:
        self.xp = array_namespace(like)
        eps = float(self.xp.finfo(like.dtype).eps)
        # What the dtype can resolve, whatever was asked for.
        self.gap_tol = max(gap_tol, 1000 * eps)
        self.rounding = 5000 * eps
        bound, self.low, self.high = constraints
        # No weight exceeds the largest sum: a bound above it cannot matter.
        self.bound = bound if bound < self.high else None

    def feasible(self, w: Array) -> Array:
        """Remove the rounding errors of a nearly feasible point."""
        xp = self.xp
        w = xp.clip(w, 0.0, self.bound)
        total = xp.sum(w, axis=-1, keepdims=True)
        positive = xp.where(total > 0, total, xp.ones_like(total))
        return xp.clip(w * (xp.clip(total, self.low, self.high) / positive), 0.0, self.bound)

    def relative_gap(self, w: Array, image: Array, kappa: Array) -> Array:
        """Bound on the distance to the optimal value, relative to 1/2 w'Kw + |kappa|'w.

        By convexity f(w) - f(v) <= g'(w - v) for any v, with the gradient g = Kw - kappa from
        the image Kw; the largest right-hand side over the feasible v is a linear programme that
        a sort solves: fill up the smallest gradients first.
        """
        xp = self.xp
        gradient = image - kappa
        if self.bound is None:
            lowest = xp.min(gradient, axis=-1)
            least = xp.where(lowest < 0, self.high * lowest, self.low * lowest)
        else:
            gradient_sorted = xp.sort(gradient, axis=-1)
            n = gradient.shape[-1]
            filled = self.bound * xp.arange(n, dtype=w.dtype, device=device(w))
            useful = self.bound * xp.sum(xp.astype(gradient < 0, w.dtype), axis=-1, keepdims=True)
            amount = xp.clip(xp.clip(useful, self.low, self.high) - filled, 0.0, self.bound)
            least = xp.sum(amount * gradient_sorted, axis=-1)
        gap = xp.sum(gradient * w, axis=-1) - least
        scale = xp.sum(w * (0.5 * image + xp.abs(kappa)), axis=-1)
        return gap / (scale + xp.finfo(w.dtype).smallest_normal)


def select(xp: Namespace, mask: Array, *values: Any) -> list[Any]:
    """Keep the problems where `mask` holds; kernel matrices have a `problems`."""
    (index,) = xp.nonzero(mask)
    if index.shape[0] == mask.shape[0]:
        return list(values)
    return [
        v.problems(index) if hasattr(v, "problems") else xp.take(v, index, axis=0) for v in values
    ]


def in_order(xp: Namespace, solved: Solved, /) -> list[Array]:
    """Join arrays of problems that were solved at different times, in the order of the batch.

    The first of each tuple holds the problems' numbers in the batch.
    """
    index, *rest = (xp.concat(list(arrays), axis=0) for arrays in zip(*solved, strict=True))
    order = xp.argsort(index)
    return [xp.take(values, order, axis=0) for values in rest]
