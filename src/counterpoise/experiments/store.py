"""A directory of results that survives a kill at any moment.

    DIR/manifest.json          configuration and package version
    DIR/chunks/*.parquet       one file per finished chunk
    DIR/results.parquet        all of them, when everything is done

Files are written under another name, flushed, and renamed: a file that exists is complete. A chunk
carries a checksum of its values, so that one that was damaged later is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise import __version__
from counterpoise._files import lock_directory, replacing, write_atomically
from counterpoise.exceptions import StoreError
from counterpoise.experiments.plan import Chunk, Plan

_DIGEST = b"counterpoise.sha256"


@contextmanager
def one_run(directory: str | os.PathLike[str], /) -> Iterator[None]:
    """Keep other runs out of a directory for the duration of a `with` block.

    The directory is made if need be. What a killed run left half-written is removed. It is a
    StoreError if another run is writing there, or nothing can be written.
    """
    place = Path(os.path.realpath(directory))
    with _writing(directory):
        place.mkdir(parents=True, exist_ok=True)
        try:
            lock = lock_directory(place)
        except BlockingIOError as error:
            raise StoreError(
                f"`out` is being written by another run: {directory}. Wait until it has ended, or "
                "name another directory."
            ) from error
    try:
        if lock is not None:
            for pattern in ("chunks/.*.tmp", ".results.parquet.*.tmp", ".manifest.json.*.tmp"):
                for path in place.glob(pattern):
                    path.unlink(missing_ok=True)
        yield
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def _writing(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Make a StoreError of what goes wrong with the disk."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"`out` must be a directory that can be written; {directory}: "
            f"{error.strerror or error}. Free some space or name another directory. Finished "
            "chunks are kept: continue with --resume."
        ) from error


class Store:
    """Results of one plan in one directory.

    With `resume`, a directory of the same configuration is continued. A directory that cannot be
    written, holds results of another configuration or, without `resume`, any results is a
    `StoreError`, which lists the differences.
    """

    def __init__(
        self, directory: str | os.PathLike[str], plan: Plan, /, *, resume: bool = False
    ) -> None:
        self.directory = Path(directory)
        self.plan = plan
        manifest = self.directory / "manifest.json"
        wanted = {"version": __version__, "configuration": plan.configuration()}
        with _writing(directory):
            if manifest.exists():
                self._check(manifest, wanted, resume=resume)
            self._make_folder(self.directory / "chunks")
            if not manifest.exists():
                write_atomically(manifest, (json.dumps(wanted, indent=2) + "\n").encode())
        self._done = set()
        for chunk in plan.chunks():
            if os.path.lexists(self._path(chunk)):
                self._table(chunk)
                self._done.add(chunk.name)

    def has(self, chunk: Chunk, /) -> bool:
        """Tell whether the chunk is stored."""
        return chunk.name in self._done

    def write(self, chunk: Chunk, results: dict[str, np.ndarray], /) -> None:
        """Store a finished chunk."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        repetition = np.arange(chunk.start, chunk.start + chunk.repetitions)
        table = pa.table({"repetition": repetition, **results})
        table = table.replace_schema_metadata({_DIGEST: _digest(table)})
        buffer = io.BytesIO()
        # Random floats do not compress, and dictionaries would only be tried in vain.
        pq.write_table(table, buffer, use_dictionary=False, compression="zstd")
        with _writing(self.directory):
            write_atomically(self._path(chunk), buffer.getvalue())
        self._done.add(chunk.name)

    def read(self, problem: str, gamma: float, /) -> dict[str, np.ndarray]:
        """Return all repetitions of a problem and gamma, in order."""
        import pyarrow as pa

        chunks = [c for c in self.plan.chunks() if (c.problem, c.gamma) == (problem, gamma)]
        table = pa.concat_tables([self._table(c) for c in chunks])
        return {name: table[name].to_numpy() for name in table.column_names}

    def finish(self) -> Path:
        """Write `results.parquet`: every repetition of every problem, in the plan's order.

        Columns that a problem does not have are null in its rows.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.directory / "results.parquet"
        first = {chunk.problem: self._path(chunk) for chunk in reversed(self.plan.chunks())}
        read = [pq.read_schema(first[problem]).remove_metadata() for problem in self.plan.problems]
        key = pa.schema({"problem": pa.string(), "gamma": pa.float64()})
        schema = pa.unify_schemas([key, *read])
        with (
            _writing(self.directory),
            replacing(path) as temporary,
            pq.ParquetWriter(temporary, schema) as writer,
        ):
            for problem in self.plan.problems:
                for gamma in self.plan.gammas_of(problem):
                    data: dict[str, Any] = self.read(problem, gamma)
                    n = len(data["repetition"])
                    data |= {"problem": [problem] * n, "gamma": np.full(n, gamma)}
                    columns = [pa.array(data.get(f.name, [None] * n), f.type) for f in schema]
                    writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        return path

    def save(self, name: str, content: bytes, /) -> Path:
        """Write another file into the directory."""
        path = self.directory / name
        with _writing(self.directory):
            if path.parent != self.directory:
                self._make_folder(path.parent)
            write_atomically(path, content)
        return path

    def _path(self, chunk: Chunk) -> Path:
        return self.directory / "chunks" / f"{chunk.name}.parquet"

    def _make_folder(self, path: Path) -> None:
        if path.is_symlink():
            raise StoreError(
                f"`out` must not hold links to other places; {path} is one. Delete it, or name "
                "another directory."
            )
        path.mkdir(parents=True, exist_ok=True)

    def _check(self, manifest: Path, wanted: dict[str, Any], *, resume: bool) -> None:
        if not resume:
            raise StoreError(
                f"`out` already holds results: {self.directory}. "
                "Pass --resume to continue them, or name another directory."
            )
        try:
            written = json.loads(manifest.read_text())
            old, new = ({"version": m["version"], **m["configuration"]} for m in (written, wanted))
        except (ValueError, LookupError, TypeError) as error:
            raise StoreError(
                f"{manifest} is not a manifest of results ({error}). Name another directory."
            ) from error
        differences = [
            f"{key} is {old.get(key)!r}, not {new.get(key)!r}"
            for key in {**old, **new}
            if old.get(key) != new.get(key)
        ]
        if differences:
            raise StoreError(
                f"`out` holds results of another configuration: {'; '.join(differences)}. "
                "Pass the same options, or name another directory."
            )

    def _table(self, chunk: Chunk) -> Any:
        """Read a chunk, if it is as it was written."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._path(chunk)
        try:
            if not path.is_file():
                raise OSError("it is not a file")
            table = pq.read_table(path, partitioning=None)
            if table.num_rows != chunk.repetitions:
                raise ValueError(f"it has {table.num_rows} of {chunk.repetitions} rows")
            if (table.schema.metadata or {}).get(_DIGEST) != _digest(table):
                raise ValueError("its values do not have the checksum it was written with")
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            reason = (str(error).splitlines() or ["unreadable"])[0]
            raise StoreError(
                f"{path} is damaged: {reason}. Delete it and run again with --resume: only that "
                "chunk is computed again."
            ) from error
        return table.replace_schema_metadata(None)


def _digest(table: Any) -> bytes:
    """Return the SHA-256 of the names, types and values of a table."""
    digest = hashlib.sha256()
    for name in table.column_names:
        values = np.ascontiguousarray(table[name].to_numpy())
        digest.update(f"{name}\0{values.dtype.str}\0{len(values)}\0".encode())
        digest.update(values.tobytes())
    return digest.hexdigest().encode()
