"""What an answer keeps of its source: enough to judge new rows without the tables it was made of.

Two files: ``source.parquet`` has the rows with their held-out predictions, ``weights.skops`` what
gives the weights of new rows, and the labelled target rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np

from counterpoise._validation import InputError
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.trusted import foreign_types, load_trusted
from counterpoise.metrics import Predicted
from counterpoise.risk.rows import RowRecord
from counterpoise.weights.design import DesignRatio

KEPT_FILES = ("source.parquet", "weights.skops")
_PREFIX = "counterpoise "


@dataclass(frozen=True, eq=False, repr=False)
class Kept:
    """Held-out predictions of one model on labelled source rows: what judging new rows needs."""

    frame: Any  # pandas: the feature columns of the n source rows
    predicted: Predicted  # their labels and held-out predictions
    losses: np.ndarray  # (n,), of these predictions
    loss: str  # its name
    fold: np.ndarray  # (n,), which fold held the row out; zeros where there are none
    groups: np.ndarray | None  # (n,), rows that belong together, coded from 0 up
    weights: np.ndarray  # (n,), importance weights towards the target of the answer
    estimator: Any = None  # DensityRatio of new rows; None where all weights are 1
    encoder: Any = None  # fitted TableEncoder, which the estimator takes rows from
    labelled: Predicted | None = None  # target rows, by models that had not seen them

    @classmethod
    def of_search(cls, search: Any, frame: Any, /) -> Kept:
        """Return what a fitted search found out about the rows of `frame`, its source.

        Every row was held out once.
        """
        order, held_out = np.argsort(search._held_out_rows), search.delivered_
        fold = np.empty(len(order), dtype=np.int64)
        for number, places in enumerate(held_out.folds):
            fold[places] = number
        groups = held_out.folds.groups
        return cls(
            frame,
            search.predicted_.take(order),
            held_out.losses[order],
            search.loss_.name,
            fold[order],
            None if groups is None else groups[order],
            held_out.weights[order],
            search.weight_estimator_,
            None if search.weight_estimator_ is None else search._encoder,
            getattr(search, "predicted_labelled_", None),
        )

    def some(self, most: int, /) -> Kept:
        """Return what is kept of at most so many random source rows."""
        rows = some_rows(len(self.losses), most, np.random.default_rng(0))
        if isinstance(rows, slice):
            return self
        groups, estimator = self.groups, self.estimator
        if groups is not None:
            groups = np.unique(groups[rows], return_inverse=True)[1]
        if isinstance(estimator, DesignRatio):
            estimator = DesignRatio(np.asarray(estimator.design)[rows])
        return replace(
            self,
            frame=self.frame.iloc[rows].reset_index(drop=True),
            predicted=self.predicted.take(rows),
            losses=self.losses[rows],
            fold=self.fold[rows],
            groups=groups,
            weights=self.weights[rows],
            estimator=estimator,
        )

    @property
    def without_sets(self) -> bool:
        """Whether these are classes without probabilities, for which there are no sets."""
        return self.predicted.classes is not None and self.predicted.probability is None


def row_record(model: Any, kept: Kept | None, /) -> RowRecord:
    """Return a model with what says how sure it is about new rows."""
    if kept is None:
        raise InputError(WITHOUT_KEPT)
    known = kept.predicted, kept.weights, kept.labelled, kept.estimator, kept.encoder
    return RowRecord(model, *known)


#: Why there are no row intervals, and what to do.
WITHOUT_KEPT = (
    "Row intervals need what `select` keeps of the source, which is not here: the answer was saved "
    "with watch=False (--no-watch), or source.parquet or weights.skops was removed. Save it again "
    "without watch=False, with weights of counterpoise."
)


def write_kept(kept: Kept, directory: Path, /) -> list[str]:
    """Write the two files and return their names.

    None of them if the weights are of a class that is not counterpoise's: they could not be loaded.
    """
    import pyarrow as pa
    from pyarrow import parquet
    from skops import io

    labelled = None if kept.labelled is None else vars(kept.labelled)
    parts = {"estimator": kept.estimator, "encoder": kept.encoder, "labelled": labelled}
    content = io.dumps(parts, compression=ZIP_DEFLATED)
    if foreign_types(content):
        return []
    (directory / KEPT_FILES[1]).write_bytes(content)
    table = pa.Table.from_pandas(kept.frame, preserve_index=False)
    classes = kept.predicted.classes
    about = {
        "features": table.num_columns,
        "loss": kept.loss,
        "classes": None if classes is None else classes.tolist(),
    }
    for name, values in _columns(kept).items():
        table = table.append_column(f"{_PREFIX}{name}", pa.array(values))
    table = table.replace_schema_metadata({"counterpoise": json.dumps(about)})
    parquet.write_table(table, directory / KEPT_FILES[0])
    return list(KEPT_FILES)


def _columns(kept: Kept) -> dict[str, np.ndarray]:
    """Return the columns after the features; labels and predictions of classes are their names."""
    predicted, classes = kept.predicted, kept.predicted.classes
    columns = {"label": predicted.y, "prediction": predicted.prediction}
    if classes is not None:
        columns = {name: classes[places] for name, places in columns.items()}
        kind = "score" if predicted.probability is None else "probability"
        values = getattr(predicted, kind)
        if values is not None:
            columns |= {f"{kind} of {c}": v for c, v in zip(classes, values.T, strict=True)}
    columns |= {"loss": kept.losses, "fold": kept.fold, "weight": kept.weights}
    return columns if kept.groups is None else {**columns, "group": kept.groups}


def read_kept(source: bytes, weights: bytes, folder: Path, /) -> Kept:
    """Return what the bytes of the two files hold, if it is what :func:`write_kept` writes."""
    import pyarrow as pa
    from pyarrow import parquet

    parts = load_trusted(weights, str(folder / KEPT_FILES[1]))
    try:
        table = parquet.ParquetFile(pa.BufferReader(source)).read()
        about = json.loads(table.schema.metadata[b"counterpoise"])
        features = about["features"]
        frame = table.select(range(features)).to_pandas(ignore_metadata=True)
        columns = {
            name.removeprefix(_PREFIX): np.asarray(table.column(features + place))
            for place, name in enumerate(table.column_names[features:])
        }
        labelled = None if parts["labelled"] is None else Predicted(**parts["labelled"])
        return Kept(
            frame,
            _predicted(columns, about["classes"]),
            columns["loss"],
            about["loss"],
            columns["fold"],
            columns.get("group"),
            columns["weight"],
            parts["estimator"],
            parts["encoder"],
            labelled,
        )
    except (pa.ArrowException, LookupError, TypeError, ValueError, OSError) as error:
        raise InputError(
            f"{folder / KEPT_FILES[0]} is not what counterpoise writes ({error}). Save the answer "
            "again."
        ) from error


def _predicted(columns: dict[str, np.ndarray], names: list[Any] | None) -> Predicted:
    y, prediction = columns["label"], columns["prediction"]
    if names is None:
        return Predicted(y, prediction)
    classes = np.asarray(names)
    y, prediction = (np.searchsorted(classes, v.astype(classes.dtype)) for v in (y, prediction))
    probability, score = (
        np.stack([columns[f"{kind} of {name}"] for name in names], axis=1)
        if f"{kind} of {names[0]}" in columns
        else None
        for kind in ("probability", "score")
    )
    score = probability if score is None else score
    return Predicted(y, prediction, probability, score, classes)
