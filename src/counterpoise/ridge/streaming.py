"""Cross-validated ridge path of rows in parts: survey them, weigh them, add up their statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from counterpoise._arrays import to_numpy
from counterpoise._validation import check_same_width
from counterpoise.ridge.accumulator import RidgeAccumulator
from counterpoise.ridge.folds import FoldRule
from counterpoise.ridge.parts import (
    Chunk,
    Parts,
    blame,
    check_labels,
    check_outputs,
    check_row_weights,
    check_rows,
)
from counterpoise.ridge.survey import Survey, pick_rows, survey_part
from counterpoise.risk.methods import Method
from counterpoise.weights.base import NO_OVERLAP_MEAN, DensityRatio, warn_no_overlap
from counterpoise.weights.gaussian import GaussianRatio
from counterpoise.weights.resolve import resolve_weights

__all__ = [
    "Classes",
    "Plan",
    "StreamWeights",
    "accumulate",
    "collect_part",
    "survey_source",
    "weigh",
]

# Rows that are weighed at once: kernel methods make temporaries of many columns.
_ROWS = 2**16


@dataclass(frozen=True)
class Classes:
    """The classes of a source.

    Attributes
    ----------
    labels : array of shape (n_classes,)
        Sorted.
    ranks : int array of shape (n_classes,)
        Each label's place in the order in which they first appear.
    counts : int array of shape (n_classes,)
        Numbers of rows, in that order.
    """

    labels: np.ndarray
    ranks: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, survey: Survey, /) -> Classes:
        """Collect the classes that a survey found."""
        seen = [part for part in survey.parts if len(part.labels)]
        if len({part.labels.dtype.kind in "OUST" for part in seen}) > 1:
            raise ValueError(
                "`y` must hold labels of one kind; got text in some parts and numbers in others. "
                "Convert the labels first."
            )
        every = np.concatenate([part.labels for part in seen])
        labels, first, inverse = np.unique(every, return_index=True, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(
                f"`y` must hold at least two classes; got 1 class, {labels[0]!r}. "
                "Pass labels of every class to be told apart."
            )
        ranks = np.argsort(np.argsort(first))
        sums = np.bincount(ranks[inverse], weights=np.concatenate([p.counts for p in seen]))
        return cls(labels, ranks, sums.astype(np.int64))

    def index(self, y: np.ndarray, /) -> np.ndarray:
        """Return the place of each label among the sorted ones."""
        index = np.minimum(np.searchsorted(self.labels, y), len(self.labels) - 1)
        unknown = self.labels[index] != y
        if np.any(unknown):
            raise ValueError(
                f"`y` holds the label {y[unknown][0]!r}, which was not there the first time. "
                "`chunks` must give the same rows each time it is read."
            )
        return index

    def against_rest(self, index: np.ndarray, /) -> np.ndarray:
        """Return outputs -1 and +1: one column for two classes, else one for each."""
        coded = np.where(index[:, None] == np.arange(len(self.labels)), 1.0, -1.0)
        return coded[:, 1:] if len(self.labels) == 2 else coded

    @property
    def level(self) -> np.ndarray:
        """Mean of the outputs."""
        shares = 2 * self.counts[self.ranks] / np.sum(self.counts) - 1
        return shares[1:] if len(shares) == 2 else shares


@dataclass(frozen=True)
class StreamWeights:
    """Where the weights of rows in parts come from.

    Attributes
    ----------
    estimator : DensityRatio or None
        Applied to every chunk.
    given : array of shape (n,) or None
        The weights themselves. With neither, they come with the chunks, or are ones.
    """

    estimator: DensityRatio | None = None
    given: np.ndarray | None = None


@dataclass(frozen=True)
class Plan:
    """All that a worker needs to know to collect the statistics of a part.

    Attributes
    ----------
    location : tuple of arrays of shape (D,) and (T,)
    folds : FoldRule
    method : Method
    classes : Classes or None
    estimator : DensityRatio or None
    """

    location: tuple[np.ndarray, np.ndarray]
    folds: FoldRule
    method: Method
    classes: Classes | None
    estimator: DensityRatio | None


def survey_source(
    weights: Any,
    source: Parts,
    target: Parts | None,
    /,
    *,
    classifier: bool,
    penalties: int,
    weight_rows: int,
) -> tuple[Survey, StreamWeights]:
    """Make the first pass over the source, and find out how its rows will be weighed.

    Parameters
    ----------
    weights : str, DensityRatio, array of shape (n,) or None
        Normal densities are fitted to all rows. Other estimators are fitted to a sample of each
        domain, unless they are fitted already. None: weights come with the chunks, or are ones.
    source, target : Parts
    classifier : bool
    penalties : int
    weight_rows : int
        Size of the samples.
    """
    kind = "classes" if classifier else "outputs"
    look = partial(survey_part, labels=kind, penalties=penalties, moments=False)
    if weights is None:
        return _survey(source, look), StreamWeights()
    if not isinstance(weights, str | type) and not hasattr(weights, "fit"):
        survey = _survey(source, look)
        return survey, StreamWeights(given=resolve_weights(weights, _Rows(survey.count), None)[0])
    if _is_fitted(weights):
        return _survey(source, look), StreamWeights(weights)
    if target is None or isinstance(weights, type):
        resolve_weights(weights, _Rows(1), None)  # says what is missing
    return _estimate(weights, source, cast(Parts, target), look, weight_rows)


def _estimate(
    weights: Any, source: Parts, target: Parts, look: partial[Survey], weight_rows: int
) -> tuple[Survey, StreamWeights]:
    """Survey both domains, and fit the weight estimator."""
    ratio = GaussianRatio() if isinstance(weights, str) and weights == "gaussian" else weights
    # Target rows are kept while a sample would hold them all.
    keep = max(1, 2**20 // weight_rows)
    of_target = partial(survey_part, labels="none", penalties=keep, title="X_target")
    if not isinstance(ratio, GaussianRatio):
        found = _survey(target, partial(of_target, moments=False))
        survey = _survey(source, look)
        _check_same_features(survey, found)
        X, Z = (_sample(*domain, weight_rows) for domain in ((source, survey), (target, found)))
        values, fitted = resolve_weights(ratio, X, Z)
        # All rows at hand: their own weights, which some estimators tell apart from predictions.
        whole = survey.kept is not None and len(X) == survey.count
        return survey, StreamWeights(fitted, values if whole else None)
    spread = _survey(target, partial(of_target, moments=True)).moments.spread  # type: ignore[union-attr]
    unit = np.where(spread > 0, spread, 1.0)
    found = _survey(target, partial(of_target, moments=True, unit=unit))
    survey = _survey(source, partial(look.func, **{**look.keywords, "moments": True, "unit": unit}))
    _check_same_features(survey, found)
    ratio = clone(ratio).fit_moments(survey.moments, found.moments)
    if survey.names is not None and all(isinstance(name, str) for name in survey.names):
        ratio.feature_names_in_ = survey.names
    if ratio.normalize:
        sums = source.run(partial(_sum_of_ratios, ratio), add)
        ratio.normalizer_ = cast(float, sums) / survey.count
    return survey, StreamWeights(ratio)


class _Rows:
    """Stands for a matrix of which only the number of rows matters."""

    def __init__(self, n: int) -> None:
        self.shape = (n, 1)


def _survey(parts: Parts, work: partial[Survey]) -> Survey:
    survey = parts.run(work, Survey.merge, order="F")
    title = work.keywords.get("title", "chunks")
    if survey is None or survey.count == 0:
        raise ValueError(
            f"`{title}` must have rows; got none. Check the files, or the function that yields "
            "the chunks."
        )
    return survey if survey.names is not None else replace(survey, names=parts.names)


def _check_same_features(survey: Survey, target: Survey) -> None:
    if survey.names is not None and target.names is not None and survey.names != target.names:
        raise ValueError(
            f"`X_target` must have the columns {survey.names}; got {target.names}. "
            "Pass the same columns in the same order."
        )
    check_same_width(target.location, len(survey.location), "X_target", "X")


def _is_fitted(weights: Any) -> bool:
    if isinstance(weights, str | type):
        return False
    try:
        check_is_fitted(weights, "weights_")
    except NotFittedError:
        return False
    return True


def _sample(parts: Parts, survey: Survey, rows: int) -> np.ndarray:
    """Rows of a domain: all, or that many drawn at random by their numbers."""
    n = survey.count
    if survey.kept is not None:
        X = np.concatenate([X for X, _, _ in survey.kept])
        return X if n <= rows else X[_picks(n, rows)]
    picks = _picks(n, min(rows, n))
    ends = np.cumsum([part.rows for part in survey.parts])
    starts = np.concatenate([[0], ends[:-1]])
    limits = np.searchsorted(picks, ends)
    places = [
        some - start for some, start in zip(np.split(picks, limits[:-1]), starts, strict=True)
    ]
    return np.concatenate(parts.run(pick_rows, add, places) or [])


def _picks(n: int, rows: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).choice(n, rows, replace=False, shuffle=False))


def _sum_of_ratios(ratio: DensityRatio, name: str, chunks: Iterable[Chunk], extra: None) -> float:
    return sum(float(np.sum(weigh(ratio, check_rows(X, "X")))) for X, _, _ in chunks if len(X))


def weigh(estimator: Any, X: np.ndarray, /) -> np.ndarray:
    """Return the estimated ratio at the rows of X (n, D)."""
    slices = (X[start : start + _ROWS] for start in range(0, len(X), _ROWS))
    return np.concatenate([to_numpy(estimator.predict(rows)) for rows in slices])


def accumulate(
    source: Parts, survey: Survey, weights: StreamWeights, plan: Plan, /
) -> RidgeAccumulator:
    """Make the second pass over the source: the statistics of all its rows."""
    starts = _starts(survey, plan.classes)
    ends = np.cumsum([part.rows for part in survey.parts])
    extras = [
        (start, part.rows, None if weights.given is None else weights.given[end - part.rows : end])
        for start, part, end in zip(starts, survey.parts, ends, strict=True)
    ]
    total = source.run(partial(collect_part, plan=plan), RidgeAccumulator.merge, extras)
    if total is None or total.n_rows != survey.count:
        raise ValueError(
            f"`chunks` gave {survey.count} rows the first time, and "
            f"{0 if total is None else total.n_rows} the second. It must give the same rows each "
            "time it is read: return a fresh iterator."
        )
    mean = total.mean_weight()
    if weights.estimator is not None and mean < NO_OVERLAP_MEAN:
        warn_no_overlap(
            f"the ratio averages {mean:.1g} over the source points, where 1 is expected"
        )
    return total


def _starts(survey: Survey, classes: Classes | None) -> list[np.ndarray]:
    """How many rows (of each class, in the order of appearance) come before each part."""
    if classes is None:
        counts = np.asarray([[part.rows] for part in survey.parts])
    else:
        counts = np.zeros((len(survey.parts), len(classes.labels)), dtype=np.int64)
        for row, part in zip(counts, survey.parts, strict=True):
            if part.rows:
                row[classes.ranks[classes.index(part.labels)]] = part.counts
    return list(np.cumsum(counts, axis=0) - counts)


def collect_part(
    name: str,
    chunks: Iterable[Chunk],
    extra: tuple[np.ndarray, int, np.ndarray | None],
    /,
    *,
    plan: Plan,
) -> RidgeAccumulator:
    """Collect the statistics of a part.

    `extra` says how many rows come before it (by class), how many it has, and their weights where
    they are given.
    """
    before, rows, given = extra
    total = RidgeAccumulator(
        plan.folds, method=plan.method, location=plan.location, first_row=before
    )
    D, T = (len(part) for part in plan.location)
    with blame(name):
        for X, y, w in chunks:
            # The sums will tell whether all is finite, as it was the first time.
            X = check_rows(X, "X", width=D, finite=False)
            n = len(X)
            done = total.n_rows
            if n == 0:
                continue
            if plan.classes is None:
                Y, codes = check_outputs(y, n, "y", outputs=T), np.zeros(n, dtype=np.int64)
            else:
                index = plan.classes.index(check_labels(y, n, "y"))
                Y, codes = plan.classes.against_rest(index), plan.classes.ranks[index]
            if given is not None and done + n <= rows:
                values = given[done : done + n]
            elif plan.estimator is not None:
                values = weigh(plan.estimator, X)
            else:
                values = np.ones(n) if w is None else check_row_weights(w, n, "weights")
            total.add(X, Y, values, codes)
        if total.n_rows != rows:
            raise ValueError(
                f"had {rows} rows the first time, and {total.n_rows} the second. `chunks` must "
                "give the same rows each time it is read."
            )
        if not total.is_finite():
            raise ValueError(
                "`X` and the weights must be finite; a sum over them is not, though the rows were "
                "the first time. `chunks` must give the same rows each time it is read, and none "
                "so large that their squares overflow."
            )
    return total
