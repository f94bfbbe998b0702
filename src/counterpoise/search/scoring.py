"""Which loss a search uses: from the task, a name, a scikit-learn scorer name, or a callable."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.metrics import get_scorer_names

from counterpoise._validation import InputError
from counterpoise.losses import LOSSES, Loss, get_loss

# scikit-learn's scorers that are minus (or one minus) a mean of per-sample losses.
_SCORERS = {
    "neg_mean_squared_error": "squared",
    "neg_mean_absolute_error": "absolute",
    "neg_mean_absolute_percentage_error": "percentage",
    "neg_mean_squared_log_error": "squared_log",
    "neg_mean_poisson_deviance": "poisson",
    "neg_mean_gamma_deviance": "gamma",
    "accuracy": "zero_one",
    "neg_log_loss": "log",
    "neg_brier_score": "brier",
}
# Those that are a function of one: the search over it is the same, the number is not.
_NEARLY = {
    "neg_root_mean_squared_error": "squared",
    "neg_root_mean_squared_log_error": "squared_log",
    "r2": "squared",
    "explained_variance": "squared",
    "d2_absolute_error_score": "absolute",
    "d2_log_loss_score": "log",
    "d2_brier_score": "brier",
}


def resolve_loss(loss: Any, /, *estimators: Any) -> Loss:
    """Return the loss for one or more estimators, refusing what they cannot be judged by.

    "auto": squared for regression; for classification log where all estimators give
    probabilities, else zero_one.
    """
    task = "classification" if is_classifier(estimators[0]) else "regression"
    if isinstance(loss, str) and loss == "auto":
        probable = all(hasattr(estimator, "predict_proba") for estimator in estimators)
        loss = "squared" if task == "regression" else "log" if probable else "zero_one"
    if isinstance(loss, str) and loss not in LOSSES:
        loss = _from_scorer(loss)
    resolved = get_loss(loss)
    if task not in resolved.tasks:
        fitting = ", ".join(repr(name) for name, own in LOSSES.items() if task in own.tasks)
        raise InputError(
            f"`loss` {resolved.name!r} is for {resolved.tasks[0]}, but "
            f"{type(estimators[0]).__name__} does {task}. Pass one of {fitting}."
        )
    for estimator in estimators:
        if not hasattr(estimator, resolved.response):
            raise InputError(
                f"`loss` {resolved.name!r} needs the estimator's {resolved.response}, which "
                f"{type(estimator).__name__} does not have. Pass loss='zero_one', or an estimator "
                f"with {resolved.response}."
            )
    return resolved


def _from_scorer(name: str) -> str:
    if name in _SCORERS:
        return _SCORERS[name]
    if name in _NEARLY:
        raise InputError(
            f"`loss` {name!r} is not a mean of per-sample losses, so it cannot be weighted sample "
            f"by sample. It is a function of the {_NEARLY[name]!r} risk: pass "
            f"loss={_NEARLY[name]!r} and transform the result."
        )
    if name in get_scorer_names():
        raise InputError(
            f"`loss` {name!r} compares samples with each other or with a total, so no single "
            "sample has a loss to be weighted. Pass a per-sample loss such as 'zero_one', 'log' or "
            "'brier' for classification, 'squared' or 'absolute' for regression; `metrics` can "
            "report others."
        )
    names = ", ".join(repr(known) for known in LOSSES)
    raise InputError(
        f"`loss` must be 'auto', one of {names}, a scikit-learn scorer name that is a mean of "
        f"per-sample losses, or a callable (y, prediction) -> losses; got {name!r}."
    )
