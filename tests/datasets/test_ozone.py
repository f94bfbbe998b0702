"""Reading and downloading the ozone data, without a network."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from counterpoise.datasets import fetch_ozone
from counterpoise.datasets.ozone import OZONE_COLUMNS, OZONE_URL, load_ozone

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "eighthr.data"


def make_file(rows=30, missing=(3, 7)):
    """Bytes in the format of the file, with every sixth day an ozone day."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(rows):
        numbers = [f"{value:.4g}" for value in rng.normal(size=72)]
        if i in missing:
            numbers[i] = "?"
        label = "1." if i % 6 == 0 else "0."
        lines.append(",".join([f"{1 + i // 28}/{1 + i % 28}/1998", *numbers, label]))
    return ("\n".join(lines) + "\n").encode()


CONTENT = make_file()


@pytest.fixture
def web(monkeypatch):
    """Pages by address, in place of the network."""
    pages = {}

    def retrieve(url, path):
        if url not in pages:
            raise OSError("no network")
        Path(path).write_bytes(pages[url])

    monkeypatch.setattr("sklearn.datasets._base.urlretrieve", retrieve)
    monkeypatch.setattr("counterpoise.datasets.ozone._SHA256", hashlib.sha256(CONTENT).hexdigest())
    return pages


def test_downloads_once_and_keeps_a_copy(web, tmp_path):
    web[OZONE_URL] = CONTENT
    data = fetch_ozone(data_home=tmp_path / "new")
    assert data.X.shape == (28, 72)
    assert data.names == OZONE_COLUMNS[1:-1]
    assert (tmp_path / "new" / "eighthr.data").read_bytes() == CONTENT
    web.clear()
    assert np.array_equal(fetch_ozone(data_home=tmp_path / "new").X, data.X)


@pytest.mark.parametrize("page", [None, CONTENT[:-80], b"<html>moved</html>"])
def test_what_is_not_the_file_is_not_kept_and_the_message_says_what_to_do(web, tmp_path, page):
    if page is not None:
        web[OZONE_URL] = page
    with pytest.raises(OSError, match=r"failed: .* pass its path, or put it at .*eighthr.data"):
        fetch_ozone(data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERPOISE_DATA", str(tmp_path))
    with pytest.raises(OSError, match=f"no copy of the ozone data at {tmp_path}"):
        fetch_ozone(download_if_missing=False)
    (tmp_path / "eighthr.data").write_bytes(CONTENT)
    assert fetch_ozone(download_if_missing=False).y.shape == (28,)


def test_a_pipe_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="must be a regular file"):
        load_ozone(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c[:-30], "line 30 of .* must have 74 columns"),
        (lambda c: c.replace(b"1/5/1998", b"1998-01-05"), "line 5 of .* must hold a date"),
        (lambda c: c.replace(b",1.\n", b",2.\n"), "line 1 of .* must end in the label"),
        (lambda c: c.replace(b",?,", b",x,"), "line 4 of .* could not convert"),
        (lambda c: c.replace(b",1.\n", b",0.\n"), "complete rows of both classes"),
        (lambda c: b"", "complete rows of both classes"),
        (lambda c: b"\xff\xfe" + c, "must be a text file"),
    ],
)
def test_another_file_is_refused_with_the_line_that_shows_it(tmp_path, change, message):
    path = tmp_path / "other.data"
    path.write_bytes(change(CONTENT))
    with pytest.raises(ValueError, match=message):
        load_ozone(path)


def test_rows_come_in_time_order_with_labels_of_both_signs(tmp_path):
    lines = CONTENT.splitlines(keepends=True)
    path = tmp_path / "shuffled.data"
    path.write_bytes(b"".join(lines[::-1]).replace(b"\n", b"\r\n"))
    data = load_ozone(path)
    assert np.all(np.diff(data.day) > 0)
    assert set(data.y) == {-1.0, 1.0}
    (tmp_path / "plain.data").write_bytes(CONTENT)
    assert np.array_equal(load_ozone(tmp_path / "plain.data").X, data.X)


@pytest.mark.skipif(not REAL.exists(), reason="the ozone data is not here")
def test_the_real_file_has_the_rows_that_are_known():
    data = fetch_ozone(data_home=REAL.parent, download_if_missing=False)
    assert data.X.shape == (1847, 72)
    assert int((data.y > 0).sum()) == 128
