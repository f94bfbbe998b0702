"""Batches of new rows, and the ledger of a watch: one line for each batch, never lost.

Batches are files, data frames, or the calendar periods of their rows. The other files of a watch
are made again from the ledger.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._files import lock_directory, write_atomically
from counterpoise._format import format_count
from counterpoise._validation import InputError
from counterpoise.jobs.loading import as_table
from counterpoise.jobs.saving import file_digest

#: Random rows of a batch that are judged at most: means over them have an error below 2 % of a
#: standard deviation.
MOST_ROWS = 4000
_NAMES = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a batch."""

    count: int  # of all rows
    frame: Any  # pandas: the columns of the model, of at most 4000 rows; None without rows
    labels: np.ndarray | None  # values of the label column in these rows
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch by its name (None: its number) and the digest of its content; rows are read later."""

    name: str | None
    digest: str
    read: Callable[[], Rows]


@dataclass(frozen=True)
class Reader:
    """How batches are read: as the answer's target was."""

    kinds: Mapping[str, str]  # column of the model to its kind
    label: str = ""
    missing: Sequence[str] = ()
    encoding: str | None = None

    @classmethod
    def of_run(cls, run: Mapping[str, Any], /) -> Reader:
        """Return the reader of an answer with this ``run.json``."""
        asked = run["arguments"]
        missing, encoding = asked.get("missing") or (), asked.get("encoding")
        return cls(run["columns"], run["label"], missing, encoding)

    def frame(self, path: Path, notes: list[str], /) -> Any:
        """Return all rows of a file as columns of the model."""
        from counterpoise.encoding.pairing import table_frame

        table = self._whole(path, notes)
        return table_frame(table, self.kinds, path.name, missing=self.missing, notes=notes)

    def batches(self, given: Any, time: str | None, every: str, /) -> Iterator[Batch]:
        """Yield the batches of files, frames, pairs of name and frame, or a dict of them."""
        if isinstance(given, str | os.PathLike) or hasattr(given, "columns"):
            given = [given]
        if not isinstance(given, Iterable):
            raise InputError(
                "`batches` must be files or data frames, or pairs of a name and one of them; got "
                f"{type(given).__name__}."
            )
        items = given.items() if isinstance(given, Mapping) else given
        named = (item if isinstance(item, tuple) else (None, item) for item in items)
        if time is None:
            for name, item in named:
                yield self._batch(None if name is None else str(name), item)
        else:
            yield from self._periods([item for _, item in named], time, every)

    def _batch(self, name: str | None, item: Any) -> Batch:
        if isinstance(item, str | os.PathLike):
            path = Path(item)
            if not path.is_file():
                raise InputError(f"There is no file {path}. Check the name and the directory.")
            return Batch(name or path.name, file_digest(path), partial(self._file, path))
        notes: list[str] = []
        table = as_table(item, name or "batch", None, notes)
        return Batch(name, _digest(table), partial(self._rows, table, name or "The batch", notes))

    def _file(self, path: Path) -> Rows:
        from counterpoise.encoding.reading import read_sample

        notes: list[str] = []
        options: Any = {"text": self._texts, "encoding": self.encoding, "notes": notes}
        table, count = read_sample(path, MOST_ROWS, first=self.label, **options)
        return self._rows(table, path.name, notes, count)

    def _rows(self, table: Any, name: str, notes: list[str], count: int | None = None) -> Rows:
        """Return some rows of a table as columns of the model."""
        from counterpoise.encoding.pairing import label_values, table_frame
        from counterpoise.encoding.reading import some_table_rows

        count = table.num_rows if count is None else count
        if not count:
            return Rows(0, None, None, notes)
        table, _ = some_table_rows(table.to_batches(), table.schema, MOST_ROWS, self.label)
        frame = table_frame(table, self.kinds, name, missing=self.missing, notes=notes)
        labels = label_values(table[self.label]) if self.label in table.column_names else None
        if count > len(frame):
            notes.append(f"{len(frame):,} random rows of {count:,} were judged.")
        return Rows(count, frame, labels, notes)

    def _periods(self, items: Sequence[Any], time: str, every: str) -> Iterator[Batch]:
        """Sort the rows of all tables into calendar periods."""
        import pyarrow as pa

        from counterpoise.encoding.pairing import check_column, table_frame
        from counterpoise.encoding.texts import retype_texts

        notes: list[str] = []
        tables, wanted = [], {*self.kinds, self.label, time}
        for number, item in enumerate(items, start=1):
            path = isinstance(item, str | os.PathLike)
            name = Path(item).name if path else f"Table {number}"
            table = self._whole(Path(item), []) if path else as_table(item, name, None, notes)
            check_column(time, "time", table, name)
            table_frame(table.slice(0, 0), self.kinds, name, notes=[])  # no column may be lacking
            tables.append(table.select([c for c in table.column_names if c in wanted]))
        if not tables:
            return
        try:
            table = pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(f"The tables cannot be put together: {error}") from error
        [dated] = retype_texts([table], [time], notes)
        names, codes = period_names(dated[time], time, every)
        if undated := int(np.count_nonzero(codes < 0)):
            notes.append(f"{format_count(undated, 'row')} without a date in {time!r} left out.")
        for place, name in enumerate(names):
            part = table.take(np.flatnonzero(codes == place))
            own = notes if place == 0 else []
            yield Batch(name, _digest(part), partial(self._rows, part, name, own))

    def _whole(self, path: Path, notes: list[str]) -> Any:
        from counterpoise.encoding.reading import read_table

        return read_table(path, text=self._texts, encoding=self.encoding, notes=notes)

    @property
    def _texts(self) -> list[str]:
        return [column for column, kind in self.kinds.items() if kind == "category"]


