"""Control variates: functions of the features whose mean over the target is known or can be seen.

For every function phi of the features, E_source[w phi] = E_target[phi]. So w phi less that mean is
a control variate. phi = 1 is the paper's; this module has the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, Protocol, runtime_checkable

import numpy as np

from counterpoise._arrays import Array, Namespace, as_float, device, to_numpy
from counterpoise._validation import check_number
from counterpoise.risk.sample import Domains, Sample

__all__ = [
    "Constant",
    "Control",
    "Function",
    "Moments",
    "WeightPowers",
    "control_values",
    "evaluate_monomials",
    "require_domains",
]

# Most columns that `Moments` makes of a large sample: beyond, solving costs more than it gains.
_MOST_COLUMNS = 100


@runtime_checkable
class Control(Protocol):
    """What a control variate must offer."""

    def values(self, xp: Namespace, sample: Sample, /) -> tuple[Array, Array]:
        """Return phi at the source rows (B, n, k) and at the target rows (m, k).

        A mean that is known is given as one row, (1, k).
        """


@dataclass(frozen=True)
class Constant:
    """phi = 1: the weights themselves, with known mean 1. The paper's control variate."""

    def values(self, xp: Namespace, sample: Sample, /) -> tuple[Array, Array]:
        """Return ones."""
        ones = xp.ones_like(sample.weights)
        return xp.moveaxis(ones, -2, -1), xp.ones_like(ones[0, :, :1])


@dataclass(frozen=True)
class WeightPowers:
    """phi = w, w^2, ...: higher powers of the weights.

    E_source[w^p] = E_target[w^(p-1)], which the weights at the target rows estimate: so it takes a
    weight estimator that can be asked about new rows. Powers of heavy-tailed weights have heavier
    tails yet; they help where the weights are bounded.

    Parameters
    ----------
    degree : int, default=2
        Highest power of the weights as a control, at least 2 (the first is `Constant`).
    """

    degree: int = 2

    def __post_init__(self) -> None:
        check_number(self.degree, "degree", low=2, closed="low", integer=True)

    def values(self, xp: Namespace, sample: Sample, /) -> tuple[Array, Array]:
        """Return the powers up to degree - 1: the weight itself multiplies them later."""
        domains = require_domains(sample, "WeightPowers")
        if domains.target_weights is None:
            raise ValueError(
                "`WeightPowers` needs the weights at the target rows, and only those of the source "
                "rows are known. Pass a weight estimator (or its name) instead of an array of "
                "weights, or use Moments()."
            )
        source, target = sample.weights[:, 0, :, None], domains.target_weights[:, None]
        powers = range(1, self.degree)
        return (
            xp.concat([source**p for p in powers], axis=-1),
            xp.concat([target**p for p in powers], axis=-1),
        )


