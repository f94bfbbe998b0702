"""Rehearsals: every method estimates a risk that is known, on samples drawn from the target rows.

Target rows drawn with probability 1 / w are distributed like the source, their weights w are known,
and so is the mean over all of them: a shift of the same shape and the same heavy tail, with a known
answer. The loss of a target row is that of the nearest source row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from array_api_compat import numpy as np_xp

from counterpoise._arrays import Array, Namespace, as_float, device, to_numpy
from counterpoise._neighbors import Neighbors
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.method import Method
from counterpoise.risk.strata import average_value

__all__ = ["Rehearsal", "combine", "rehearse"]

# Rehearsals hold about this many losses at a time.
_LARGE = 2**22
_MOST_CANDIDATES = 20
# Large samples are rehearsed less often: so many rows in all, but never fewer times than this.
_MOST_ROWS, _FEWEST = 100_000, 10


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What M methods said in R rehearsals of L candidates.

    All errors are root mean squares over rehearsals, relative to the level of the true risks: their
    mean over the better half of the candidates. What the poor ones cost need not be known well.
    """

    values: np.ndarray  # (R, M, L)
    mean_loss: np.ndarray  # (R, L), unweighted
    truth: np.ndarray  # (L,)

    @property
    def how(self) -> str:
        """Where the errors come from, in words."""
        return f"in {len(self.values)} rehearsals"

    def level_errors(self) -> np.ndarray:
        """Return the errors (M,) of the level."""
        return _root_mean_square(self._better().mean(axis=-1))

    def difference_errors(self) -> np.ndarray:
        """Return the errors (M,) of the differences between the better half of the candidates."""
        errors = self._better()
        return _root_mean_square(errors - errors.mean(axis=-1, keepdims=True))

    def risk_errors(self, level: int, /) -> np.ndarray:
        """Return the errors (M,) of all risks, by each method's differences from one's level."""
        mean_loss = self.mean_loss[:, None, :]
        both = combine(np_xp, self.values[:, [level], :], self.values, mean_loss)
        return _root_mean_square(both - self.truth) / self._scale()

    def _better(self) -> np.ndarray:
        """Relative errors (R, M, L / 2) of the better half of the candidates."""
        better = np.argsort(self.truth)[: (len(self.truth) + 1) // 2]
        return (self.values[..., better] - self.truth[better]) / self._scale()

    def _scale(self) -> float:
        half = np.sort(self.truth)[: (len(self.truth) + 1) // 2]
        # Without any loss there is no relative error: then it is an absolute one.
        return abs(float(np.mean(half))) or 1.0


def _root_mean_square(errors: np.ndarray) -> np.ndarray:
    """Over rehearsals and candidates, (R, M, ...) -> (M,)."""
    other = tuple(axis for axis in range(errors.ndim) if axis != 1)
    return np.sqrt(np.mean(errors**2, axis=other))


def rehearse(
    xp: Namespace,
    held_out: HeldOut,
    methods: Sequence[Method],
    /,
    *,
    n_rehearsals: int,
    rng: np.random.Generator,
) -> Rehearsal:
    """Let the target rows play the source of as many rows.

    Of many candidates, 20 are taken, spread evenly. Only the first data set of a batch is looked
    at.
    """
    losses, weights, domains = _stage(xp, held_out)
    folds, n = held_out.folds.once(), held_out.n_rows
    L, m = losses.shape
    chance = np.where(weights > 0, 1 / np.where(weights > 0, weights, 1.0), 0.0)
    chance /= chance.sum()
    known = as_float(
        np.where(chance > 0, 1 / (m * np.where(chance > 0, chance, 1)), 0.0), like=losses
    )
    n_rehearsals = min(n_rehearsals, max(_FEWEST, _MOST_ROWS // n))
    step = max(1, _LARGE // (L * n))
    values, mean_loss = [], []
    for start in range(0, n_rehearsals, step):
        count = min(step, n_rehearsals - start)
        rows = rng.choice(m, size=(count, n), p=chance)
        index = xp.asarray(rows.ravel(), device=device(losses))
        drawn = xp.moveaxis(xp.reshape(xp.take(losses, index, axis=-1), (L, count, n)), 0, 1)
        pretended = HeldOut(
            drawn,
            xp.reshape(xp.take(known, index, axis=0), (count, 1, n)),
            folds,
            Domains(
                xp.reshape(xp.take(domains.target, index, axis=0), (count, n, -1)),
                domains.target,
                known,
            ),
        )
        found = [average_value(xp, one.prepare(xp, pretended), folds) for one in methods]
        values.append(np.stack([to_numpy(value) for value in found], axis=1))
        mean_loss.append(to_numpy(xp.mean(drawn, axis=-1)))
    return Rehearsal(
        np.concatenate(values), np.concatenate(mean_loss), to_numpy(xp.mean(losses, axis=-1))
    )


def _stage(xp: Namespace, held_out: HeldOut) -> tuple[Array, np.ndarray, Domains]:
    """Losses (L, m) at the target rows, weights (m,) there, and the features."""
    domains = held_out.domains
    assert domains is not None  # both checked by the caller
    assert domains.target_weights is not None
    losses = held_out.losses[0, ...]
    L = losses.shape[0]
    if L > _MOST_CANDIDATES:
        spread = np.linspace(0, L - 1, _MOST_CANDIDATES).round().astype(int)
        losses = xp.take(losses, xp.asarray(spread, device=device(losses)), axis=0)
    source, target = to_numpy(domains.source[0, ...]), to_numpy(domains.target)
    spread = target.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    nearest = Neighbors(source / scale).nearest(target / scale)
    losses = xp.take(losses, xp.asarray(nearest, device=device(losses)), axis=-1)
    weights = to_numpy(domains.target_weights).astype(np.float64)
    # A source sample of n rows has no rows of a weight above n, and can have no row that is more
    # than n times as frequent as in the target. Weights of 0 stay: such rows are never drawn.
    n = held_out.n_rows
    return losses, np.where(weights > 0, np.clip(weights, 1 / n, n), 0.0), domains


def combine(xp: Namespace, level: Array, difference: Array, mean_loss: Array, /) -> Array:
    """Return risks (..., L) with the level of the first and the differences of the second.

    The level is the mean over the better half of the candidates by their unweighted loss.
    """
    rank = xp.argsort(xp.argsort(mean_loss, axis=-1), axis=-1)
    size = (mean_loss.shape[-1] + 1) // 2
    share = xp.astype(rank < size, mean_loss.dtype) / size
    return difference + xp.sum((level - difference) * share, axis=-1, keepdims=True)
