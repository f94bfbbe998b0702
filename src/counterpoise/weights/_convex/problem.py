"""The quadratic programme of kernel mean matching: constraints, duality gap, solved problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from counterpoise._arrays import Array, Namespace, array_namespace, device

__all__ = ["Constraints", "Done", "Problem", "select"]


@dataclass(frozen=True)
class Constraints:
    """0 <= w <= bound and low <= sum(w) <= high, with numbers common to the batch."""

    bound: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether the upper bound can matter: no weight exceeds the largest sum."""
        return self.bound < self.high


class Problem:
    """What both methods share: the constraints, the certificate and the stopping rule."""

    def __init__(self, constraints: Constraints, gap_tol: float, like: Array) -> None:
        self.xp = array_namespace(like)
        eps = float(self.xp.finfo(like.dtype).eps)
        # What the dtype can resolve, whatever was asked for.
        self.gap_tol = max(gap_tol, 1000 * eps)
        self.rounding = 5000 * eps
        self.bound = constraints.bound if constraints.bounded else None
        self.low, self.high = constraints.low, constraints.high

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

    def objective(self, w: Array, image: Array, kappa: Array) -> Array:
        """1/2 w'Kw - kappa'w, given the image Kw."""
        return self.xp.sum(w * (0.5 * image - kappa), axis=-1)


class Done:
    """Finished problems, in the order in which they finish."""

    def __init__(self, xp: Namespace) -> None:
        self.xp = xp
        self.parts: list[tuple[Array, ...]] = []

    def add(self, n_iter: int, index: Array, weights: Array, multiplier: Array) -> None:
        """Take over problems by their number in the batch."""
        self.parts.append((index, weights, multiplier, self.xp.full_like(index, n_iter)))

    def in_order(self) -> tuple[Array, ...]:
        """Return weights, multipliers and iterations in the order of the batch."""
        index, *rest = (self.xp.concat(part, axis=0) for part in zip(*self.parts, strict=True))
        order = self.xp.argsort(index)
        return tuple(self.xp.take(values, order, axis=0) for values in rest)


def select(xp: Namespace, mask: Array, *values: Any) -> list[Any]:
    """Keep the problems where `mask` holds; kernel matrices have a `problems`."""
    (index,) = xp.nonzero(mask)
    if index.shape[0] == mask.shape[0]:
        return list(values)
    return [
        v.problems(index) if hasattr(v, "problems") else xp.take(v, index, axis=0) for v in values
    ]
