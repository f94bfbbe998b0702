"""Which candidates of a search are trained with the importance weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from counterpoise._validation import check_choice
from counterpoise.search.cross_val import require_weights
from counterpoise.search.evaluate import Candidate
from counterpoise.search.fitting import weight_parameter

__all__ = ["refuse_two_weights", "trained_ways"]


def trained_ways(
    candidates: Sequence[Candidate], wanted: bool | str, /, *, weighted: bool
) -> list[Candidate]:
    """Return every candidate as `fit_weighted` asks: without weights, with weights, or both.

    `weighted` tells whether there are weights.
    """
    if isinstance(wanted, str):
        check_choice(wanted, "fit_weighted", ("both",))
    prototypes = {id(candidate.estimator): candidate.estimator for candidate in candidates}
    if wanted is True:
        for prototype in prototypes.values():
            require_weights(prototype)
    if not wanted or not weighted:
        return list(candidates)
    able = {key: weight_parameter(own) is not None for key, own in prototypes.items()}
    takers = [own for own in candidates if able[id(own.estimator)]]
    plain = [own for own in candidates if wanted == "both" or not able[id(own.estimator)]]
    return plain + [replace(own, fit_weighted=True) for own in takers]


def refuse_two_weights(candidates: Sequence[Candidate], fit_params: Mapping[str, Any], /) -> None:
    """Refuse sample weights that the importance weights would replace."""
    weighted = [own.estimator for own in candidates if own.fit_weighted]
    names = {weight_parameter(estimator) for estimator in weighted} | {"sample_weight"}
    taken = [name for name in fit_params if weighted and name in names]
    if taken:
        raise ValueError(
            f"`{taken[0]}` was passed to fit, but the importance weights are passed on under "
            "that name. Pass weights=sample_weight * ratio as one array, or fit_weighted=False."
        )
