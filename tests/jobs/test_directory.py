"""The directory of a job: claimed before the work, filled at its end, and never lost."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoise._validation import InputError
from counterpoise.jobs import directory as module
from counterpoise.jobs.directory import output_directory, write_or_keep


def fill(place):
    for name in ("a.txt", "run.json"):
        (place / name).write_text("new")


def write(out, work=fill, **options):
    with output_directory(out, **options) as directory:
        write_or_keep(directory, out, work)


@pytest.fixture
def mount(tmp_path):
    """Mount small file systems in memory; skip where that is not allowed."""
    mounted = []

    def make(size, *options):
        place = tmp_path / f"volume{len(mounted)}"
        place.mkdir()
        wanted = ",".join([f"size={size}", *options])
        command = ["mount", "-t", "tmpfs", "-o", wanted, "none", str(place)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("nothing may be mounted here")
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)


def listing(directory):
    return sorted(path.name for path in directory.rglob("*"))


def test_nothing_is_there_before_the_end_and_everything_after(tmp_path):
    out = tmp_path / "new" / "out"
    with output_directory(out) as directory:
        (directory / "a.txt").write_text("a")
        assert not out.exists()
    assert listing(tmp_path) == ["a.txt", "new", "out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_leaves_nothing(tmp_path, error):
    def fail():
        with output_directory(tmp_path / "out") as directory:
            (directory / "a.txt").write_text("a")
            raise error

    with pytest.raises(error):
        fail()
    assert listing(tmp_path) == []


def test_a_directory_with_files_needs_force_which_replaces_only_its_own(tmp_path):
    for name in ("a.txt", "mine.txt"):
        (tmp_path / name).write_text("old")
    with pytest.raises(InputError, match="is not empty"), output_directory(tmp_path):
        pass
    with output_directory(tmp_path, force=True) as directory:
        (directory / "a.txt").write_text("new")
    assert listing(tmp_path) == ["a.txt", "mine.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "mine.txt").read_text() == "old"


@pytest.mark.parametrize("kind", ["directory", "link", "working directory"])
def test_an_empty_directory_stays_the_same_directory(tmp_path, monkeypatch, kind):
    """A shell may stand in it, a volume may be mounted on it, a link may point to it."""
    real = out = tmp_path / "real"
    real.mkdir()
    before = real.stat().st_ino
    if kind == "link":
        out = tmp_path / "link"
        out.symlink_to(real)
    if kind == "working directory":
        monkeypatch.chdir(real)
        out = Path(".")
    write(out)
    assert real.stat().st_ino == before
    assert listing(real) == ["a.txt", "run.json"]
    assert kind != "link" or out.is_symlink()
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


def test_a_file_in_the_way_and_a_place_that_may_not_be_written_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(InputError, match="is a file"), output_directory(out):
            pass

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with (
        pytest.raises(InputError, match="Permission denied"),
        output_directory(tmp_path / "o"),
    ):
        pass
    assert listing(tmp_path) == ["file"]


def test_an_empty_volume_is_filled(mount):
    volume = mount("8m")
    write(volume)
    assert listing(volume) == ["a.txt", "run.json"]


def test_a_directory_that_cannot_be_renamed_over_is_filled(tmp_path, monkeypatch):
    """As an empty mount point, where nothing can be mounted."""
    out = tmp_path / "out"
    out.mkdir()
    real = os.rename

    def busy(source, target, **options):
        if os.path.realpath(target) == str(out):
            raise OSError(errno.EBUSY, "Device or resource busy")
        real(source, target, **options)

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, busy)
    write(out)
    assert listing(tmp_path) == ["a.txt", "out", "run.json"]


def test_a_second_run_is_refused_before_any_work(tmp_path):
    out = tmp_path / "out"
    with output_directory(out) as directory:
        with pytest.raises(InputError, match="written by another run"), output_directory(out):
            pass
        fill(directory)
    assert listing(tmp_path) == ["a.txt", "out", "run.json"]
    with pytest.raises(InputError, match="is not empty"), output_directory(out):
        pass


def test_what_appeared_in_the_meantime_is_not_overwritten_and_the_results_are_kept(tmp_path):
    out = tmp_path / "out"

    def late():
        with output_directory(out) as directory:
            fill(directory)
            out.mkdir()
            (out / "a.txt").write_text("other")

    with pytest.raises(InputError, match=r"no longer empty\. The results are kept in") as caught:
        late()
    assert (out / "a.txt").read_text() == "other"
    [kept] = [path for path in tmp_path.iterdir() if "kept" in path.name]
    assert str(kept) in str(caught.value)
    assert listing(kept) == ["a.txt", "run.json"]


def test_a_directory_in_the_place_of_a_file_moves_nothing_and_keeps_the_results(tmp_path):
    out = tmp_path / "out"
    (out / "run.json").mkdir(parents=True)
    with pytest.raises(InputError, match=r"run\.json is a directory\. The results are kept in"):
        write(out, force=True)
    assert listing(out) == ["run.json"]
    [kept] = [path for path in tmp_path.iterdir() if "kept" in path.name]
    assert (kept / "a.txt").read_text() == "new"


def test_what_a_killed_run_left_is_taken_over(tmp_path):
    out = tmp_path / "out"
    code = (
        "import os, sys; from pathlib import Path\n"
        "from counterpoise.jobs.directory import output_directory\n"
        "with output_directory(Path(sys.argv[1])) as place:\n"
        "    (place / 'half').mkdir(); (place / 'half' / 'a').write_text('x'); os._exit(9)"
    )
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", code, out], check=False).returncode == 9
        assert not out.exists()
        assert len(list(tmp_path.iterdir())) == 1
    write(out)
    assert listing(tmp_path) == ["a.txt", "out", "run.json"]


def test_links_are_replaced_and_never_followed(tmp_path):
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("old")
    (out / "a.txt").symlink_to(outside / "secret")
    (out / "run.json").symlink_to(outside / "new")
    write(out, force=True)
    assert listing(outside) == ["secret"]
    assert (outside / "secret").read_text() == "old"
    assert not (out / "a.txt").is_symlink()
    (out / ".counterpoise.partial").symlink_to(outside)
    with pytest.raises(InputError, match="cannot be written"):
        write(out, force=True)
    assert listing(outside) == ["secret"]


def test_a_full_disk_is_known_before_the_work(mount):
    volume = mount("512k")
    with pytest.raises(InputError, match="No space left on device"), output_directory(volume):
        pytest.fail("the work began")
    assert listing(volume) == []


def test_a_read_only_volume_is_known_before_the_work(mount):
    volume = mount("8m", "ro")
    for out in (volume, volume / "new"):
        with pytest.raises(InputError, match="cannot be written"), output_directory(out):
            pytest.fail("the work began")


def test_a_disk_that_fills_up_during_the_work_loses_nothing(mount):
    volume = mount("2m")

    def fill_much(place):
        (place / "a.txt").write_bytes(bytes(3 * 2**20))

    with pytest.raises(InputError, match=r"No space left on device\. The results are kept in"):
        write(volume, fill_much)
    assert listing(volume) == []
    [kept] = [path for path in volume.parent.iterdir() if "kept" in path.name]
    assert (kept / "a.txt").stat().st_size == 3 * 2**20


def test_where_there_is_no_room_anywhere_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path / "none"))

    def full(place):
        (place / "a.txt").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="has room for the results"):
        write(tmp_path / "out", full)
    assert listing(tmp_path) == []
