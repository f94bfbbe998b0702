"""The ledger of a watch: one line for each batch, appended, flushed, and never lost.

A line that a killed run left unfinished has no end; it is ignored and overwritten. The other files
of a watch are made again from the ledger.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterpoise._files import lock_directory
from counterpoise._validation import InputError

LEDGER = "watch.jsonl"


class Ledger:
    """The batches that a watch has recorded, in their order; kept in memory without a folder.

    Parameters
    ----------
    folder : Path or None
    answer : str
        Digest of the answer that is watched: its lines bear it.
    """

    def __init__(self, folder: Path | None, answer: str, /) -> None:
        self.path = None if folder is None else folder / LEDGER
        self.answer = answer
        self.records: list[dict[str, Any]] = []
        self._end = 0
        if self.path is None or not self.path.exists():
            return
        content = self.path.read_bytes()
        self._end = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._end].splitlines(), start=1):
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
        record = {"answer": self.answer, **record}
        if self.path is not None:
            line = json.dumps(record, allow_nan=False).encode() + b"\n"
            with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
                file.seek(self._end)
                file.truncate()
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._end += len(line)
        self.records.append(record)


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