@dataclass(frozen=True)
class Moments:
    """phi = the monomials of the features up to a degree: x, x^2, x z, ...

    Their means come from the target rows. Features are centred and scaled by the target's mean and
    standard deviation. Where there would be more monomials than `most`, the features are replaced
    by their principal components in the target, and monomials of the leading ones come first.

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

    def values(self, xp: Namespace, sample: Sample, /) -> tuple[Array, Array]:
        """Return the monomials."""
        domains = require_domains(sample, "Moments")
        location, rotation, monomials = self.basis(xp, domains.target, sample.n_rows)
        return tuple(
            evaluate_monomials(xp, (X - location) @ rotation, monomials)
            for X in (domains.source, domains.target)
        )

    def basis(
        self, xp: Namespace, target: Array, n: int, /
    ) -> tuple[Array, Array, list[tuple[int, ...]]]:
        """Return centre (D,), rotation (D, D') and monomials, as found from the target rows."""
        D = target.shape[-1]
        most = self.most or min(max(5, n // 5), _MOST_COLUMNS)
        location = xp.mean(target, axis=0)
        centred = target - location
        spread = xp.sqrt(xp.mean(centred**2, axis=0))
        scale = xp.where(spread > 0, 1 / xp.where(spread > 0, spread, 1.0), 0.0)
        rotation = xp.eye(D, dtype=target.dtype, device=device(target)) * scale
        # How many monomials of degree 1 to `degree` there are in D features.
        if math.comb(D + self.degree, self.degree) - 1 > most:
            scaled = centred * scale
            covariance = xp.linalg.matrix_transpose(scaled) @ scaled / target.shape[0]
            variances, directions = xp.linalg.eigh(covariance)
            usable = variances > 1e-10 * variances[-1]
            units = xp.where(usable, 1 / xp.sqrt(xp.where(usable, variances, 1.0)), 0.0)
            rotation = rotation @ xp.flip(directions * units, axis=-1)
        return location, rotation, list(_monomials(D, self.degree, most))


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


def evaluate_monomials(xp: Namespace, X: Array, monomials: list[tuple[int, ...]], /) -> Array:
    """Return the products of columns of X (..., n, D) that `monomials` names, (..., n, k)."""
    columns = []
    for factors in monomials:
        value = X[..., factors[0]]
        for j in factors[1:]:
            value = value * X[..., j]
        columns.append(value)
    return xp.stack(columns, axis=-1)


@dataclass(frozen=True)
class Function:
    """phi = any function of the features.

    Parameters
    ----------
    function : callable
        Takes rows (n, D) as NumPy array and returns (n,) or (n, k).
    mean : float or sequence of k floats, optional
        Its mean over the target, where known; otherwise the target rows estimate it.
    name : str, default="function"
        For messages.
    """

    function: Callable[[np.ndarray], Any] = field(repr=False)
    mean: Any = None
    name: str = "function"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(
                f"`function` must be callable on rows of features; got {self.function!r}."
            )

    def values(self, xp: Namespace, sample: Sample, /) -> tuple[Array, Array]:
        """Return the function's values."""
        domains = require_domains(sample, f"Function({self.name!r})")
        source = xp.stack([self._call(xp, rows, sample) for rows in _batches(domains.source)])
        if self.mean is None:
            return source, self._call(xp, domains.target, sample)
        known = np.atleast_2d(np.asarray(self.mean, dtype=np.float64))
        known = xp.astype(as_float(known, like=sample.losses), sample.losses.dtype)
        if known.shape != (1, source.shape[-1]):
            raise ValueError(
                f"`mean` of the control {self.name!r} must have {source.shape[-1]} values, one "
                f"per value of the function; got {known.shape[-1]}."
            )
        return source, known

    def _call(self, xp: Namespace, rows: Array, sample: Sample) -> Array:
        found = np.asarray(self.function(to_numpy(rows)), dtype=np.float64)
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or found.shape[0] != rows.shape[0]:
            raise ValueError(
                f"The control {self.name!r} must return one value (or one row of values) per row; "
                f"for {rows.shape[0]} rows it returned shape {found.shape}."
            )
        if not np.all(np.isfinite(found)):
            raise ValueError(
                f"The control {self.name!r} must be finite; it has NaN or infinite values at "
                f"{int(np.sum(~np.isfinite(found).all(axis=1)))} of {rows.shape[0]} rows. "
                "Impute or clip inside the function."
            )
        return xp.astype(as_float(found, like=sample.losses), sample.losses.dtype)


def _batches(X: Array) -> Iterator[Array]:
    for i in range(X.shape[0]):
        yield X[i, ...]


def require_domains(sample: Sample, who: str, /) -> Domains:
    """Return the features of both domains, or say who needs them."""
    if sample.domains is None:
        raise ValueError(
            f"`{who}` needs the features of both domains, to see the target mean of its control "
            "variates. Pass X_source and X_target to target_risk, or X_target to "
            "cross_val_risk or to the search's fit."
        )
    return sample.domains


def control_values(
    xp: Namespace, sample: Sample, controls: tuple[Control, ...], /
) -> tuple[Array, Array, np.ndarray]:
    """Return all controls side by side: at the source rows (B, n, k), at the target rows (m, k).

    Where a control differs between candidates, both have leading axes (B, L). The third array
    (k,) tells which columns are constant.
    """
    parts = [control.values(xp, sample) for control in controls]
    widths = [source.shape[-1] for source, _ in parts]
    constant = np.repeat([isinstance(control, Constant) for control in controls], widths)
    B, L, n = sample.losses.shape
    lead: tuple[int, ...] = ()
    if any(source.ndim == 4 for source, _ in parts):
        lead = (B, L)
        parts = [
            (source if source.ndim == 4 else source[:, None, ...], target)
            for source, target in parts
        ]
    rows = max(target.shape[-2] for _, target in parts)
    source = xp.concat(
        [xp.broadcast_to(s, (*(lead or (B,)), n, s.shape[-1])) for s, _ in parts], axis=-1
    )
    target = xp.concat([xp.broadcast_to(t, (*lead, rows, t.shape[-1])) for _, t in parts], axis=-1)
    return source, target, constant
