"""Files that exist either whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["replacing", "write_atomically"]


@contextmanager
def replacing(path: Path, /) -> Iterator[Path]:
    """Give a temporary path beside `path` that replaces it at the end of a `with` block.

    Every writer has a temporary name of its own, so that two of them cannot mix their bytes. An
    error removes the temporary file and leaves `path` as it was.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, content: bytes, /) -> None:
    """Write a file under a temporary name, flush it to the disk and rename it."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
