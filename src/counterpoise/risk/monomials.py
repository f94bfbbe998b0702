"""Monomials of the features: the functions that control variates and outcome models are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from counterpoise._arrays import Array, Namespace, device, to_numpy
from counterpoise._validation import check_number
from counterpoise.risk.held_out import Domains, HeldOut

__all__ = ["Moments", "require_domains"]

# Most columns that `Moments` makes of a large sample: beyond, solving costs more than it gains.
_MOST_COLUMNS = 100


@dataclass(frozen=True)
class Moments:
    """The monomials of the features up to a degree: x, x^2, x z, ...

    Features are centred and scaled by the target's mean and
    standard deviation. Directions along which the source has no spread are left out. If there
    would be more monomials than `most`, the features are replaced by their principal components in
    the target, and monomials of the leading ones come first.

    Parameters
    ----------
    degree : int, default=2
    most : int, optional
        Largest number of monomials. Default: a fifth of the rows, at least 5 and at most 100.
    """

    degree: int = 2
    most: int | None = None

    def __post_init__(self) -> None:
        check_number(self.degree, "degree", low=1, closed="low", integer=True)
        if self.most is not None:
            check_number(self.most, "most", low=1, closed="low", integer=True)

    def values(self, xp: Namespace, held_out: HeldOut, /) -> tuple[Array, Array]:
        """Return the monomials at the source rows (B, n, k) and at the target rows (m, k)."""
        domains = require_domains(held_out, "Moments")
        location, rotation, monomials = self.basis(xp, domains, held_out.n_rows)
        return tuple(
            _evaluate(xp, (X - location) @ rotation, monomials)
            for X in (domains.source, domains.target)
        )

    def basis(
        self, xp: Namespace, domains: Domains, n: int, /
    ) -> tuple[Array, Array, list[tuple[int, ...]]]:
        """Return centre (D,), rotation (D, D') and monomials of the D' rotated features."""
        target = domains.target
        location = xp.mean(target, axis=0)
        spread = xp.sqrt(xp.mean((target - location) ** 2, axis=0))
        scale = xp.where(spread > 0, 1 / xp.where(spread > 0, spread, 1.0), 0.0)
        rotation = xp.eye(target.shape[-1], dtype=target.dtype, device=device(target)) * scale
        rotation = rotation @ _source_directions(xp, (domains.source - location) @ rotation)
        D = rotation.shape[-1]
        most = self.most or min(max(5, n // 5), _MOST_COLUMNS)
        # How many monomials of degree 1 to `degree` there are in D features.
        if math.comb(D + self.degree, self.degree) - 1 > most:
            scaled = (target - location) @ rotation
            covariance = xp.linalg.matrix_transpose(scaled) @ scaled / target.shape[0]
            variances, directions = xp.linalg.eigh(covariance)
            usable = variances > 1e-10 * variances[-1]
            units = xp.where(usable, 1 / xp.sqrt(xp.where(usable, variances, 1.0)), 0.0)
            rotation = rotation @ xp.flip(directions * units, axis=-1)
        return location, rotation, list(_monomials(D, self.degree, most))


def _source_directions(xp: Namespace, source: Array) -> Array:
    """Directions (D, D') along which the source rows (B, n, D) have spread.

    Along any other direction (a feature that is constant in the source, or equal to another one
    there) the source cannot show how the loss changes, and a product with such a feature would
    smuggle it in. The identity if all directions have spread.
    """
    D = source.shape[-1]
    rows = xp.reshape(source, (-1, D))
    centred = rows - xp.mean(rows, axis=0)
    covariance = xp.linalg.matrix_transpose(centred) @ centred / rows.shape[0]
    variances, directions = xp.linalg.eigh(covariance)
    eps = float(xp.finfo(source.dtype).eps)
    live = np.flatnonzero(to_numpy(variances > 16 * D * eps * variances[-1]))
    if len(live) == D:
        return xp.eye(D, dtype=source.dtype, device=device(source))
    if len(live) == 0:
        return xp.zeros_like(directions[:, :1])
    return xp.take(directions, xp.asarray(live, device=device(source)), axis=-1)


def _monomials(D: int, degree: int, most: int) -> Iterator[tuple[int, ...]]:
    """Monomials as tuples of features: all of degree 1, then 2, ..., leading features first."""
    count = 0
    for d in range(1, degree + 1):
        for last in range(D):
            for rest in combinations_with_replacement(range(last + 1), d - 1):
                if count == most:
                    return
                count += 1
                yield (*rest, last)


def _evaluate(xp: Namespace, X: Array, monomials: list[tuple[int, ...]]) -> Array:
    """Return the products of columns of X (..., n, D) that `monomials` names, (..., n, k)."""
    columns = []
    for factors in monomials:
        value = X[..., factors[0]]
        for j in factors[1:]:
            value = value * X[..., j]
        columns.append(value)
    return xp.stack(columns, axis=-1)


def require_domains(held_out: HeldOut, who: str, /) -> Domains:
    """Return the features of both domains, or say who needs them."""
    if held_out.domains is None:
        raise ValueError(
            f"`{who}` needs the features of both domains, to see the target mean of its control "
            "variates. Pass X_source and X_target to target_risk, or X_target to "
            "cross_val_risk or to the search's fit."
        )
    return held_out.domains