def period_names(values: Any, time: str, every: str, /) -> tuple[list[str], np.ndarray]:
    """Return the names of the periods in their order, and for each row the place of its own, or -1.

    Named as 2024-03-05, 2024-W10 (ISO 8601), 2024-03 or 2024-Q1. Times with a zone are in UTC.
    """
    import pandas as pd
    import pyarrow as pa

    from counterpoise.encoding.texts import kind_of_type

    if kind_of_type(values.type) != "date":
        raise InputError(
            f"`time` must be a column of dates; {time!r} holds {values.type}. Write dates as "
            "2024-03-05, or pass another column."
        )
    zone = getattr(values.type, "tz", None)
    days = values.cast(pa.timestamp("s", zone), safe=False).to_numpy().astype("datetime64[D]")
    codes = np.full(len(days), -1)
    dated = np.flatnonzero(~np.isnat(days))
    distinct, places = np.unique(days[dated], return_inverse=True)
    index = pd.DatetimeIndex(distinct)
    quarters = every == "quarter"
    labels = index.to_period("Q").strftime("%Y-Q%q") if quarters else index.strftime(_NAMES[every])
    period, names = pd.factorize(labels)
    codes[dated] = period[places]
    return list(names), codes


def _digest(table: Any) -> str:
    """Return the SHA-256 of a table's names and values, whatever its chunks and types."""
    import pandas as pd

    frame = table.to_pandas(date_as_object=False).apply(_of_one_type)
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy() if len(frame) else np.empty(0)
    return hashlib.sha256("\n".join(table.column_names).encode() + rows.tobytes()).hexdigest()


def _of_one_type(column: Any) -> Any:
    """Return a series with the type that its values have in a longer table too, or as text."""
    kind = column.dtype.kind
    if kind in "iuf" or column.isna().all():
        return column.isna() if column.isna().all() else column.astype(np.float64)
    if kind == "M":
        return column.dt.as_unit("ms")
    return column.map(str, na_action="ignore") if kind == "O" else column


LEDGER = "watch.jsonl"


class Ledger:
    """The batches that a watch has recorded, in their order; kept in memory without a folder.

    Lines bear the digest of the answer that is watched.
    """

    def __init__(self, folder: Path | None, answer: str, /) -> None:
        self.path = None if folder is None else folder / LEDGER
        self.answer = answer
        self.records: list[dict[str, Any]] = []
        if self.path is None or not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]  # a line that was cut off has no end
        for number, line in enumerate(whole.splitlines(), start=1):
            self.records.append(self._read(line, number))

    def _read(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record: dict[str, Any] = json.loads(line)
            of_answer, _ = record["answer"], record["batch"]["name"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"Line {number} of {self.path} is damaged. Delete the line, or move the file away "
                "to begin anew."
            ) from error
        if of_answer != self.answer:
            raise InputError(
                f"{self.path} is about another answer than the one in its folder. Move the file "
                "away to begin anew."
            )
        return record

    def append(self, record: dict[str, Any], /) -> None:
        """Write a batch to the disk before it counts as recorded."""
        records = [*self.records, {"answer": self.answer, **record}]
        if self.path is not None:
            lines = "".join(f"{json.dumps(own, allow_nan=False)}\n" for own in records)
            write_atomically(self.path, lines.encode())
        self.records = records


@contextmanager
def one_watcher(folder: Path | None, /) -> Iterator[None]:
    """Lock a folder, so that a second watcher is refused at once."""
    if folder is None:
        yield
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder} cannot be written. Change its permissions, or copy the folder.")
    try:
        lock = lock_directory(Path(os.path.realpath(folder)))
    except BlockingIOError as error:
        raise InputError(
            f"{folder} is being watched by another run. Wait until that run has ended."
        ) from error
    try:
        for path in folder.glob(".watch.*.tmp"):  # of a run that was killed
            path.unlink()
        yield
    finally:
        if lock is not None:
            os.close(lock)
