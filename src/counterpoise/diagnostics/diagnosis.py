"""From two samples and their weights to the record with its verdict."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise._arrays import array_namespace, as_float, to_numpy
from counterpoise._dask import is_dask
from counterpoise._format import format_count, format_p_value
from counterpoise._pareto import tail_size
from counterpoise._validation import check_finite, check_matrix, check_number, check_real
from counterpoise.diagnostics.gaps import Gap, find_gaps, separating_columns, worth_naming
from counterpoise.diagnostics.overlap import outside_share, two_sample_test
from counterpoise.diagnostics.record import Diagnostics
from counterpoise.diagnostics.row_sums import (
    ColumnSums,
    WeightSums,
    column_sums,
    loss_numbers,
    standardized,
    weight_numbers,
)
from counterpoise.diagnostics.shift import find_shift
from counterpoise.diagnostics.verdict import decide_verdict
from counterpoise.encoding import EncodedPair, encode_pair
from counterpoise.risk import HeldOut, Rehearsals, RiskEstimate, get_method
from counterpoise.risk.estimation import average_prepared, prepare_rows
from counterpoise.risk.label_test import LabelTest
from counterpoise.weights.default import DEFAULT_WEIGHTS
from counterpoise.weights.resolve import resolve_weights

__all__ = [
    "METHODS_COMPARED",
    "assemble",
    "conclude",
    "diagnose",
    "diagnose_encoded",
    "with_label_test",
    "with_rehearsals",
]


def _silent(phase: str) -> None:
    pass


def diagnose(
    X_source: Any,
    X_target: Any,
    /,
    *,
    weights: Any = DEFAULT_WEIGHTS,
    losses: Any = None,
    random_state: int | None = 0,
    progress: Callable[[str], None] | None = None,
) -> Diagnostics:
    """Decide whether weighted source rows can stand for the target, and say why and what to do.

    The verdict rests on the weights (effective rows, tail, mean), on the overlap of the two samples
    and on the balance of each feature. Warnings of the estimators about overlap are silenced,
    because the verdict says the same.

    Parameters
    ----------
    X_source : array, data frame, sparse matrix or Dask collection, (n_source, n_features)
        Mixed types and missing values are encoded by :class:`counterpoise.encoding.TableEncoder`.
    X_target : like `X_source`, of shape (n_target, n_features)
    weights : str, DensityRatio, array of shape (n_source,) or None, default="auto"
        "auto" (the default of the searches), the name of an estimator, an estimator, the weights
        themselves, or None for ones.
    losses : array of shape (n_source,), optional
        Losses of one model that was not trained on these rows.
    random_state : int or None, default=0
        Random seed of the folds of the two-sample test and of the rows drawn from large samples.
    progress : callable, optional
        Called with the name of each phase as it begins.

    Returns
    -------
    Diagnostics

    Notes
    -----
    The verdict is the worst that any quantity gives by its limits in
    ``counterpoise.diagnostics.THRESHOLDS``. The guide (:doc:`/guide/trust`) lists them, with where
    each comes from and how often intervals cover at each verdict.

    `shift` says whether the samples differ at all. If they do not, it reports a shift with a
    probability of at most about 1 %, however many columns there are.

    In large samples the two-sample test looks at 5000 rows of each domain and the support at 5000
    target rows and 50 000 source rows; everything else counts every row.

    On Dask arrays, or data frames of numbers, every number is the same to rounding, given the
    weights. Estimators other than GaussianRatio are then fitted to 10 000 rows of each sample and
    predict the weights of the others.

    No look at the features shows whether labels given features differ between the domains, or
    whether a feature is missing; :meth:`Diagnostics.sensitivity` says how much it could matter.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> cp.diagnose(X, rng.normal(size=(300, 2))).verdict
    'trust'
    >>> apart = cp.diagnose(X, rng.normal([6, 0], 1, size=(300, 2)), weights="gaussian")
    >>> apart.verdict
    'do not trust'
    >>> print(apart.advice[0])  # doctest: +ELLIPSIS
    Drop the column x0 (command line: --drop x0) if it only tells the two samples apart, and look...
    """
    check_number(
        0 if random_state is None else random_state,
        "random_state",
        low=0,
        closed="low",
        integer=True,
        remedy="Pass an integer, or None.",
    )
    tell = progress or _silent
    if is_dask(X_source, X_target, weights, losses):
        from counterpoise.diagnostics.dask import diagnose_dask

        return diagnose_dask(
            X_source, X_target, weights=weights, losses=losses, random_state=random_state, tell=tell
        )
    tell("encoding")
    pair = encode_pair(X_source, X_target)
    source = check_matrix(pair.source, "X_source").astype(np.float64, copy=False)
    target = check_matrix(pair.target, "X_target").astype(np.float64, copy=False)
    pair = replace(pair, source=source, target=target)
    tell("weights")
    w = _find_weights(weights, pair.independent(source), pair.independent(target))
    if losses is not None:
        losses = _check_losses(losses, w.shape[0])
    return diagnose_encoded(pair, w, losses, random_state=random_state, progress=tell)


def diagnose_encoded(
    pair: EncodedPair,
    w: np.ndarray,
    losses: np.ndarray | None = None,
    /,
    *,
    random_state: int | None = 0,
    progress: Callable[[str], None] = _silent,
    used: Sequence[str] = (),
) -> Diagnostics:
    """Return what `diagnose` does, for tables that are encoded and weights that are known.

    The numbers come from the encoded features, the names and regions from the tables. Weights that
    are all zero stand for an estimator that found no overlap. `used` names the risk method and the
    weight estimator, so that the advice does not recommend them.
    """
    tell, source, target = progress, pair.source, pair.target
    rows = pair.independent(source), pair.independent(target)
    rng = np.random.default_rng(random_state)
    tell("sums")
    columns = column_sums(source, w), column_sums(target)
    found = assemble(
        rows,
        columns,
        WeightSums.of(w, losses, tail_size(w.shape[0]) + 1),
        (list(pair.encoder.get_feature_names_out()), pair.encoder.feature_columns_),
        kept=pair.encoder.independent_,
        rng=rng,
        tell=tell,
    )
    tell("regions with little support")
    gaps = find_gaps(pair)
    tell("losses")
    risks = None
    if losses is not None and np.any(w > 0):
        risks = [_formula(losses, w, name) for name in METHODS_COMPARED]
    return conclude(replace(found, weights=w, losses=losses), risks, gaps, used)


def assemble(
    rows: tuple[Any, Any],
    columns: tuple[ColumnSums, ColumnSums],
    sums: WeightSums,
    names: tuple[list[str], list[str]],
    /,
    *,
    kept: Any = slice(None),
    rng: np.random.Generator,
    tell: Callable[[str], None],
) -> Diagnostics:
    """Return a record with what follows from sums and from some rows, without a verdict.

    `rows` are the source and the target: anything with a shape that takes an array of row numbers
    in brackets. `columns` are the sums of all encoded features, of which `rows` hold those that
    `kept` takes. `names` are those of the features and of the columns that they come from.
    """
    tell("two-sample test")
    test = two_sample_test(*rows, rng=rng)
    tell("support")
    spread = np.sqrt((columns[0].variance + columns[1].variance) / 2)
    outside = outside_share(*rows, rng=rng, spread=spread[kept])
    before, after = standardized(*columns)
    return Diagnostics(
        verdict="",
        reasons=[],
        advice=[],
        shift=find_shift(columns, test, outside, *names),
        n_target=columns[1].count,
        **weight_numbers(sums),
        **loss_numbers(sums),
        auc=test.auc,
        auc_error=test.standard_error,
        auc_p_value=test.p_value,
        outside_share=outside,
        features=names[0],
        feature_columns=names[1],
        balance_before=before,
        balance_after=after,
        weights=np.empty(0),
        losses=None,
    )


# The two whose distance and whose standard errors are held against each other.
METHODS_COMPARED = ("normalized", "controlled")


def conclude(
    found: Diagnostics,
    risks: list[RiskEstimate] | None,
    gaps: list[Gap],
    used: Sequence[str] = (),
    /,
) -> Diagnostics:
    """Add the regions without support, how far the risks by two methods differ, and the verdict."""
    named = worth_naming(gaps, found.n_source, found.n_target)
    found = replace(found, gaps=named, separating=separating_columns(gaps))
    if found.losses is not None:
        numbers = (math.nan, math.nan) if risks is None else _compare(*risks)
        found = replace(found, disagreement=numbers[0], error_ratio=numbers[1])
    verdict, reasons, advice = decide_verdict(found, used)
    return replace(found, verdict=verdict, reasons=reasons, advice=advice)


def with_rehearsals(
    found: Diagnostics, rehearsals: Rehearsals | None, /, *, used: Sequence[str] = ()
) -> Diagnostics:
    """Return the diagnosis with what rehearsals of the transfer found, and the verdict anew.

    Parameters
    ----------
    found : Diagnostics
    rehearsals : Rehearsals or None
        Of one risk, such as ``search.best_risk_.rehearsals``; None changes nothing.
    used : sequence of str
        As in `decide_verdict`.

    Returns
    -------
    Diagnostics
    """
    if rehearsals is None:
        return found
    found = replace(found, rehearsals=rehearsals)
    verdict, reasons, advice = decide_verdict(found, used)
    return replace(found, verdict=verdict, reasons=reasons, advice=advice)


def with_label_test(found: Diagnostics, test: LabelTest | None, /) -> Diagnostics:
    """Return the diagnosis with a significant difference of the labels, if there is one.

    Parameters
    ----------
    found : Diagnostics
    test : LabelTest or None
        Of labels of target rows, such as ``search.label_test_``; None changes nothing.

    Returns
    -------
    Diagnostics
        With one reason more, and "caution" where the verdict was "trust".
    """
    if test is None or not test.differ:
        return found
    verdict = "caution" if found.verdict == "trust" else found.verdict
    reason = (
        f"{format_count(test.n_labels, 'label')} of target rows do not fit what the source says "
        f"(p = {format_p_value(test.p_value)})."
    )
    return replace(found, verdict=verdict, reasons=[reason, *found.reasons])


def _formula(losses: np.ndarray, w: np.ndarray, name: str) -> RiskEstimate:
    """Return the risk as the method has it, even outside the range of the loss: that tells most."""
    held_out, method = HeldOut.of_sample(losses, w), get_method(name)
    return average_prepared(held_out, prepare_rows(held_out, method))[0]


def _compare(normalized: RiskEstimate, controlled: RiskEstimate) -> tuple[float, float]:
    """Distance in standard errors of the second, and ratio of the standard errors."""
    gap, error = abs(normalized.value - controlled.value), controlled.standard_error
    # Two that agree to rounding agree, even if neither has any spread.
    if not gap > 1e-12 * abs(normalized.value):
        gap = 0.0
    if not error > 0:
        return (0.0, 1.0) if gap == 0 else (math.inf, math.inf)
    return gap / error, normalized.standard_error / error


def _check_losses(losses: Any, n: int) -> np.ndarray:
    found = to_numpy(as_float(check_real(losses, "losses"))).astype(np.float64)
    if found.shape != (n,):
        raise ValueError(
            f"`losses` must have shape ({n},), one per source row; got shape {found.shape}. "
            "Pass the losses of one model, in the order of the rows."
        )
    remedy = "Drop or impute those samples, or check the predictions."
    check_finite(array_namespace(found), found, "losses", remedy)
    return found


def _find_weights(weights: Any, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Weights of the source rows, zero where an estimator finds no overlap at all."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message=".*hardly\\s+overlap", category=RuntimeWarning
            )
            found, _ = resolve_weights(weights, source, target)
    except ValueError as error:
        # Where supports are disjoint, that is the answer and not a failure to give one.
        if "gives every source point weight 0" not in str(error):
            raise
        return np.zeros(source.shape[0])
    return np.asarray(found, dtype=np.float64)
