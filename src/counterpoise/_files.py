"""Files that exist either whole or not at all, and directories that one process writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: Path, /) -> Iterator[Path]:
    """Give a temporary path beside `path` that replaces it at the end of a `with` block.

    Every writer has a temporary name of its own, so that two of them cannot mix their bytes. An
    error removes the temporary file and leaves `path` as it was. A link at `path` is replaced, not
    followed.
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


def lock_directory(directory: Path, /) -> int | None:
    """Lock a directory until the returned file descriptor is closed or the process ends.

    Returns None where the system or the file system has no such locks. It is a BlockingIOError if
    another process holds the lock. A link is not followed.
    """
    if fcntl is None:
        return None
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor
