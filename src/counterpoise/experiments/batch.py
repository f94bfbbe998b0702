"""Data sets that are drawn and analysed together, as arrays of any library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterpoise._arrays import Array, Namespace, array_namespace


@dataclass(frozen=True)
class Batch:
    """R data sets. An array without the leading axis R is the same for all of them."""

    X: Array  # source, (R, n, D)
    y: Array  # (R, n)
    masks: Array = None  # 1.0 where a row belongs to a fold, (K, n) or (R, K, n)
    X_target: Array = None  # (R, m, D) or (m, D)
    # Means of a a' over the labelled target rows a = (z, 1, u), (R, q, q) or (q, q).
    target_moments: Array = None
    # Mean and Cholesky factor of the target, if it is the same for all.
    target_fit: tuple[Array, ...] | None = None


def joined(parts: Sequence[Batch], /) -> Batch:
    """Return one batch of the data sets of several; what they share is kept once."""
    xp = array_namespace(parts[0].X)
    names = _varying(parts[0])
    arrays = {name: xp.concat([getattr(part, name) for part in parts], axis=0) for name in names}
    return replace(parts[0], **arrays)


def portion(batch: Batch, part: slice, /) -> Batch:
    """Return some of the data sets of a batch."""
    return replace(batch, **{name: getattr(batch, name)[part, ...] for name in _varying(batch)})


def to_device(batch: Batch, xp: Namespace, place: Any, /) -> Batch:
    """Return the batch as arrays of another library or device."""

    def move(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(move(v) for v in value)
        return None if value is None else xp.asarray(value, device=place)

    return replace(batch, **{name: move(value) for name, value in vars(batch).items()})


def _varying(batch: Batch) -> list[str]:
    """Names of the arrays that differ between the data sets."""
    others = ("X", "masks", "X_target", "target_moments")
    return ["y", *(name for name in others if getattr(getattr(batch, name), "ndim", 0) == 3)]
