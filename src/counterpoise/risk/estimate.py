"""The record that every risk estimate comes back as."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from counterpoise._arrays import Array, array_namespace, device, to_numpy
from counterpoise._facts import card_html, risk_card
from counterpoise._format import format_interval, format_number, format_share
from counterpoise._validation import check_choice, check_number
from counterpoise.risk.ranges import ANY, Bounds, interval_inside

__all__ = ["LEAST_ERROR", "FoldRisks", "Rehearsals", "RiskEstimate", "as_scalar"]

# The error to expect is _SHARE of the rehearsals' error, which have fewer rows, times the size of
# the shift. A few rehearsals are noisy: they count together with _USUAL_COUNT more whose error was
# _USUAL. At most _MOST. Set on the real tables of benchmarks/real_data.py, see the guide.
_USUAL, _USUAL_COUNT = 0.3, 6
_SHARE, _MOST = 0.8, 2.0
#: Least relative error, of whatever source, of a risk that was carried over to another population:
#: real populations differ where features show no shift. Set on the same tables.
LEAST_ERROR = 0.15


@dataclass(frozen=True, eq=False)
class Rehearsals:
    """How far the estimate was off when the transfer was rehearsed inside the source.

    Attributes
    ----------
    errors : array of shape (R, ...)
        Estimate less truth of each of R rehearsals, relative to the mean size of the two.
    shift : float
        Size of the real shift: the Kullback-Leibler divergence of the target from the source, as
        the weights see it.
    """

    errors: np.ndarray
    shift: float

    @property
    def typical(self) -> np.ndarray:
        """Root mean square of the errors, (...)."""
        size: np.ndarray = np.sqrt(np.mean(self.errors**2, axis=0))
        return size

    @property
    def relative_error(self) -> np.ndarray:
        """What to expect of the real transfer, relative to the risk, (...)."""
        count = len(self.errors)
        squares = count * self.typical**2 + _USUAL_COUNT * _USUAL**2
        error = _SHARE * self.shift * np.sqrt(squares / (count + _USUAL_COUNT))
        return np.minimum(error, _MOST)

    @property
    def words(self) -> str:
        """What was found, in a sentence, for one candidate."""
        off = np.abs(self.errors)
        least, most = (format_share(float(end)) for end in (np.min(off), np.max(off)))
        return (
            f"In {len(off)} rehearsals inside the source, between rows that play the source and "
            f"rows that play the target, the estimate was off by {least} to {most}."
        )

    def __getitem__(self, key: Any) -> Rehearsals:
        own = key if isinstance(key, tuple) else (key,)
        return replace(self, errors=self.errors[(slice(None), *own)])


@dataclass(frozen=True)
class RiskEstimate:
    """An estimated target risk, with how sure it is.

    Every number has the leading axes of the losses it came from: one value for one candidate, an
    array for many. ``estimate[i]`` is the estimate for candidate i.

    Attributes
    ----------
    value : float or array
        The estimated risk.
    standard_error : float or array
        Jackknife standard error (it counts the leverage of large weights). NaN for one sample.
    beta : float or array
        Coefficient of the control variate, averaged over folds by size; 0 where there is none.
    n_effective : float or array
        (sum w)^2 / sum w^2 for the weights that the method uses, over the number of times that a
        row is held out.
    degrees_of_freedom : float or array
        Of the t quantile in `interval`: `n_effective` - 1, at least 1, and no more than the
        number of jackknife replicates (rows, groups or blocks) minus the number of folds that
        share them out. Where the weights at target rows are not known, and where losses grow with
        the weights, no more than the number of rows that the variance rests on: (sum t^2)^2 /
        sum t^4 for the centred terms t.
    variance_reduction : float or array
        1 - variance / variance of the plain weighted estimate, both estimated. Negative where
        the method is noisier than plain weighting.
    method : str
        Name of the method.
    tail_error : float or array
        Standard error that the weights at the *target* rows imply, if they are known; else 0. A
        source sample may have missed the rows of large weight; the target sample has them.
    constant_error : float or array
        How far the method would be off if the loss were constant. It is known from the weights
        alone, and 0 for most methods.
    target_error : float or array
        Standard error from the finite number of target rows that the weights were fitted to; 0 if
        they were given.
    transfer_error : float or array
        What rehearsals of the transfer inside the source add (`rehearsals`), at least so much that
        all errors together are 15 % of the risk; 0 without rehearsals.
    bounds : (float, float)
        Range of the loss: (0, inf) if no loss is negative, (0, 1) if all are 0 or 1.
    constrained : bool or array
        Whether the method's own value was below the range: then `value` and `standard_error` are
        those of the self-normalised mean, which cannot leave it.
    rehearsals : Rehearsals or None
        What the rehearsals found.
    labels : Combination or None
        The two estimates that were combined, if labels of target rows were known.
    """

    value: Any
    standard_error: Any
    beta: Any
    n_effective: Any
    degrees_of_freedom: Any
    variance_reduction: Any
    method: str
    tail_error: Any = 0.0
    constant_error: Any = 0.0
    target_error: Any = 0.0
    transfer_error: Any = 0.0
    bounds: Bounds = ANY
    constrained: Any = False
    rehearsals: Rehearsals | None = field(default=None, repr=False, compare=False)
    labels: Any = None
    resample: Any = field(default=None, repr=False, compare=False)

    def interval(
        self,
        level: float = 0.95,
        kind: str = "normal",
        *,
        n_resamples: int = 1000,
        random_state: int = 0,
    ) -> tuple[Any, Any]:
        """Return the confidence interval as (low, high).

        The half-width is the larger of Student's t quantile with `degrees_of_freedom` times the
        standard error, and the normal quantile times `tail_error`. `constant_error` and the normal
        quantile times `target_error` and `transfer_error` are added in the square. It does not
        count the optimism of having chosen the best candidate.

        The interval stays inside the range of the loss: for losses that are never negative it is
        value * exp(-half / value) to value * exp(half / value), and for losses that are 0 or 1 it
        is the same for the log odds. Skewed losses need the longer upper side.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
        kind : {"normal", "bootstrap"}, default="normal"
            Which standard error: the jackknife's, which takes the weights as given, or that of
            `n_resamples` bootstrap resamples of the source rows (within folds) and of the target
            rows, with the weights estimated again on each if their estimator is known. A row held
            out several times enters once, with its mean loss and weight.
        n_resamples : int, default=1000
        random_state : int, default=0
            Random seed of the resamples.

        Returns
        -------
        low, high : float or array
        """
        check_number(level, "level", low=0, high=1, remedy="0.95 is usual.")
        check_choice(kind, "kind", ("normal", "bootstrap"))
        error = None if kind == "normal" else self._bootstrap_error(n_resamples, random_state)
        half = self.half_width(level, error)
        value, rows = to_numpy(self.value), to_numpy(self.n_effective)
        z = float(ndtri(0.5 + level / 2))
        low, high = interval_inside(value, half, self.bounds, rows, z)
        if isinstance(self.value, float):
            return float(low), float(high)
        if isinstance(self.value, np.ndarray):
            return low, high
        xp, where = array_namespace(self.value), device(self.value)
        ends = (xp.asarray(end, dtype=self.value.dtype, device=where) for end in (low, high))
        return tuple(ends)

    def half_width(
        self, level: float = 0.95, standard_error: np.ndarray | None = None, /
    ) -> np.ndarray:
        """Return half of the interval's width, before the interval is bent into the loss's range.

        With another standard error than the jackknife's, if one is given.
        """
        error = to_numpy(self.standard_error) if standard_error is None else standard_error
        dof = np.asarray(to_numpy(self.degrees_of_freedom), dtype=np.float64)
        z = ndtri(0.5 + level / 2)
        by_rows = stdtrit(dof, 0.5 + level / 2) * error
        half: np.ndarray = np.maximum(by_rows, z * to_numpy(self.tail_error))
        half = np.hypot(half, to_numpy(self.constant_error))
        for more in (self.target_error, self.transfer_error):
            half = np.hypot(half, z * to_numpy(more))
        return half

    def _bootstrap_error(self, n_resamples: int, random_state: int) -> np.ndarray:
        check_number(n_resamples, "n_resamples", low=2, closed="low", integer=True)
        if self.resample is None:
            raise ValueError(
                "`kind` is 'bootstrap', but this estimate does not know the losses it came from "
                "(it was made from sums, corrected, or unpickled). Use kind='normal', or estimate "
                "again with target_risk or cross_val_risk."
            )
        error: np.ndarray = self.resample.standard_error(
            n_resamples, np.random.default_rng(random_state)
        )
        return error

    def __getstate__(self) -> dict[str, Any]:
        # The resampler holds all rows: it stays behind when an estimate is pickled.
        return {**self.__dict__, "resample": None}

    def __getitem__(self, key: Any) -> RiskEstimate:
        if isinstance(self.value, float):
            raise TypeError("This RiskEstimate holds one risk and cannot be indexed.")
        shape = tuple(self.value.shape)
        picked = {
            f.name: as_scalar(part[key])
            for f in fields(self)
            if tuple(getattr(part := getattr(self, f.name), "shape", ())) == shape
        }
        if self.resample is not None:
            picked["resample"] = self.resample[key]
        if self.labels is not None:
            picked["labels"] = self.labels[key]
        if self.rehearsals is not None:
            picked["rehearsals"] = self.rehearsals[key]
        return replace(self, **picked)

    def _repr_html_(self) -> str:
        return card_html(risk_card(self))

    def __repr__(self) -> str:
        shape = tuple(getattr(self.value, "shape", ()))
        if shape:
            return f"RiskEstimate({self.method}, {shape} risks)"
        return (
            f"RiskEstimate({self.method}: {format_number(self.value)}, 95% interval "
            f"{format_interval(*self.interval())}, n_effective {format_number(self.n_effective)})"
        )


@dataclass(frozen=True)
class FoldRisks:
    """Risk and coefficient of the control variate of each fold alone, shapes (..., n_folds)."""

    values: Array
    betas: Array

    def scaled(self, unit: Array, /) -> FoldRisks:
        """Return both multiplied by the unit of the losses, (..., 1)."""
        return FoldRisks(self.values * unit, self.betas * unit)


def as_scalar(value: Any, /) -> Any:
    """Return a NumPy scalar as a float, and arrays as they are."""
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return float(value)
    return value
