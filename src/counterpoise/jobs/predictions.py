"""Predictions: of a model for rows, and those that columns of a table hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise._format import format_count, format_number, listed
from counterpoise._validation import InputError
from counterpoise.jobs.design import take_source
from counterpoise.jobs.labels import Labels, class_text
from counterpoise.jobs.loading import Data
from counterpoise.jobs.request import Progress, quiet
from counterpoise.metrics import Predicted
from counterpoise.risk.rows import RowRecord

# Rows predicted at a time.
_CHUNK = 50_000
#: Between the classes of a set.
SEPARATOR = " | "


def predict_target(
    model: Any,
    X: Any,
    progress: Progress = quiet,
    /,
    *,
    rows: RowRecord | None = None,
    level: float = 0.9,
) -> dict[str, np.ndarray]:
    """Predict every row: "prediction", and "probability of A" for every class where there are any.

    A classifier of two classes without probabilities has a "score" instead, positive for the
    second class. With `rows`, also "low" and "high", or the "set" of classes, and "outside".
    """
    classes = is_classifier(model)
    if rows is not None:
        rows.check("predict", classes=classes)
    probable = classes and hasattr(model, "predict_proba")
    scored = classes and len(model.classes_) == 2 and hasattr(model, "decision_function")
    chunks = []
    for start in range(0, len(X), _CHUNK):
        progress("predicting", start, len(X))
        chunk = X.iloc[start : start + _CHUNK]
        probability = model.predict_proba(chunk) if probable else None
        if probability is None:
            columns = {"prediction": model.predict(chunk)}
            if scored:
                columns["score"] = model.decision_function(chunk)
        else:
            columns = {"prediction": model.classes_[np.argmax(probability, axis=1)]}
            named = zip(model.classes_, probability.T, strict=True)
            columns |= {f"probability of {label}": column for label, column in named}
        if rows is not None:
            weights = rows.new_weights(chunk)
            if probability is None:
                low, high = rows.interval(columns["prediction"], weights, level)
                columns |= {"low": low, "high": high, "outside": np.isnan(low)}
            else:
                inside = rows.sets(probability, weights, level)
                sets, place = np.unique(inside, axis=0, return_inverse=True)
                texts = [SEPARATOR.join(map(str, model.classes_[own])) or None for own in sets]
                columns["set"] = np.asarray(texts, dtype=object)[place.reshape(-1)]
                columns["outside"] = np.all(~inside, axis=1)
        chunks.append(columns)
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


# Probabilities of a row may miss a sum of 1 by so much, as rounded ones do; more is a mistake.
_ROUNDING = 0.01
# Beyond [0, 1] only what floats do.
_TINY = 1e-6
# Source rows that an estimate needs, and classes that a message names.
_ENOUGH, _NAMED = 10, 8


def column_options(prediction: str | None, probability: Any, /) -> dict[str, str]:
    """Return each column of predictions, and the option that names it."""
    if prediction is None and not probability:
        raise InputError(
            "`prediction` is missing. Pass the column of the model's predictions, or those of its "
            "probabilities as `probability`."
        )
    named = probability if isinstance(probability, Mapping) else {"": probability or None}
    columns = dict.fromkeys((column for column in named.values() if column), "probability")
    return columns if prediction is None else {**columns, prediction: "prediction"}


def without_gaps(data: Data, columns: Mapping[str, str], notes: list[str], /) -> Data:
    """Leave out source rows without a prediction, and labels of target rows without one."""
    here, there = ([data.aside[column][side] for column in columns] for side in (0, 1))
    rows = np.flatnonzero(_all_there(here))
    left_out = data.source.rows - len(rows)
    if left_out:
        if len(rows) < _ENOUGH:
            raise InputError(
                f"{data.source.name} has {format_count(len(rows), 'row')} with a label and a "
                f"prediction. At least {_ENOUGH} are needed. Pass more rows."
            )
        notes.append(
            f"{format_count(left_out, 'row')} of {data.source.name} without a prediction left out."
        )
        data = take_source(replace(data, source=replace(data.source, rows=len(rows))), rows)
    y = data.pair.y_target
    if y is None:
        return data
    if any(column is None for column in there):
        notes.append(
            f"{data.target.name} has labels, but not all of {listed(list(columns))}: its labels "
            "are not used."
        )
        return replace(data, pair=replace(data.pair, y_target=None))
    nothing: Any = np.nan if y.dtype.kind == "f" else None
    return replace(data, pair=replace(data.pair, y_target=np.where(_all_there(there), y, nothing)))


def _all_there(columns: Sequence[Any]) -> np.ndarray:
    """Tell in which rows no column is missing."""
    present: np.ndarray = np.all([column.notna().to_numpy() for column in columns], axis=0)
    return present


def read_predictions(
    data: Data, labels: Labels, prediction: str | None, probability: Any, notes: list[str], /
) -> tuple[Predicted, Predicted | None]:
    """Return what the columns say of the source rows, and of the target rows if they are there.

    Labels of target rows are not known here: predictions stand in their place.
    """
    places = _places(probability, labels, notes)
    used = [*places.values(), *([] if prediction is None else [prediction])]
    found: list[Predicted] = []
    for side, where in enumerate((data.source.name, data.target.name)):
        columns = {column: data.aside[column][side] for column in used}
        if side == 1 and any(column is None for column in columns.values()):
            break
        if labels.task == "regression":
            assert prediction is not None  # there are no probabilities
            said = _numbers(columns[prediction], prediction, "prediction", where)
            found.append(Predicted(said, said))
            continue
        classes, shares = np.unique(labels.y), None
        if places:
            numbers = {p: _numbers(columns[c], c, "probability", where) for p, c in places.items()}
            shares = _probabilities(numbers, len(classes), where, notes)
            said = np.argmax(np.nan_to_num(shares), axis=1)
        if prediction is not None:
            said = _classes(columns[prediction], labels, prediction, where)
        found.append(Predicted(said, said, shares, shares, classes))
    return with_labels(found[0], labels.y), found[1] if len(found) == 2 else None


def with_labels(said: Predicted, y: np.ndarray, /) -> Predicted:
    """Return predictions beside labels."""
    if said.classes is None:
        return replace(said, y=np.asarray(y, dtype=np.float64))
    return replace(said, y=np.searchsorted(said.classes, y))


def _places(probability: Any, labels: Labels, notes: list[str]) -> dict[int, str]:
    """Return the place of a class to the column of its probability."""
    if not probability:
        return {}
    if labels.task == "regression":
        raise InputError(
            f"`probability` is for classes, and {labels.words} Pass the column of predicted "
            "numbers as `prediction`."
        )
    classes = [class_text(label) for label in np.unique(labels.y)]
    if not isinstance(probability, Mapping):
        if len(classes) > 2:
            raise InputError(
                f"`probability` must name a column for each of the {len(classes)} classes, as in "
                f"{{{classes[0]!r}: 'column'}} or --probability {classes[0]}=column; got "
                f"{probability!r}."
            )
        notes.append(
            f"{probability!r} is taken as the probability of {classes[1]!r}, the second of the two "
            f"classes. If it is that of {classes[0]!r}, pass {classes[0]}={probability}."
        )
        return {1: probability}
    named = {class_text(label): column for label, column in probability.items()}
    unknown = [label for label in named if label not in classes]
    if unknown or len(named) < len(classes) - 1:
        raise InputError(
            "`probability` must name a column for each class of the source (one may be left out); "
            f"got {listed(list(named), _NAMED)} for the classes {listed(classes, _NAMED)}."
        )
    return {place: named[label] for place, label in enumerate(classes) if label in named}


def _numbers(column: Any, name: str, option: str, where: str) -> np.ndarray:
    """Return floats, NaN where missing; refuse text and infinity."""
    import pandas as pd

    read: Any = pd.to_numeric(column, errors="coerce")
    numbers: np.ndarray = read.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = (np.isnan(numbers) & column.notna().to_numpy()) | np.isinf(numbers)
    if np.any(wrong):
        raise InputError(
            f"`{option}` {name!r} must hold numbers; got {column[wrong].iloc[0]!r} in {where}. "
            "Correct it, or pass another column."
        )
    return numbers


def _classes(column: Any, labels: Labels, name: str, where: str) -> np.ndarray:
    """Return the places of predicted classes; any where they are missing."""
    texts = [class_text(value) for value in column.to_numpy(dtype=object, na_value=None)]
    places = {class_text(label): place for place, label in enumerate(np.unique(labels.y))}
    unknown = [text for text in dict.fromkeys(texts) if text and text not in places]
    if unknown:
        raise InputError(
            f"`prediction` {name!r} holds {unknown[0]!r} in {where}, which is no class of the "
            f"label in the source ({listed(sorted(places), _NAMED)}). Write predictions as the "
            "label is written; a probability goes to `probability`."
        )
    return np.asarray([places.get(text, 0) for text in texts])


def _probabilities(
    given: Mapping[int, np.ndarray], count: int, where: str, notes: list[str]
) -> np.ndarray:
    """Return probabilities (n, count) that add up to 1; a class without a column gets the rest."""
    shares = np.full((len(next(iter(given.values()))), count), np.nan)
    for place, values in given.items():
        shares[:, place] = values
    outside = shares[(shares < -_TINY) | (shares > 1 + _TINY)]
    if len(outside):
        raise InputError(
            f"`probability` must be from 0 to 1; got {format_number(outside[0])} in {where}. Pass "
            "probabilities, not scores or percentages."
        )
    for place in set(range(count)) - set(given):
        shares[:, place] = np.maximum(1 - np.sum(shares[:, list(given)], axis=1), 0)
    total = np.sum(shares, axis=1)
    off = np.abs(total - 1)
    worst = np.nanmax(off, initial=0.0)
    if worst > _ROUNDING:
        raise InputError(
            "`probability` must add up to 1 in each row; got "
            f"{format_number(total[np.nanargmax(off)])} in {where}. Pass the column of each class."
        )
    if worst > _TINY:
        notes.append(f"Probabilities in {where} were divided by their sum, which is not quite 1.")
    shares = np.clip(shares, 0, 1)
    normalised: np.ndarray = shares / np.sum(shares, axis=1, keepdims=True)
    return normalised
