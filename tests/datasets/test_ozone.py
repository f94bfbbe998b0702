"""Reading and downloading the ozone data; the server is local."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from counterpoise.datasets import fetch_ozone, load_ozone
from counterpoise.datasets.ozone import OZONE_COLUMNS

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
def server(monkeypatch):
    """A local server without https: /whole, /cut, /lines, /page, /missing, /hang and /drip."""
    monkeypatch.setattr("counterpoise.datasets.ozone._check_secure", lambda url: None)
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = {
                "/lines": CONTENT[: CONTENT.index(b"\n", len(CONTENT) // 2) + 1],
                "/page": b"<html>moved</html>",
            }.get(self.path, CONTENT)
            if self.path == "/missing":
                self.send_error(404)
                return
            if self.path == "/hang":
                release.wait(30)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.path == "/drip":
                for i in range(len(body)):
                    if release.wait(0.02):
                        return
                    self.wfile.write(body[i : i + 1])
                return
            self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)

        def log_message(self, *args):
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            pass  # a client that gave up is what is tested

    made = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    release.set()
    made.shutdown()
    made.server_close()
    thread.join()


def test_downloads_once_and_keeps_a_copy(server, tmp_path):
    data = fetch_ozone(url=f"{server}/whole", data_home=tmp_path / "new", rows=None)
    assert data.X.shape == (28, 72)
    assert data.n_dropped == 2
    assert data.names == OZONE_COLUMNS[1:-1]
    assert (tmp_path / "new" / "eighthr.data").read_bytes() == CONTENT
    again = fetch_ozone(url="http://127.0.0.1:9/nothing", data_home=tmp_path / "new", rows=None)
    assert np.array_equal(again.X, data.X)


@pytest.mark.parametrize(
    ("path", "timeout", "error", "message"),
    [
        ("cut", 10, OSError, r"ended after \d+ of \d+ bytes|IncompleteRead"),
        ("lines", 10, ValueError, "must have 30 lines; it has 15"),
        ("page", 10, ValueError, "must have 74 columns; it has 1"),
        ("missing", 10, OSError, "404"),
        ("hang", 0.2, OSError, "timed out"),
        ("drip", 0.2, OSError, "longer than 0.2 s"),
    ],
)
def test_what_goes_wrong_is_said_and_nothing_is_kept(
    server, tmp_path, path, timeout, error, message
):
    with pytest.raises(error, match=message):
        fetch_ozone(url=f"{server}/{path}", data_home=tmp_path, timeout=timeout, rows=30)
    assert list(tmp_path.iterdir()) == []


def test_without_network_or_copy_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERPOISE_DATA", str(tmp_path))
    with pytest.raises(OSError, match=r"no copy .* pass its path, or put it at .*eighthr.data"):
        fetch_ozone(download_if_missing=False)
    with pytest.raises(OSError, match=r"failed: .* pass its path"):
        fetch_ozone(url="http://127.0.0.1:9/eighthr.data", timeout=5)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "ftp://127.0.0.1/x", "file:///etc/hosts"])
def test_only_https_is_asked(tmp_path, monkeypatch, url):
    def refuse(*arguments, **options):
        pytest.fail("a connection was made")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(OSError, match="must begin with https://"):
        fetch_ozone(url=url, data_home=tmp_path)


def test_a_redirection_away_from_https_is_refused(server, tmp_path, monkeypatch):
    checked = []

    def check(url):
        checked.append(url)
        if len(checked) == 2:
            raise OSError("not secure")

    monkeypatch.setattr("counterpoise.datasets.ozone._check_secure", check)
    with pytest.raises(OSError, match="not secure"):
        fetch_ozone(url=f"{server}/whole", data_home=tmp_path, rows=None)
    assert list(tmp_path.iterdir()) == []


def test_something_far_larger_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr("counterpoise.datasets.ozone._LARGEST", 1000)
    with pytest.raises(OSError, match="far larger than the ozone data"):
        fetch_ozone(url=f"{server}/whole", data_home=tmp_path, rows=None)
    assert list(tmp_path.iterdir()) == []


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
        (lambda c: b"", "at least one lines; it has 0"),
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
    data = load_ozone(REAL, rows=2534)
    assert data.X.shape == (1847, 72)
    assert int((data.y > 0).sum()) == 128
    assert data.n_dropped == 2534 - 1847
