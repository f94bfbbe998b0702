"""Chunks of rows from Parquet files that need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._validation import check_number
from counterpoise.ridge.stream import Chunk, Task


class ParquetChunks:
    """Rows of Parquet files, a chunk at a time, as often as needed.

    Iterating gives pairs (X, y) of at most `rows` rows, `n_rows` in all, in the order of the files.
    Files that are damaged, or lack a column, are named when the object is made.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files, or a directory, whose ``*.parquet`` files are taken in the order of their names.
    label : str or list of str, optional
        Column to predict; a list makes several outputs. Without it `y` is None: a target.
    columns : list of str, optional
        Features. Default: all columns of the first file but the label. An attribute, too.
    rows : int, default=65536
        Most rows in a chunk.

    Examples
    --------
    >>> import tempfile
    >>> import counterpoise as cp
    >>> import numpy as np
    >>> import pandas as pd
    >>> from counterpoise.ridge import ParquetChunks
    >>> table = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 2)), columns=["x", "y"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/a.parquet")
    ...     chunks = ParquetChunks(folder, label="y")
    ...     model = cp.ShiftRidgeCV().fit_chunks(chunks, X_target=table[["x"]] + 0.5)
    >>> chunks.n_rows, chunks.columns
    (500, ['x'])
    """

    def __init__(
        self,
        paths: Any,
        *,
        label: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        rows: int = 2**16,
    ) -> None:
        self.rows = check_number(rows, "rows", low=1, closed="low", integer=True)
        self.paths = _files(paths)
        self.label = label
        self._labels = [] if label is None else [label] if isinstance(label, str) else list(label)
        self._footers = [_open(path).metadata for path in self.paths]
        schemas = [footer.schema.to_arrow_schema() for footer in self._footers]
        names = schemas[0].names if columns is None else columns
        self.columns = [name for name in names if columns is not None or name not in self._labels]
        for path, schema in zip(self.paths, schemas, strict=True):
            _check_columns(path, schema, self.columns, self._labels)
        self.n_rows = sum(footer.num_rows for footer in self._footers)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        for task in self.tasks():
            for X, y, _ in task.read():
                yield X, y

    def tasks(self) -> Iterator[Task]:
        """Yield consecutive row groups that make about one chunk, by file."""
        number, first = 0, 0
        for path, footer in zip(self.paths, self._footers, strict=True):
            groups: list[int] = []
            held, last = 0, footer.num_row_groups - 1
            for group in range(footer.num_row_groups):
                groups.append(group)
                held += footer.row_group(group).num_rows
                if held >= self.rows or group == last:
                    name = f"{path.name}, row group {groups[0]}"
                    name += f" to {group}" if len(groups) > 1 else ""
                    yield Task(number, name, first, partial(self._read, path, footer, groups))
                    number, first, groups, held = number + 1, first + held, [], 0

    def _read(self, path: Path, footer: Any, groups: list[int]) -> Iterator[Chunk]:
        """Yield the chunks of some row groups."""
        wanted = [*self.columns, *self._labels]
        try:
            batches = _open(path, footer).iter_batches(
                self.rows, row_groups=groups, columns=wanted, use_threads=False
            )
            for batch in batches:
                yield (*self._arrays(batch), None)
        except Exception as error:
            raise ValueError(
                f"cannot be read: {error}. The file is damaged, or was changed while it was read; "
                "write it again or leave it out."
            ) from error

    def _arrays(self, batch: Any) -> tuple[np.ndarray, np.ndarray | None]:
        def values(name: str) -> Any:
            return batch.column(name).to_numpy(zero_copy_only=False)

        X = np.empty((batch.num_rows, len(self.columns)))
        for j, name in enumerate(self.columns):
            X[:, j] = values(name)
        if not self._labels:
            return X, None
        y = [values(name) for name in self._labels]
        return X, y[0] if isinstance(self.label, str) else np.column_stack(y)


def _files(paths: Any) -> list[Path]:
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    files: list[Path] = []
    for path in map(Path, listed):
        files += sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise ValueError(
            f"`paths` must name Parquet files, or a directory that holds *.parquet; got {paths!r}."
        )
    return files


def _open(path: Path, footer: Any = None) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(
            "ParquetChunks needs pyarrow. Install it with pip install counterpoise[cli]."
        ) from error
    try:
        # Not buffered ahead: a row group may be large, and other tasks read meanwhile.
        return ParquetFile(path, metadata=footer, pre_buffer=False)
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path.name} cannot be read as Parquet: {error}. The file is damaged or incomplete; "
            "write it again or leave it out."
        ) from error


def _check_columns(path: Path, schema: Any, columns: list[str], labels: Iterable[str]) -> None:
    from pyarrow import types

    missing = [name for name in (*columns, *labels) if name not in schema.names]
    if missing:
        raise ValueError(
            f"{path.name} must have the columns {missing}; it has {schema.names}. "
            "Pass files with the same columns, or choose with `columns`."
        )
    for name in columns:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"{path.name}: the column {name!r} must be numeric; got {kind}. Encode text and "
                "categories first, or leave it out with `columns`."
            )
