"""From two samples and their weights to the record with its verdict.

Rows are summarised first, in memory here and block by block in `dask`; one function concludes from
the summary.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._arrays import as_float, to_numpy
from counterpoise._dask import is_dask
from counterpoise._pareto import tail_size
from counterpoise._validation import check_finite, check_matrix, check_real
from counterpoise.diagnostics.gaps import Gap, find_gaps, separating_columns, worth_naming
from counterpoise.diagnostics.overlap import outside_share, two_sample_test
from counterpoise.diagnostics.record import Diagnostics
from counterpoise.diagnostics.row_sums import ColumnSums, WeightSums, column_sums, standardized
from counterpoise.diagnostics.shift import find_shift
from counterpoise.diagnostics.verdict import VERDICTS, decide_verdict
from counterpoise.encoding import EncodedPair, encode_pair
from counterpoise.encoding.rows import take
from counterpoise.risk import GroupRisks, LabelTest
from counterpoise.risk.groups import group_labels
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.resolve import DEFAULT_WEIGHTS, resolve_weights

# With fewer rows of a group in either sample nothing can be said about their overlap.
_FEWEST = 10


def judge_groups(
    risks: GroupRisks,
    pair: EncodedPair,
    groups: tuple[Any, Any],
    weights: np.ndarray,
    losses: np.ndarray | None = None,
    /,
) -> GroupRisks:
    """Add verdict, reasons and overlap to every group, by the rule of `diagnose`.

    `groups` are those of every source row and of every target row; `weights` and `losses` have
    shape (n_source,).
    """
    of_source, of_target = group_labels(*groups)
    judged = {}
    for name, group in risks.items():
        rows, target_rows = np.flatnonzero(of_source == name), np.flatnonzero(of_target == name)
        n, m = len(rows), len(target_rows)
        if n < _FEWEST or m < _FEWEST or group.risk is None:
            few = f"The source has {n} and the target {m} rows of this group."
            judged[name] = replace(group, verdict=VERDICTS[-1], reasons=[few])
            continue
        part = replace(
            pair,
            X_source=take(pair.X_source, rows),
            X_target=take(pair.X_target, target_rows),
            source=pair.source[rows],
            target=pair.target[target_rows],
        )
        # Only the relative weights of its rows matter within a group.
        relative = weights[rows] / np.mean(weights[rows])
        diagnosed = diagnose_encoded(part, relative, None if losses is None else losses[rows])
        verdict, reasons, outside = diagnosed.verdict, diagnosed.reasons, diagnosed.outside_share
        judged[name] = replace(group, verdict=verdict, reasons=reasons, outside_share=outside)
    return GroupRisks(judged, risks.overall)


def diagnose(
    X_source: Any,
    X_target: Any,
    /,
    *,
    weights: Any = DEFAULT_WEIGHTS,
    losses: Any = None,
    label_test: LabelTest | None = None,
) -> Diagnostics:
    """Decide whether weighted source rows can stand for the target, and say why and what to do.

    The verdict rests on the overlap of the two samples, on the weights (effective rows, tail, mean,
    balance of each feature), on the tails of the losses and on what labels of target rows say.
    Warnings of the estimators about overlap are silenced, because the verdict says the same.

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
    label_test : LabelTest, optional
        What labels of target rows say of this model's risk, such as ``search.label_test_``. Without
        it the best verdict is "plausible".

    Returns
    -------
    Diagnostics

    Notes
    -----
    The verdict is the worst that any quantity gives by its limits in
    ``counterpoise.diagnostics.THRESHOLDS``; see :doc:`/guide/trust`. `shift` says whether the
    samples differ at all. If they do not, it reports a shift with a probability of at most about
    1 %, however many columns there are.

    In large samples the two-sample test looks at 5000 rows of each domain, the support at 5000
    target rows and 50 000 source rows, and the ends of a column's support are quantiles of 200 000
    source rows. Which rows depends on their number only. Everything else counts every row.

    On Dask arrays, or data frames of numbers, every number is the same to rounding, given the
    weights. Estimators are then fitted to at most 20 000 rows of each sample, as the default always
    is, and predict the weights of the others.

    No look at the features shows whether labels given features differ between the domains, or
    whether a feature is missing. Labels of target rows do (`label_test`);
    :func:`counterpoise.risk.sensitivity` says how much it could matter.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> cp.diagnose(X, rng.normal(size=(300, 2))).verdict
    'plausible'
    >>> apart = cp.diagnose(X, rng.normal([6, 0], 1, size=(300, 2)), weights="gaussian")
    >>> apart.verdict
    'do not trust'
    >>> print(apart.advice[0])  # doctest: +ELLIPSIS
    Leave out x0 if that only tells the two samples apart, and look again...
    """
    if is_dask(X_source, X_target, weights, losses):
        from counterpoise.diagnostics.dask import summarise_dask

        return _conclude(summarise_dask(X_source, X_target, weights, losses), label_test)
    pair = encode_pair(X_source, X_target)
    source = check_matrix(pair.source, "X_source").astype(np.float64, copy=False)
    target = check_matrix(pair.target, "X_target").astype(np.float64, copy=False)
    pair = replace(pair, source=source, target=target)
    w, _ = fit_weights(weights, pair.independent(source), pair.independent(target))
    if losses is not None:
        losses = to_numpy(as_float(check_real(losses, "losses"))).astype(np.float64)
        check_one_per_row(losses, "losses", len(w))
        check_finite(xp, losses, "losses", "Drop or impute those samples.")
    return diagnose_encoded(pair, w, losses, label_test=label_test)


def diagnose_encoded(
    pair: EncodedPair,
    w: np.ndarray,
    losses: np.ndarray | None = None,
    /,
    *,
    label_test: LabelTest | None = None,
) -> Diagnostics:
    """Return what `diagnose` does, for tables that are encoded and weights that are known.

    The numbers come from the encoded features, the names and regions from the tables. Weights that
    are all zero stand for an estimator that found no overlap.
    """
    summary = Summary(
        rows=(pair.independent(pair.source), pair.independent(pair.target)),
        columns=(column_sums(pair.source, w), column_sums(pair.target)),
        sums=WeightSums.of(w, losses, tail_size(w.shape[0]) + 1),
        weights=w,
        losses=losses,
        gaps=find_gaps(pair),
        features=list(pair.encoder.get_feature_names_out()),
        feature_columns=pair.encoder.feature_columns_,
        kept=pair.encoder.independent_,
    )
    return _conclude(summary, label_test)


@dataclass(frozen=True, eq=False)
class Summary:
    """What a diagnosis needs to know of source and target."""

    rows: tuple[Any, Any]  # what has a shape and takes an array of row numbers in brackets
    columns: tuple[ColumnSums, ColumnSums]  # of all encoded features
    sums: WeightSums
    weights: Any  # (n,), a NumPy or a Dask array
    losses: Any  # the same, or None
    gaps: Sequence[Gap]
    features: list[str]
    feature_columns: list[str]
    kept: Any  # index of the encoded features that `rows` hold


def _conclude(summary: Summary, label_test: LabelTest | None) -> Diagnostics:
    """Return the record with its verdict."""
    rng = np.random.default_rng(0)
    columns, features, owners = summary.columns, summary.features, summary.feature_columns
    test = two_sample_test(*summary.rows, rng=rng)
    spread = np.sqrt((columns[0].variance + columns[1].variance) / 2)[summary.kept]
    outside = outside_share(*summary.rows, spread, rng=rng)
    before, after = standardized(*columns)
    diagnostics = Diagnostics(
        verdict="",
        reasons=[],
        advice=[],
        shift=find_shift(columns, test, outside, features, owners),
        n_source=columns[0].count,
        n_target=columns[1].count,
        **summary.sums.numbers(),
        rows_deciding=summary.sums.rows_deciding(summary.weights, summary.losses),
        auc=test.auc,
        auc_p_value=test.p_value,
        outside_share=outside,
        features=features,
        feature_columns=owners,
        balance_before=before,
        balance_after=after,
        gaps=worth_naming(summary.gaps, columns[0].count, columns[1].count),
        separating=separating_columns(summary.gaps),
        weights=summary.weights,
        losses=summary.losses,
        label_test=label_test,
    )
    verdict, reasons, advice = decide_verdict(diagnostics)
    return replace(diagnostics, verdict=verdict, reasons=reasons, advice=advice)


def check_one_per_row(values: Any, name: str, n: int, /) -> None:
    """Refuse losses or weights of another shape than (n,)."""
    if tuple(values.shape) != (n,):
        raise ValueError(
            f"`{name}` must have shape ({n},), one per source row; got shape "
            f"{tuple(values.shape)}. Pass those of one model, in the order of the rows."
        )


def fit_weights(
    weights: Any, source: np.ndarray, target: np.ndarray, /
) -> tuple[np.ndarray, DensityRatio | None]:
    """Resolve weights; all are zero where an estimator finds no overlap at all."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*hardly\\s+overlap", RuntimeWarning)
            return resolve_weights(weights, source, target)
    except ValueError as error:
        # Where supports are disjoint, that is the answer and not a failure to give one.
        if "gives every source point weight 0" not in str(error):
            raise
        return np.zeros(source.shape[0]), None
