"""A blend: half of the weight to the choice, half by non-negative least squares.

Least squares fits the held-out predictions of all candidates (probabilities for classes) to the
labels (0 and 1 for classes), with weights that are not negative and then scaled to the sum 1. Rows
and candidates are not weighted by importance. A blend that held-out rows show to be worse than the
choice is not delivered: the choice is. The rule was set on 124 real tables;
``benchmarks/judgement.py`` measures it on others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._folds import Folds
from counterpoise.search.delivery import Delivered, deliver_candidate, deliver_predictions
from counterpoise.search.evaluate import Evaluation
from counterpoise.search.fitting import fit_estimator

# Smaller weights are 0: a member is one more fit. Without them the target risk of 60 tables changes
# by 0.02 % in the mean, by 0.5 % at most.
_LEAST_WEIGHT = 0.02


@dataclass(frozen=True, eq=False)
class Blend:
    """The members of a blend.

    Attributes
    ----------
    places : int array of shape (n_members,)
        Their places among the candidates.
    weights : array of shape (n_members,)
        Positive, with sum 1.
    """

    places: np.ndarray
    weights: np.ndarray


def blend_candidates(
    evaluation: Evaluation, y: np.ndarray, best: int, fold_risks: np.ndarray | None = None, /
) -> tuple[Blend, Delivered]:
    """Return the blend, and its held-out losses and predictions with cross-fitted weights.

    The weights that meet a fold, and the choice in them, come from the other folds. Labelled target
    rows are predicted with the final weights: no candidate has seen them. Candidates that failed
    are no members. Where the blend's mean loss exceeds that of the choice, both made without each
    fold, by more than two standard errors, the choice is the only member.

    `evaluation` has predictions, `y` (n,) are the labels of all source rows, and `best` is the
    choice. It goes by the least mean over folds of `fold_risks` (L, K); without, by the mean loss.
    """
    held_out, responses = evaluation.held_out, evaluation.responses
    truth = responses.truth(y[evaluation.held_out_rows])
    usable = np.flatnonzero(~np.isnan(held_out.losses).any(axis=1))
    predictions, losses = np.asarray(held_out.predictions)[usable], held_out.losses[usable]
    weights = half_choice(predictions, truth, int(np.searchsorted(usable, best)))
    mixed, losses_of_choice = np.empty(predictions.shape[1:]), np.empty(losses.shape[1])
    sizes = np.array([len(fold) for fold in held_out.folds], dtype=np.float64)
    for k, others in enumerate(_other_rows(held_out.folds)):
        if fold_risks is None:
            means = np.mean(losses[:, others], axis=1)
        else:
            means = fold_risks[usable] @ np.where(np.arange(len(sizes)) == k, 0.0, sizes)
        choice, fold = int(np.argmin(means)), held_out.folds[k]
        own = half_choice(predictions[:, others], truth[others], choice)
        mixed[fold] = np.tensordot(own, predictions[:, fold], axes=1)
        losses_of_choice[fold] = losses[choice, fold]
    there = None
    if evaluation.labelled is not None and evaluation.labelled.predictions is not None:
        there = np.tensordot(weights, evaluation.labelled.predictions[usable], axes=1)
    delivered = deliver_predictions(evaluation, y, mixed, there)
    excess = delivered.held_out.losses - losses_of_choice
    if excess.mean() > 2 * excess.std() / np.sqrt(len(excess)):
        return Blend(np.array([best]), np.ones(1)), deliver_candidate(evaluation, y, best)
    members = np.flatnonzero(weights)
    return Blend(usable[members], weights[members]), delivered


def half_choice(predictions: np.ndarray, truth: np.ndarray, choice: int, /) -> np.ndarray:
    """Return weights (L,): half for the choice, half by least squares, none below 2 %."""
    weights = stacking_weights(predictions, truth) / 2
    weights[weights < _LEAST_WEIGHT] = 0
    weights[choice] += 1 - weights.sum()
    return weights


def stacking_weights(predictions: np.ndarray, truth: np.ndarray, /) -> np.ndarray:
    """Return weights (L,) that are not negative, with sum 1: those of least squares, scaled.

    For predictions (L, n) or (L, n, C), and what a perfect model would predict, (n,) or (n, C).
    They are all 0 where no candidate helps to predict.
    """
    columns = predictions.reshape(len(predictions), -1).T
    # A triangle of L + 1 rows has the same sums of squares as all rows.
    triangle: Any = np.linalg.qr(np.column_stack([columns, truth.ravel()]), mode="r")
    length = np.linalg.norm(triangle, axis=0)
    length[length == 0] = 1.0
    triangle = triangle / length  # tolerances of SciPy are absolute
    try:
        found, _ = nnls(triangle[:, :-1], triangle[:, -1])
    except RuntimeError:  # rounding kept it from ending
        return np.zeros(len(predictions))
    weights: np.ndarray = found / length[:-1]
    total = weights.sum()
    return weights / total if total > 0 else weights


def _other_rows(folds: Folds) -> Iterator[np.ndarray]:
    """Yield for each fold the losses (N,) of rows and groups that are not in it; else all."""
    clusters = folds.clusters
    for fold in folds:
        others = np.ones(folds.n_losses, dtype=bool)
        others[fold] = False
        if clusters is not None:
            others &= ~np.isin(clusters, clusters[fold])
        yield others if others.any() else ~others


def fit_voting(
    evaluation: Evaluation,
    blend: Blend,
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    fit_params: Mapping[str, Any],
    /,
    *,
    n_jobs: int | None = None,
) -> Any:
    """Return scikit-learn's voting estimator of the members, fitted to all rows.

    Members are fitted one by one, as they were in the folds: the voting estimator's own fit passes
    no parameters on to steps of a pipeline, and replaces labels of classes by numbers.
    """
    members = {
        f"{evaluation.candidates[i].model}_{i}".replace("__", "_"): evaluation.candidates[i].make()
        for i in blend.places.tolist()
    }
    options: Any = {"estimators": list(members.items()), "weights": blend.weights.tolist()}
    if evaluation.responses.classes is None:
        voting = VotingRegressor(**options)
    else:
        voting = VotingClassifier(voting="soft", **options)
        voting.le_ = LabelEncoder().fit(y)
        voting.classes_ = voting.le_.classes_
    voting.estimators_ = Parallel(n_jobs=n_jobs)(
        delayed(fit_estimator)(clone(model), X, y, weights, fit_params)
        for model in members.values()
    )
    voting.named_estimators_ = Bunch(**dict(zip(members, voting.estimators_, strict=True)))
    if hasattr(voting.estimators_[0], "feature_names_in_"):
        voting.feature_names_in_ = voting.estimators_[0].feature_names_in_
    return voting
