"""Choosing among weight estimators and their settings by held-out score."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._arrays import is_array, to_numpy
from counterpoise._validation import check_number, check_same_columns, feature_names
from counterpoise.encoding.rows import row_order, take
from counterpoise.weights.base import DensityRatio, held_out_scores
from counterpoise.weights.classifier import ClassifierRatio
from counterpoise.weights.names import NAMES, named_estimator

__all__ = ["WeightSelection", "select_weights"]

# Of one fold: (train, test) row numbers of each sample.
_Split = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class WeightSelection:
    """Outcome of `select_weights`.

    Attributes
    ----------
    best_estimator : DensityRatio
        The winner, fitted to all rows.
    best_index : int
        Its place among the candidates.
    names : tuple of str
        Names of the candidates.
    scores : array of shape (n_candidates, n_folds)
        Held-out score, higher is better; NaN where a candidate failed.
    mean : array of shape (n_candidates,)
        Mean over the folds; NaN for a candidate that failed in any.
    standard_error : array of shape (n_candidates,)
        Standard deviation over the folds divided by the root of their number. Rough: the folds
        share most of their training rows.
    problems : dict
        Name of a candidate and why it could not win.
    """

    best_estimator: DensityRatio
    best_index: int
    names: tuple[str, ...]
    scores: np.ndarray
    mean: np.ndarray
    standard_error: np.ndarray
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def best_name(self) -> str:
        """Name of the winner."""
        return self.names[self.best_index]

    def __repr__(self) -> str:
        lines = [f"WeightSelection(best={self.best_name!r})"]
        for i in np.argsort(-np.nan_to_num(self.mean, nan=-np.inf), kind="stable"):
            name = self.names[i]
            line = f"  {name:<16} {self.mean[i]:>8.4g} ± {self.standard_error[i]:.2g}"
            lines.append(line + (f"  ({self.problems[name]})" if name in self.problems else ""))
        return "\n".join(lines)


def select_weights(
    candidates: Any,
    X_source: Any,
    X_target: Any,
    /,
    *,
    cv: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> WeightSelection:
    """Choose a weight estimator by how well it tells held-out target from held-out source rows.

    Both samples are cut into `cv` folds. Each candidate is fitted without a fold of each and
    scored on those two by the log score of the probabilities that its ratio implies (see
    `DensityRatio.score`). The scale of the ratio does not matter: it is set, once for all folds,
    to what scores best on all held-out rows of the candidate. The expected score is largest for
    the true ratio whatever the method, and is then the Jensen-Shannon divergence of the domains;
    0 is the score of no weighting.

    The score does not say that any candidate is good: look at the overlap and at the size of the
    weights before use. The candidate that tells rows apart best is not the one that estimates a
    risk best: ``weights="auto"`` everywhere else in the library is a fixed choice, which a study
    on real tables preferred to the winner by this score (see the guide of weights).

    Parameters
    ----------
    candidates : list of estimators and names, or dict of name to either
        Names are "gaussian", "kmm", "kliep", "ulsif", "classifier", "nearest" and
        "kernel_density", each with its default settings.
    X_source, X_target : arrays of shape (n_source, n_features) and (n_target, n_features)
        Or data frames, for candidates that can read them.
    cv : int, default=5
        Folds; not more than there are rows in the smaller sample.
    random_state : int, RandomState or None, default=0
        Shuffles rows into folds, after sorting them: their order does not matter.
    n_jobs : int or None, default=None
        Fits at the same time.

    Returns
    -------
    WeightSelection

    Notes
    -----
    A candidate that raises, gives a target row weight 0 (score minus infinity), or has no
    `predict`, does not stop the others: `problems` says what happened. Warnings of the fits to
    folds are silenced; those of the final fit are not.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import KernelDensityRatio, select_weights
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (200, 2)), rng.normal(0, 1, (300, 2))
    >>> widths = {f"width {h}": KernelDensityRatio(width=h) for h in (0.1, 0.5, 2.0)}
    >>> chosen = select_weights({"gaussian": "gaussian", **widths}, X_source, X_target)
    >>> chosen.best_name, chosen.scores.shape
    ('gaussian', (4, 5))
    """
    named = _named(candidates)
    check_number(cv, "cv", low=2, closed="low", integer=True)
    check_same_columns(X_source, X_target)
    samples = [X if feature_names(X) is not None else _as_array(X) for X in (X_source, X_target)]
    splits = _splits(samples, cv, random_state)
    problems: dict[str, str] = {}
    for name, estimator in named.items():
        if not hasattr(estimator, "predict"):
            problems[name] = "no predict: it gives weights at the source rows only"
    jobs = [name for name in named if name not in problems]
    found = Parallel(n_jobs=n_jobs)(
        delayed(_score_folds)(named[name], samples, splits) for name in jobs
    )
    scores = np.full((len(named), len(splits)), np.nan)
    for name, (values, problem) in zip(jobs, found, strict=True):
        scores[list(named).index(name)] = values
        if problem:
            problems[name] = problem
    return _choose(named, scores, problems, X_source, X_target)


def _named(candidates: Any) -> dict[str, Any]:
    """Candidates by name; lists get the estimators' own names, numbered where they repeat."""
    if isinstance(candidates, Mapping):
        pairs = [(str(name), value) for name, value in candidates.items()]
    elif isinstance(candidates, Iterable) and not isinstance(candidates, str):
        pairs = [("", value) for value in candidates]
    else:
        raise ValueError(
            "`candidates` must be a list of estimators and names, or a dict of name to "
            f"estimator; got {candidates!r}."
        )
    if not pairs:
        raise ValueError("`candidates` must not be empty. Pass at least one estimator or name.")
    named: dict[str, Any] = {}
    for name, value in pairs:
        estimator = _estimator(value)
        name = name or (value if isinstance(value, str) else repr(value))
        base, count = name, 2
        while name in named:
            name, count = f"{base} #{count}", count + 1
        named[name] = estimator
    return named


