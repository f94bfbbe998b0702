"""Models that `select` has saved: checked, loaded and used with the reader they were made with."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import __version__ as sklearn_version

from counterpoise import __version__
from counterpoise._validation import InputError
from counterpoise.jobs.batches import Reader
from counterpoise.jobs.kept import KEPT_FILES, Kept, read_kept, row_record
from counterpoise.jobs.predictions import predict_target
from counterpoise.jobs.request import Progress, quiet
from counterpoise.jobs.saving import digest_of, unguard_text
from counterpoise.jobs.trusted import load_trusted
from counterpoise.risk.rows import RowIntervals, RowRecord, check_level

_RUN, _MODEL = "run.json", "model.skops"


def load(folder: str | os.PathLike[str], /) -> SavedModel:
    """Load the model that ``answer.save(folder)`` or ``counterpoise select --out`` has saved.

    Files whose checksum is not the one in ``run.json`` are refused. The model is made of the types
    that counterpoise itself writes; any other type in the file is refused by its name, and nothing
    of it is run. No pickle is read.

    Parameters
    ----------
    folder : path
        With at least ``run.json`` and ``model.skops``; of an evaluation ``source.parquet``.

    Returns
    -------
    SavedModel

    Raises
    ------
    InputError
        If the folder holds no model, or a file that is damaged or not to be trusted, or was saved
        by another minor version of counterpoise: then run `select` again.

    Examples
    --------
    >>> import counterpoise as cp
    >>> model = cp.load("result")  # doctest: +SKIP
    >>> model.predict_file("country.csv")  # doctest: +SKIP
    """
    place = Path(folder)
    run = _read_run(place / _RUN)
    if _MODEL not in run["files"] and KEPT_FILES[0] not in run["files"]:
        raise InputError(
            f"{place} holds an audit, which has no model. Pass the folder of counterpoise select."
        )
    for name, digest in run["files"].items():
        if Path(name).name != name:
            raise _damaged(place / _RUN, f"it lists {name!r}, which is not in the folder")
        if name != _MODEL and os.path.lexists(place / name):
            _read_checked(place / name, digest)
    if _MODEL not in run["files"]:
        return SavedModel(None, run, place)
    content = _read_checked(place / _MODEL, run["files"][_MODEL])
    with _of_this_version(run):
        return SavedModel(load_trusted(content, str(place / _MODEL)), run, place)


@dataclass(frozen=True, eq=False)
class SavedModel(RowIntervals):
    """A saved model, what is known about it, and the reader of files it was made with.

    Made by :func:`counterpoise.load`.

    Attributes
    ----------
    model : estimator or None
        The delivered model, which takes data frames. None for an evaluation: others have it.
    run : dict
        The contents of ``run.json``: options, versions, verdict, choice, risk.
    folder : Path
    """

    model: Any
    run: Mapping[str, Any] = field(repr=False)
    folder: Path

    def _own_model(self) -> Any:
        if self.model is None:
            raise InputError(
                f"{self.folder} holds an evaluation, which has no model: predict with the model "
                "that was judged. Row intervals take its predictions as `prediction`."
            )
        return self.model

    @cached_property
    def kept(self) -> Kept | None:
        """Held-out predictions on the source rows, read when first used.

        None where the answer was saved with ``watch=False``, or a file of it was removed.
        """
        paths = [self.folder / name for name in KEPT_FILES if name in self.run["files"]]
        if len(paths) < len(KEPT_FILES) or not all(map(os.path.lexists, paths)):
            return None
        contents = [_read_checked(path, self.run["files"][path.name]) for path in paths]
        return read_kept(contents[0], contents[1], self.folder)

    def _row_record(self) -> RowRecord:
        return row_record(self.model, self.kept)

    @property
    def classes_(self) -> np.ndarray:
        """The classes; AttributeError for a regression."""
        classes: np.ndarray = self._own_model().classes_
        return classes

    def read(self, path: str | os.PathLike[str], /) -> Any:
        """Read a file as `select` has read its target.

        Parameters
        ----------
        path : path
            CSV, TSV or Parquet, with the columns of the model; others are left out.

        Returns
        -------
        pandas.DataFrame
        """
        notes: list[str] = []
        frame = Reader.of_run(self.run).frame(Path(path), notes)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return frame

    def predict_file(
        self, path: str | os.PathLike[str], /, *, level: float = 0.9, progress: Progress = quiet
    ) -> Any:
        """Predict every row of a file, with row intervals: what ``counterpoise predict`` writes.

        Parameters
        ----------
        path : path
            CSV, TSV, Excel or Parquet, with the columns of the model.
        level : float in (0, 1), default=0.9
            Of the intervals.
        progress : callable
            Called with (stage, done, total).

        Returns
        -------
        pandas.DataFrame
            The `row`, counted from 1, and the `prediction`; `low` and `high`, or the `probability
            of` every class and the `set` of classes that the row may have, separated by " | "; and
            whether the source has nothing to say about the row (`outside`). No more than the
            prediction and the probabilities where `kept` is None.
        """
        import pandas as pd

        check_level(level)
        model = self._own_model()
        with _of_this_version(self.run):
            record = None if self.kept is None or self.kept.without_sets else self._row_record()
            frame = self.read(path)
            said = predict_target(model, frame, progress, rows=record, level=level)
        return pd.DataFrame({"row": np.arange(1, len(frame) + 1), **said})

    def predict(self, X: Any, /) -> np.ndarray:
        """Predict the rows of a data frame with the columns of the model.

        pandas reads some texts as missing values, "None" among them; :meth:`read` reads files as
        the model needs them.
        """
        predicted: np.ndarray = self._own_model().predict(X)
        return predicted

    def predict_proba(self, X: Any, /) -> np.ndarray:
        """Return the probability of each class, in the order of `classes_`; as `predict`."""
        probability: np.ndarray = self._own_model().predict_proba(X)
        return probability

    def predictions(self) -> Any:
        """Read the folder's ``predictions.csv``.

        Returns
        -------
        pandas.DataFrame
            Without the apostrophes that keep spreadsheets from taking labels for formulas.
        """
        import pandas as pd

        from counterpoise.encoding.reading import read_table

        name = "predictions.csv"
        _read_checked(self.folder / name, self.run["files"].get(name, ""))
        texts = self.run["task"] == "classification" and self.classes_.dtype.kind not in "biuf"
        table = read_table(self.folder / name, text=["prediction"] if texts else [])
        columns = {unguard_text(column): table[column].to_numpy() for column in table.column_names}
        if texts:
            read = table["prediction"].to_pylist()
            columns["prediction"] = np.asarray([unguard_text(text) for text in read], dtype=object)
        return pd.DataFrame(columns)


def _read_run(path: Path) -> dict[str, Any]:
    """Return what run.json holds, if it is as it was written."""
    if not path.is_file():
        raise InputError(f"There is no {path}. Pass the folder that an answer was saved in.")
    try:
        run: dict[str, Any] = json.loads(path.read_bytes())
        own = run.pop("sha256")
        whole = isinstance(run["files"], dict) and digest_of(run) == own
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, "it is not complete") from error
    if not whole:
        raise _damaged(path, "its checksum is not the one it was written with")
    saved_by = str(run.get("versions", {}).get("counterpoise"))
    if saved_by.split(".")[:2] != __version__.split(".")[:2]:
        raise _other_version(run, "another format")
    return run


@contextmanager
def _of_this_version(run: Mapping[str, Any]) -> Iterator[None]:
    """Say who has saved an answer that lacks something, and what to do."""
    try:
        yield
    except (AttributeError, LookupError) as error:
        raise _other_version(run, error) from error


def _other_version(run: Mapping[str, Any], why: object) -> InputError:
    by = run.get("versions", {})
    return InputError(
        f"This answer was saved by counterpoise {by.get('counterpoise')} with scikit-learn "
        f"{by.get('scikit-learn')}, and cannot be used by counterpoise {__version__} with "
        f"scikit-learn {sklearn_version} ({why}). Run counterpoise select again."
    )


def _read_checked(path: Path, digest: str) -> bytes:
    if not path.is_file():
        raise InputError(
            f"{path} is missing or not a file. Pass the whole folder that an answer was saved in."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path, "its checksum is not the one in run.json")
    return content


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(
        f"{path} is damaged or was changed: {reason}. Copy the folder again, or save it again."
    )
