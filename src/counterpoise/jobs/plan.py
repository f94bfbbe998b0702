"""What is searched: labels, model families with their grids, and loss, from the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge, RidgeClassifier

from counterpoise._validation import InputError
from counterpoise.jobs.labels import Labels
from counterpoise.jobs.models import MODELS, parse_grid
from counterpoise.jobs.sentences import LOSS_WORDS
from counterpoise.losses import Loss
from counterpoise.search import BlendClassifier
from counterpoise.search.evaluate import Candidate
from counterpoise.search.scoring import resolve_loss

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True, eq=False)
class Plan:
    """What is searched.

    Attributes
    ----------
    labels : Labels
    families : list of (str, estimator, dict)
        Name, prototype and grid of each model family.
    words : str
        What the models are.
    loss : Loss
    loss_words : str
    coded : bool
        Whether the search sees two classes as labels -1 and +1: ridge regression on them is the
        least-squares classifier of the paper, and the same model as scikit-learn's RidgeClassifier.
    notes : list of str
        What was assumed or left out.
    """

    labels: Labels
    families: list[tuple[str, Any, dict[str, list[Any]]]]
    words: str
    loss: Loss
    loss_words: str
    coded: bool
    classes: np.ndarray = field(repr=False)
    notes: list[str] = field(default_factory=list)

    @property
    def models(self) -> list[str]:
        """Names of the families."""
        return [name for name, _, _ in self.families]

    def code(self, y: np.ndarray, /) -> np.ndarray:
        """Labels as the search sees them."""
        return np.where(y == self.classes[1], 1.0, -1.0) if self.coded else y

    def candidate(self, model: str, params: dict[str, Any], weighted: bool, /) -> Candidate:
        """Return a candidate of the search by what its table says."""
        prototypes = {name: estimator for name, estimator, _ in self.families}
        return Candidate(prototypes[model or self.models[0]], params, weighted, model)

    def classifier(self, model: Any, /) -> Any:
        """Return a model of coded labels as the classifier that is saved, not fitted.

        Regression on -1 and +1 and RidgeClassifier have the same coefficients, so the mean of the
        members' decision values is the mean of the predictions that the search has judged.
        """
        if not hasattr(model, "estimators"):
            return RidgeClassifier(**model.get_params())
        return BlendClassifier(
            [(name, RidgeClassifier(**own.get_params())) for name, own in model.estimators],
            weights=model.weights,
            fit_weighted=model.fit_weighted,
            combine="decision_function",
        )


def make_plan(
    labels: Labels,
    models: Sequence[str],
    /,
    *,
    params: Sequence[str],
    loss: str,
    seed: int,
    n_features: int,
) -> Plan:
    """Turn the options into a plan; refuse what does not go together."""
    notes: list[str] = []
    made = _estimators(labels, models, loss, seed, notes)
    classes = np.unique(labels.y) if labels.task == "classification" else np.empty(0)
    coded = list(made) == ["ridge"] and len(classes) == 2 and loss == "auto"
    if coded:
        made = {"ridge": Ridge()}
    elif loss == "auto" and len(made) > 1 and labels.task == "classification":
        loss = "log" if all(hasattr(own, "predict_proba") for own in made.values()) else "zero_one"
        notes.append(_common_loss(made, loss))
    resolved, *_ = (resolve_loss(loss, estimator) for estimator in made.values())
    words = LOSS_WORDS.get(resolved.name, f"mean {resolved.name} loss")
    if coded and list(classes) != [-1, 1]:
        words += f" of the scores ({classes[0]} is -1, {classes[1]} is +1)"
    given = _by_model(params, list(made))
    families = [
        (name, own, parse_grid(given[name], own) if given[name] else MODELS[name].grid(n_features))
        for name, own in made.items()
    ]
    what = ", ".join(MODELS[name].words[labels.task] for name in made)
    return Plan(labels, families, what, resolved, words, coded, classes, notes)


def _estimators(
    labels: Labels, models: Sequence[str], loss: str, seed: int, notes: list[str]
) -> dict[str, Any]:
    """Return the prototype of every family that was asked for; "all": of those that can be used."""
    fitting = [name for name in MODELS if labels.task in MODELS[name].make]
    if "all" not in models:
        for name in models:
            if name not in fitting:
                raise InputError(
                    f"`--model {name}` is for {next(iter(MODELS[name].make))}, but {labels.words} "
                    f"Pass one of {', '.join(fitting)}."
                )
        return {name: MODELS[name].make[labels.task](seed) for name in dict.fromkeys(models)}
    made = {name: MODELS[name].make[labels.task](seed) for name in fitting}
    wanted = "log" if loss == "auto" and labels.task == "classification" else loss
    usable = {name: own for name, own in made.items() if _can_be_judged(own, wanted)}
    left = [name for name in made if name not in usable]
    if not usable:
        return made  # the loss is refused with its reason
    if left:
        notes.append(
            f"--model all leaves out {' and '.join(left)}: no {wanted} loss can be computed from "
            "what they predict. Pass --loss zero_one to compare all of them."
        )
    return usable


def _can_be_judged(estimator: Any, loss: str) -> bool:
    try:
        resolve_loss(loss, estimator)
    except InputError:
        return False
    return True


def _common_loss(made: dict[str, Any], loss: str) -> str:
    names = ", ".join(made)
    if loss == "log":
        return f"The models ({names}) are compared by log loss, and blended by their probabilities."
    silent = " and ".join(name for name, own in made.items() if not hasattr(own, "predict_proba"))
    return (
        f"The models ({names}) are compared by the share of wrong predictions, and blended by "
        f"their votes, because there are no probabilities from {silent}."
    )


def _by_model(params: Sequence[str], models: Sequence[str]) -> dict[str, list[str]]:
    """Sort options such as "forest.max_depth=3,5" by model; a single model needs no name."""
    given: dict[str, list[str]] = {name: [] for name in models}
    for param in params:
        model, dot, rest = param.partition("=")[0].partition(".")
        if dot and model in given:
            given[model].append(param.removeprefix(f"{model}."))
        elif len(models) == 1:
            given[models[0]].append(param)
        else:
            raise InputError(
                f"`--param` {param!r} must name its model where several are searched: pass for "
                f"example {models[0]}.{rest or param}. The models are {', '.join(models)}."
            )
    return given