def _estimator(value: Any) -> Any:
    estimator = named_estimator(value)
    if estimator is not None:
        return estimator
    names = ", ".join(repr(name) for name in NAMES)
    raise ValueError(
        f"`candidates` must hold estimators from counterpoise.weights or names among {names}; "
        f"got {value!r}."
    )


def _as_array(X: Any) -> Any:
    return X if is_array(X) else np.asarray(X)


def _splits(samples: list[Any], cv: int, random_state: Any) -> list[_Split]:
    """For each fold, (train, test) row numbers of both samples."""
    for X, name in zip(samples, ("X_source", "X_target"), strict=True):
        if len(X.shape) != 2 or X.shape[0] < 2:
            raise ValueError(
                f"`{name}` must have shape (rows, features) and at least 2 rows, to hold some "
                f"out; got shape {tuple(X.shape)}."
            )
    rng = check_random_state(random_state)
    n_folds = min(cv, *(X.shape[0] for X in samples))
    parts = []
    for X in samples:
        order = row_order(to_numpy(X) if is_array(X) else X)
        folds = KFold(n_folds, shuffle=True, random_state=rng)
        parts.append([(order[train], order[test]) for train, test in folds.split(order)])
    return [list(pair) for pair in zip(*parts, strict=True)]


def _score_folds(
    estimator: Any, samples: list[Any], splits: list[_Split]
) -> tuple[np.ndarray, str]:
    """Scores of one candidate in every fold, and what went wrong; stops at the first failure."""
    held_out: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for i, split in enumerate(splits):
        train, test = (
            [take(X, rows[part]) for X, rows in zip(samples, split, strict=True)] for part in (0, 1)
        )
        try:
            with warnings.catch_warnings(), np.errstate(divide="ignore"):
                warnings.simplefilter("ignore")
                model = clone(estimator)
                if isinstance(model, ClassifierRatio):
                    model.set_params(cv=None)  # `predict` does not use the cross-fitted weights
                model.fit(*train)
                for logs, X in zip(held_out, test, strict=True):
                    logs.append(np.log(to_numpy(model.predict(X))))
        except Exception as error:  # whatever a candidate raises, the others go on
            return np.full(len(splits), np.nan), f"{type(error).__name__} in fold {i}: {error}"
    scores = held_out_scores(*held_out)
    if np.any(np.isneginf(scores)):
        return scores, "score minus infinity: it gives held-out target rows weight 0"
    return scores, ""


def _choose(
    named: dict[str, Any],
    scores: np.ndarray,
    problems: dict[str, str],
    X_source: Any,
    X_target: Any,
) -> WeightSelection:
    with np.errstate(invalid="ignore"):  # minus infinity has no spread
        mean = np.mean(scores, axis=1)
        error = np.std(scores, axis=1, ddof=1) / np.sqrt(scores.shape[1])
    usable = np.where(np.isnan(mean), -np.inf, mean)
    for best in map(int, np.argsort(-usable, kind="stable")):
        if usable[best] == -np.inf:
            break
        name = list(named)[best]
        try:
            estimator = clone(named[name]).fit(X_source, X_target)
        except Exception as failure:
            problems[name] = f"{type(failure).__name__} on all rows: {failure}"
            continue
        return WeightSelection(estimator, best, tuple(named), scores, mean, error, problems)
    listed = "; ".join(f"{name}: {problem}" for name, problem in problems.items())
    raise ValueError(
        f"`candidates` must hold one that can be fitted and scored; none could ({listed}). "
        'Check the data, or add "kmm" or "classifier".'
    )
