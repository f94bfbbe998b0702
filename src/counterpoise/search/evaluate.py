"""Cross-validate candidates: the one expensive pass, which ends in held-out losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._folds import Folds, Splits
from counterpoise._sklearn import num_samples, safe_indexing
from counterpoise.encoding import TableEncoder, encode_pair
from counterpoise.encoding.rows import split_table
from counterpoise.losses import Loss
from counterpoise.ridge.row_losses import ridge_held_out
from counterpoise.risk import Domains, HeldOut
from counterpoise.search.fitting import Candidate, FoldResult, Judged, fit_fold, join_rows
from counterpoise.search.labels import TargetLabels
from counterpoise.search.responses import Responses, richest_response
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.resolve import DEFAULT_WEIGHTS, resolve_weights

# Called with (fits done, fits in all).
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How candidates are cross-validated: everything but the data and the candidates.

    The fields are parameters of :class:`~counterpoise.ShiftGridSearchCV`, and what they ask for.
    """

    loss: Loss
    weights: Any = DEFAULT_WEIGHTS
    cv: Any = 5
    fit_weighted: bool = False
    blend: bool = False  # whether predictions will be averaged
    metrics: bool = False  # whether metrics will be computed from predictions
    train_labels: bool = False  # whether labelled target rows join the other folds' training rows
    catch: bool = False  # whether a failing fit gives NaN
    n_jobs: int | None = None
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What cross-validation found, for L candidates and K folds with N held-out rows in all."""

    candidates: Sequence[Candidate]
    held_out: HeldOut  # of all candidates; held-out rows of one split after the other
    responses: Responses  # how its predictions are stored
    splits: Splits
    weights: np.ndarray  # (n,): of all source rows
    weight_estimator: DensityRatio | None
    encoder: TableEncoder | None  # of the features that the weights are fitted to
    fit_time: np.ndarray  # (L, K): seconds
    classes: np.ndarray | None = None  # (L, N): places of predicted classes, for metrics
    labels: TargetLabels | None = None
    labelled: Judged | None = None  # (L, k): on the labelled target rows

    @property
    def held_out_rows(self) -> np.ndarray:
        """The source row of each held-out loss, (N,)."""
        return np.concatenate([test for _, test in self.splits])


def evaluate(
    candidates: Sequence[Candidate],
    X: Any,
    y: np.ndarray,
    X_target: Any,
    how: CrossValidation,
    /,
    *,
    groups: np.ndarray | None = None,
    fit_params: Mapping[str, Any] | None = None,
    labels: TargetLabels | None = None,
    like: Evaluation | None = None,
) -> Evaluation:
    """Fit every candidate on every fold; return held-out losses and predictions with weights.

    Weights are estimated once, on all source rows (the paper). Of the target rows whose labels are
    known, row i is judged by the model of fold i modulo K. Predictions are kept if they take at
    most 1 GiB; where a blend or metrics need them, more is refused. Splits and weights are those of
    another evaluation of the same rows, if one is given (`like`).
    """
    if like is None:
        classifier = is_classifier(candidates[0].estimator)
        splits, groups = split_table(how.cv, X, y, classifier=classifier, groups=groups)
        folds = Folds.of_splits(splits, groups=groups)
        weights, estimator, domains, encoder = _weigh(how.weights, X, X_target, splits)
    else:
        splits, weights, estimator = like.splits, like.weights, like.weight_estimator
        domains, encoder, folds = like.held_out.domains, like.encoder, like.held_out.folds
    responses = _plan_responses(candidates, y, how, folds.n_losses)
    keep = responses.fits(len(candidates), folds.n_losses)
    # Weights of 1 are not passed to fit: a forest draws its bootstrap differently with any.
    weighted = how.fit_weighted and bool(np.any(weights != 1))

    def target_rows(k: int) -> tuple[Any, Any]:
        """Return the labelled target rows that fold k judges and those that join its training."""
        if labels is None:
            return None, None
        own = np.arange(len(labels.rows)) % len(splits) == k
        judged = labels.take(X_target, own) if own.any() else None
        return judged, labels.take(X_target, ~own) if how.train_labels else None

    fit_time, outcome, labelled = np.zeros((len(candidates), len(splits))), None, None
    if labels is None and not fit_params:
        outcome = _ridge_path(candidates, X, y, splits, weights if weighted else None, how)
    if outcome is None:
        tasks = (
            delayed(fit_fold)(
                candidate,
                rows,
                y,
                split,
                weights[split[0]] if weighted else None,
                responses,
                fit_params or {},
                keep=keep,
                labelled=judged,
                more=joining,
                catch=how.catch,
            )
            for k, split in enumerate(splits)
            for candidate, (rows, judged, joining) in _encode_once(
                candidates, (X, *target_rows(k)), y, split[0], fit_params
            )
        )
        outcome = Judged.empty((len(candidates), folds.n_losses), responses, keep=keep)
        if labels is not None:
            labelled = Judged.empty((len(candidates), len(labels.rows)), responses, keep=keep)
        fit_time = _collect(_run(tasks, how), folds, outcome, labelled, how.progress)
    held_out = HeldOut(
        outcome.losses,
        weights[np.concatenate([test for _, test in splits])],
        folds,
        domains=domains,
        predictions=outcome.predictions,
        labelled=None if labelled is None else labelled.losses,
        largest=how.loss.largest,
    )
    known = (candidates, held_out, responses, splits, weights, estimator, encoder, fit_time)
    return Evaluation(*known, classes=outcome.classes, labels=labels, labelled=labelled)


def _weigh(
    weights: Any, X: Any, X_target: Any, splits: Splits
) -> tuple[np.ndarray, DensityRatio | None, Domains | None, TableEncoder | None]:
    """Return the weights of all source rows, their estimator, features of both, and the encoder."""
    if X_target is None:
        return *resolve_weights(weights, np.empty((num_samples(X), 0)), None), None, None
    pair = encode_pair(X, X_target)
    source, target = pair.independent(pair.source), pair.independent(pair.target)
    values, estimator = resolve_weights(weights, source, target)
    rows = np.concatenate([test for _, test in splits])
    held_out = np.asarray(source[rows], dtype=np.float64)
    domains = Domains.of_rows(held_out, held_out, target, estimator)
    return values, estimator, domains, pair.encoder


def _plan_responses(
    candidates: Sequence[Candidate], y: np.ndarray, how: CrossValidation, rows: int
) -> Responses:
    """Decide what is stored; refuse a blend or metrics of more than fits, before any work."""
    estimators = list({id(c.estimator): c.estimator for c in candidates}.values())
    classifier = is_classifier(estimators[0])
    response = how.loss.response
    if how.blend or how.metrics:
        response = richest_response(estimators)
    classes = np.unique(y) if classifier else None
    # A blend predicts the most probable class.
    with_classes = how.metrics and classifier and not how.blend
    responses = Responses(how.loss, response, classes, with_classes=with_classes)
    if (how.blend or how.metrics) and not responses.fits(len(candidates), rows):
        name, instead = ("refit", "refit=True") if how.blend else ("metrics", "metrics=None")
        raise ValueError(
            f"`{name}` needs the held-out predictions of {len(candidates)} candidates for {rows} "
            f"rows: {responses.gibibytes(len(candidates), rows):.1f} GiB, and at most 1 is kept. "
            f"Search fewer candidates, or pass {instead}."
        )
    return responses


def _ridge_path(
    candidates: Sequence[Candidate],
    X: Any,
    y: np.ndarray,
    splits: Splits,
    weights: np.ndarray | None,
    how: CrossValidation,
) -> Judged | None:
    """Solve plain ridge regression for all penalties at once; None for any other search."""
    first = candidates[0].estimator
    if type(first) is not Ridge or first.positive or how.loss.name != "squared":
        return None
    if any(c.estimator is not first or set(c.params) != {"alpha"} for c in candidates):
        return None
    alphas = [c.params["alpha"] for c in candidates]
    plain = all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in (X, y))
    plain = plain and all(isinstance(alpha, Real) and float(alpha) > 0 for alpha in alphas)
    if not plain or not np.isfinite(np.sum(X)):
        return None  # left to scikit-learn, which converts or refuses
    path = ridge_held_out(
        X,
        y[:, None],
        np.ones(len(y)) if weights is None else weights,
        splits,
        np.asarray(alphas, dtype=np.float64),
        intercept="free" if first.fit_intercept else "none",
        keep_predictions=True,
    )
    if how.progress is not None:
        how.progress(len(alphas) * len(splits), len(alphas) * len(splits))
    return Judged(path.losses, path.predictions[:, 0, :])


def _encode_once(
    candidates: Sequence[Candidate],
    rows: tuple[Any, Any, Any],
    y: np.ndarray,
    train: np.ndarray,
    fit_params: Mapping[str, Any] | None,
) -> Iterator[tuple[Candidate, tuple[Any, Any, Any]]]:
    """Yield candidates with what they see of a fold; pipelines with equal encoders share it.

    `rows` are source rows, labelled target rows to judge, and others that join the training rows.
    """
    X, labelled, more = rows
    encoded: dict[str, tuple[Any, Any, Any]] = {}
    for candidate in candidates:
        (name, encoder), *others = getattr(candidate.estimator, "steps", [("", None)])
        own = fit_params or any(param.split("__")[0] == name for param in candidate.params)
        if type(encoder) is not TableEncoder or not others or own:
            yield candidate, rows
            continue
        key = str(encoder.get_params())
        if key not in encoded:
            known = safe_indexing(X, train)
            known = known if more is None else join_rows(known, y[train], None, more)[0]
            encode = clone(encoder).fit(known).transform
            pairs = (pair and (encode(pair[0]), pair[1]) for pair in (labelled, more))
            encoded[key] = encode(X), *pairs
        yield replace(candidate, estimator=candidate.estimator[1:]), encoded[key]


def _run(tasks: Any, how: CrossValidation) -> Iterable[FoldResult]:
    """Return the results in order, lazily if a progress callback is set and the backend can."""
    backend, _ = get_active_backend()
    lazy = how.progress is not None and backend.supports_return_generator
    results: Iterable[FoldResult] = Parallel(
        n_jobs=how.n_jobs, return_as="generator" if lazy else "list"
    )(tasks)
    return results


def _collect(
    results: Iterable[FoldResult],
    folds: Folds,
    held_out: Judged,
    labelled: Judged | None,
    progress: Progress | None,
) -> np.ndarray:
    """Fill in what all fits judged, which come in order; return their times (L, K)."""
    candidates, K = len(held_out.losses), len(folds)
    fit_time = np.empty((candidates, K))
    errors: list[str] = []
    for i, result in enumerate(results):
        fold, candidate = divmod(i, candidates)
        fit_time[candidate, fold] = result.fit_time
        if result.held_out is None:
            errors.append(result.error)
        else:
            held_out.put((candidate, folds[fold]), result.held_out)
        if labelled is not None and result.labelled is not None:
            labelled.put((candidate, slice(fold, None, K)), result.labelled)
        if progress is not None:
            progress(i + 1, candidates * K)
    if errors:
        _report_failures(errors, candidates * K)
    return fit_time


def _report_failures(errors: Sequence[str], fits: int) -> None:
    if len(errors) == fits:
        raise ValueError(
            f"All {fits} fits failed, so there is nothing to choose from. Check the estimator and "
            f"its parameters, or pass error_score='raise'. The first error was:\n{errors[0]}"
        )
    warnings.warn(
        f"{len(errors)} of {fits} fits failed; their candidates have no risk and are never chosen. "
        f"The first error was:\n{errors[0]}",
        FitFailedWarning,
        stacklevel=2,
    )
