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

__all__ = ["Store", "StoreError", "one_run"]

_DIGEST = b"counterpoise.sha256"


@contextmanager
def one_run(directory: str | os.PathLike[str], /) -> Iterator[None]:
    """Keep other runs out of a directory for the duration of a `with` block.

    The directory is made if need be. What a killed run left half-written is removed.

    Raises
    ------
    StoreError
        If another run is writing there, or nothing can be written.
    """
    place = Path(os.path.realpath(directory))
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = lock_directory(place)
    except BlockingIOError as error:
        raise StoreError(
            f"`out` is being written by another run: {directory}. Wait until it has ended, or name "
            "another directory."
        ) from error
    except OSError as error:
        raise _unwritable(directory, error) from error
    try:
        if lock is not None:
            for pattern in ("chunks/.*.tmp", ".results.parquet.*.tmp", ".manifest.json.*.tmp"):
                for path in place.glob(pattern):
                    path.unlink(missing_ok=True)
        yield
    finally:
        if lock is not None:
            os.close(lock)


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
        self._chunks = self.directory / "chunks"
        manifest = self.directory / "manifest.json"
        wanted = {"version": __version__, "configuration": plan.configuration()}
        try:
            if manifest.exists():
                self._check(manifest, wanted, resume=resume)
            self._refuse_link(self._chunks)
            self._chunks.mkdir(parents=True, exist_ok=True)
            if not manifest.exists():
                write_atomically(manifest, (json.dumps(wanted, indent=2) + "\n").encode())
        except OSError as error:
            raise self._unwritable(error) from error
        self._done = {c.name for c in plan.chunks() if self._complete(c)}

    def has(self, chunk: Chunk, /) -> bool:
        """Tell whether the chunk is stored."""
        return chunk.name in self._done

    def write(self, chunk: Chunk, results: dict[str, np.ndarray], /) -> None:
        """Store a finished chunk."""
        import pyarrow as pa

        repetition = np.arange(chunk.start, chunk.start + chunk.repetitions)
        table = pa.table({"repetition": repetition, **results})
        table = table.replace_schema_metadata({_DIGEST: _digest(table)})
        try:
            write_atomically(self._path(chunk), _parquet(table))
        except OSError as error:
            raise self._unwritable(error) from error
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
        groups = [(p, g) for p in self.plan.problems for g in self.plan.gammas_of(p)]
        types: dict[str, Any] = {}
        for problem in self.plan.problems:
            first = next(c for c in self.plan.chunks() if c.problem == problem)
            types |= {f.name: f.type for f in pq.read_schema(self._path(first))}
        schema = pa.schema([("problem", pa.string()), ("gamma", pa.float64()), *types.items()])
        try:
            with replacing(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
                for problem, gamma in groups:
                    data = self.read(problem, gamma)
                    n = len(data["repetition"])
                    columns = {**data, "problem": [problem] * n, "gamma": np.full(n, gamma)}
                    arrays = [
                        pa.array(columns[f.name], f.type)
                        if f.name in columns
                        else pa.nulls(n, f.type)
                        for f in schema
                    ]
                    writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        except OSError as error:
            raise self._unwritable(error) from error
        return path

    def save(self, name: str, content: bytes, /) -> Path:
        """Write another file into the directory."""
        path = self.directory / name
        try:
            if path.parent != self.directory:
                self._refuse_link(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise self._unwritable(error) from error
        return path

    def _path(self, chunk: Chunk) -> Path:
        return self._chunks / f"{chunk.name}.parquet"

    def _unwritable(self, error: OSError) -> StoreError:
        return _unwritable(self.directory, error)

    def _refuse_link(self, path: Path) -> None:
        if path.is_symlink():
            raise StoreError(
                f"`out` must not hold links to other places; {path} is one. Delete it, or name "
                "another directory."
            )

    def _check(self, manifest: Path, wanted: dict[str, Any], *, resume: bool) -> None:
        if not resume:
            raise StoreError(
                f"`out` already holds results: {self.directory}. "
                "Pass --resume to continue them, or name another directory."
            )
        try:
            found = json.loads(manifest.read_text())
            differences = [*_differences(found, wanted)]
        except (ValueError, AttributeError) as error:
            raise StoreError(
                f"{manifest} is not a manifest of results ({error}). Name another directory."
            ) from error
        if differences:
            raise StoreError(
                f"`out` holds results of another configuration: {'; '.join(differences)}. "
                "Pass the same options, or name another directory."
            )

    def _complete(self, chunk: Chunk) -> bool:
        if not os.path.lexists(self._path(chunk)):
            return False
        self._table(chunk)
        return True

    def _table(self, chunk: Chunk) -> Any:
        """Read a chunk, if it is as it was written."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._path(chunk)
        if not path.is_file():
            raise self._damaged(path, "it is not a file")
        try:
            table = pq.read_table(path, partitioning=None)
            whole = (table.schema.metadata or {}).get(_DIGEST) == _digest(table)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise self._damaged(path, (str(error).splitlines() or ["unreadable"])[0]) from error
        if table.num_rows != chunk.repetitions:
            raise self._damaged(path, f"it has {table.num_rows} of {chunk.repetitions} rows")
        if not whole:
            raise self._damaged(path, "its values do not have the checksum it was written with")
        return table.replace_schema_metadata(None)

    def _damaged(self, path: Path, reason: str) -> StoreError:
        return StoreError(
            f"{path} is damaged: {reason}. Delete it and run again with --resume: "
            "only that chunk is computed again."
        )


def _unwritable(directory: str | os.PathLike[str], error: OSError) -> StoreError:
    reason = error.strerror or str(error)
    return StoreError(
        f"`out` must be a directory that can be written; {directory}: {reason}. "
        "Free some space or name another directory. Finished chunks are kept: continue with "
        "--resume."
    )


def _digest(table: Any) -> bytes:
    """Return the SHA-256 of the names, types and values of a table."""
    found = hashlib.sha256()
    for name in table.column_names:
        values = np.ascontiguousarray(table[name].to_numpy())
        found.update(f"{name}\0{values.dtype.str}\0{len(values)}\0".encode())
        found.update(values.tobytes())
    return found.hexdigest().encode()


def _parquet(table: Any) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    # Random floats do not compress, and dictionaries would only be tried in vain.
    pq.write_table(table, buffer, use_dictionary=False, compression="zstd")
    return buffer.getvalue()


def _differences(found: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    old, new = ({"version": m.get("version"), **m["configuration"]} for m in (found, wanted))
    for key in {**old, **new}:
        if old.get(key) != new.get(key):
            yield f"{key} is {old.get(key)!r}, not {new.get(key)!r}"
