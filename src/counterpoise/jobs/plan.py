"""What is searched: labels, estimator, grid and loss, from the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from counterpoise._validation import InputError
from counterpoise.jobs.labels import Labels
from counterpoise.jobs.models import MODELS, parse_grid
from counterpoise.jobs.sentences import LOSS_WORDS
from counterpoise.losses import Loss
from counterpoise.search.scoring import resolve_loss

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True, eq=False)
class Plan:
    """What is searched.

    Attributes
    ----------
    labels : Labels
    model : str
        Name of the family.
    words : str
        What it is.
    estimator : estimator
        That candidates are made from.
    final : estimator
        That the choice is trained as: for two classes, ridge is searched as regression on labels
        -1 and +1 (the paper's method, and one decomposition for all penalties), which is the same
        model as scikit-learn's RidgeClassifier.
    grid : dict
        Parameter to values.
    loss : Loss
    loss_words : str
    coded : bool
        Whether the search sees labels -1 and +1.
    """

    labels: Labels
    model: str
    words: str
    estimator: Any
    final: Any
    grid: dict[str, list[Any]]
    loss: Loss
    loss_words: str
    coded: bool
    classes: np.ndarray = field(repr=False)

    def code(self, y: np.ndarray, /) -> np.ndarray:
        """Labels as the search sees them."""
        return np.where(y == self.classes[1], 1.0, -1.0) if self.coded else y


def make_plan(
    labels: Labels,
    model: str,
    /,
    *,
    params: Sequence[str],
    loss: str,
    seed: int,
    n_features: int,
) -> Plan:
    """Turn the options into a plan; refuse what does not go together."""
    family = MODELS[model]
    if labels.task not in family.make:
        others = ", ".join(name for name, other in MODELS.items() if labels.task in other.make)
        raise InputError(
            f"`--model {model}` is for {next(iter(family.make))}, but {labels.words} "
            f"Pass one of {others}."
        )
    final = family.make[labels.task](seed)
    grid = parse_grid(params, final) if params else family.grid(n_features)
    classes = np.unique(labels.y) if labels.task == "classification" else np.empty(0)
    coded = model == "ridge" and len(classes) == 2 and loss == "auto"
    estimator = Ridge() if coded else final
    resolved = resolve_loss(loss, estimator)
    words = LOSS_WORDS.get(resolved.name, f"mean {resolved.name} loss")
    if coded and list(classes) != [-1, 1]:
        words += f" of labels coded -1 ({classes[0]}) and +1 ({classes[1]})"
    return Plan(
        labels,
        model,
        family.words[labels.task],
        estimator,
        final,
        grid,
        resolved,
        words,
        coded,
        classes,
    )
