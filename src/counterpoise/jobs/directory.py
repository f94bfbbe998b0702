"""The directory of a job: claimed before the work, filled at its end, and never lost.

The files are written into a hidden directory on the same file system and moved from there. It is
locked by the process that fills it, so that a second run is refused at once, and what a killed run
left behind is known by having no lock.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from counterpoise._files import lock_directory
from counterpoise._validation import InputError

#: Names of all files that an answer may have.
FILES = (
    "report.html",
    "model.skops",
    "candidates.csv",
    "weights.csv",
    "predictions.csv",
    "source.parquet",
    "weights.skops",
    "run.json",
)

_HIDDEN = ".counterpoise.partial"
# Bytes that must fit before the work begins.
_LEAST_SPACE = 2**20
# Moved last: a directory with this file is complete.
_LAST = "run.json"


@contextmanager
def output_directory(
    path: Path, /, *, force: bool = False, inputs: Sequence[Any] = ()
) -> Iterator[Path]:
    """Give a hidden directory whose files are in `path` after the `with` block.

    A `path` that does not exist appears in one step. In a directory that exists (a mount point, the
    working directory, what a link points to) the files appear one by one, ``run.json`` last, and
    the directory stays the same. After an error or an interruption the hidden directory is removed
    and nothing else has changed. With `force`, a directory that is not empty keeps its other files;
    links of the same name are replaced, not followed. Files that are among `inputs` are never
    replaced.

    Raises
    ------
    InputError
        At once, if `path` is a file, is not empty (without `force`), holds an input under the name
        of an output, cannot be written, has no space, or is being written by another run. At the
        end, if the files cannot be moved; the message says where they are kept.
    """
    place = Path(os.path.realpath(path))
    given = [Path(path) for path in inputs if isinstance(path, str | os.PathLike)]
    for output in (place / name for name in FILES):
        if output.exists() and any(own.exists() and own.samefile(output) for own in given):
            raise InputError(
                f"The folder {place} holds {output.name}, which this job reads and would replace. "
                "Pass another folder."
            )
    try:
        hidden, lock = _claim(place, force)
    except OSError as error:
        raise _unwritable(place, error) from error
    try:
        _check_space(hidden, place)
        yield hidden
        with _uninterrupted():
            _publish(hidden, place, force)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def write_or_keep(directory: Path, out: Path, write: Callable[[Path], None], /) -> None:
    """Write files into `directory` from :func:`output_directory`, or elsewhere if that fails.

    `write` takes the directory to write into, and `out` is what the user named. The error says
    where the files are instead.
    """
    try:
        write(directory)
    except OSError as error:
        _keep(Path(os.path.realpath(out)), error, write)


def _hidden_for(place: Path, force: bool) -> Path:
    """Return the hidden directory: in `place` if that exists, else in its closest parent."""
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    if not existing.is_dir():
        raise InputError(
            f"The folder {place}: {existing} is a file, not a directory. Pass another name."
        )
    if existing != place:
        # Directories of the same name below different parents must not meet.
        digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
        return existing / f".{place.name[:60]}.{digest}.partial"
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if not force and any(entry.name != _HIDDEN for entry in place.iterdir()):
        raise InputError(
            f"The folder {place} is not empty. Pass another one, or force=True (--force) to "
            "replace what a former run wrote there."
        )
    return place / _HIDDEN


def _claim(place: Path, force: bool) -> tuple[Path, int | None]:
    """Make and lock the hidden directory; take over what a killed run left."""
    while True:
        hidden = _hidden_for(place, force)
        made = True
        try:
            hidden.mkdir(mode=0o700)
        except FileExistsError:
            made = False
        try:
            lock = lock_directory(hidden)
        except BlockingIOError as error:
            raise InputError(
                f"The folder {place} is being written by another run. Pass another directory, or "
                "wait until that run has ended."
            ) from error
        except FileNotFoundError:  # another run has ended since
            continue
        if lock is None:
            if made:
                return hidden, None
            raise InputError(
                f"The folder {place}: {hidden} exists, so another run is writing there or was "
                "killed. Delete it if no run is going on, or pass another directory."
            )
        # Another run may have ended, and left its results, before the lock was taken.
        with suppress(FileNotFoundError):
            same = os.path.samestat(os.fstat(lock), hidden.stat())
            if same and _still(hidden, place, force):
                _clear(hidden)
                return hidden, lock
        os.close(lock)


def _still(hidden: Path, place: Path, force: bool) -> bool:
    try:
        return _hidden_for(place, force) == hidden
    except InputError:
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def _clear(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _check_space(directory: Path, place: Path) -> None:
    """Write and delete a file, so that a full disk is known before the work."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(os.urandom(_LEAST_SPACE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(place, error) from error


def _publish(hidden: Path, place: Path, force: bool) -> None:
    mask = os.umask(0)  # it can only be read by setting it
    os.umask(mask)
    names = sorted((entry.name for entry in hidden.iterdir()), key=lambda name: name == _LAST)
    try:
        if not place.exists():
            hidden.chmod(0o777 & ~mask)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(hidden, place)
            return
        if not force and any(entry.name != _HIDDEN for entry in place.iterdir()):
            raise OSError(errno.ENOTEMPTY, "it is no longer empty")
        for name in names:
            if (place / name).is_dir() and not (place / name).is_symlink():
                raise IsADirectoryError(errno.EISDIR, f"{name} is a directory")
        for name in names:
            os.replace(hidden / name, place / name)
    except OSError as error:
        _keep(place, error, lambda other: _copy(names, (hidden, place), other))


def _copy(names: Sequence[str], folders: Sequence[Path], other: Path) -> None:
    for name in names:
        shutil.copy2(next(f / name for f in folders if (f / name).exists()), other / name)


def _keep(place: Path, error: OSError, write: Callable[[Path], None]) -> None:
    """Write the files beside `place`, or among temporary files, and say so in an error."""
    reason = error.strerror or str(error)
    for folder in dict.fromkeys((place.parent, Path(tempfile.gettempdir()))):
        try:
            kept = Path(tempfile.mkdtemp(prefix=f"{place.name}-kept-", dir=folder))
        except OSError:
            continue
        try:
            write(kept)
        except OSError:
            shutil.rmtree(kept, ignore_errors=True)
            continue
        raise InputError(
            f"The folder {place} cannot be written: {reason}. The results are kept in {kept}: move "
            "them to where you want them."
        ) from error
    raise InputError(
        f"The folder {place} cannot be written: {reason}. Neither {place.parent} nor "
        f"{tempfile.gettempdir()} has room for the results. Free some space and run again."
    ) from error


def _unwritable(place: Path, error: OSError) -> InputError:
    return InputError(
        f"The folder {place} cannot be written: {error.strerror or error}. Pass another directory."
    )


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and a termination until the block is done."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
