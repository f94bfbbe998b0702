"""Bad days of the command: signals, two runs at once, pipes, hostile names and labels."""

import os
import signal
import subprocess
from functools import partial

import pytest

import counterpoise as cp

FEW = ("--model", "ridge:alpha=1,10")
EVIL = "\x1b[2J\x9b31m\u202e"


def start(run, *arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*run.command, *map(str, arguments)], **pipes, **options)


def wait_for(process, word):
    for line in process.stderr:
        if line.startswith(word):
            return
    pytest.fail(f"{word} never came")


@pytest.fixture
def slow(write):
    many = ",".join(map(str, range(20, 400)))
    source, target = write("a.csv", 2000), write("b.csv", 200, label=False)
    forest = ("--model", f"forest:n_estimators={many}")
    return ("select", source, target, "--label", "y", *forest)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_leaves_nothing_behind(slow, run, tmp_path, number):
    # Jobs in the background are started deaf to interrupts, and so would their children be.
    heard = partial(signal.signal, number, signal.SIG_DFL)
    process = start(run, *slow, "--out", tmp_path / "out", preexec_fn=heard)
    try:
        wait_for(process, "searching")
        assert [path for path in tmp_path.iterdir() if "partial" in path.name]
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    word = "Interrupted" if number == signal.SIGINT else "Terminated"
    assert stderr.strip().splitlines()[-1] == f"{word}: nothing was written."
    assert stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_of_two_runs_into_one_new_directory_the_second_is_refused_at_once(
    slow, run, write, invoke, tmp_path
):
    process = start(run, *slow, "--out", tmp_path / "out")
    try:
        wait_for(process, "searching")
        quick = (write("c.csv"), write("d.csv", label=False), "--label", "y", *FEW)
        done = invoke("select", *quick, "--out", tmp_path / "out")
        assert done.exit_code == 2
        assert "is being written by another run" in done.stderr
        process.kill()
        process.communicate()
        done = invoke("select", *quick, "--out", tmp_path / "out")
        assert done.exit_code == 0, done.output
        cp.load(tmp_path / "out")
    finally:
        process.kill()


@pytest.mark.parametrize("command", ["audit", "select"])
def test_a_pipe_is_refused_by_name_and_does_not_hang(write, run, tmp_path, command):
    os.mkfifo(tmp_path / "pipe.csv")
    done = run(command, tmp_path / "pipe.csv", write("b.csv"), "--label", "y", timeout=60)
    assert done.returncode == 2
    assert "pipe.csv is a pipe or a device, not a regular file" in done.stderr


@pytest.mark.parametrize("output", ["full", "closed"])
@pytest.mark.parametrize("arguments", [["audit", "--example", "gaussian-2d"], ["--version"]])
def test_an_output_that_takes_nothing_ends_without_a_traceback(run, arguments, output):
    if output == "full":
        with open("/dev/full", "w") as full:
            done = run(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        last = done.stderr.strip().splitlines()[-1]
        assert last == "Error: the answer cannot be printed: No space left on device."
    else:
        read, write = os.pipe()
        os.close(read)
        done = run(*arguments, capture_output=False, stdout=write, stderr=subprocess.PIPE)
        os.close(write)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_huge_cell_is_explained(write, invoke, tmp_path):
    (tmp_path / "big.csv").write_text('x,z,kind,y\n1,2,"' + "a" * 5_000_000 + '",3\n')
    done = invoke("audit", tmp_path / "big.csv", write("b.csv"), "--label", "y")
    assert done.exit_code == 2
    assert "big.csv has a row longer than 1 MB" in done.stderr
    assert "quotation mark" in done.stderr


def test_no_escape_sequence_reaches_the_terminal(write, run, tmp_path):
    source, target = tmp_path / f"a{EVIL}.csv", tmp_path / f"b{EVIL}.csv"
    for path, label in ((source, True), (target, False)):
        os.replace(write("x.csv", label=label, **{f"c{EVIL}": range(0, 400, 2)}), path)
    out = tmp_path / f"out{EVIL}"
    runs = [
        ("select", source, target, "--label", "y", *FEW, "--out", out),
        ("select", source, target, "--label", "y", *FEW, "--json"),
        ("audit", source, target, "--label", f"none{EVIL}"),
        ("audit", source, target, source),
        ("select", source, target, "--label", "y", f"--jobs{EVIL}"),
        ("reproduce", f"problem{EVIL}"),
        ("reproduce", "example", "--reps", 10, "--jobs", 1, "--out", tmp_path / f"r{EVIL}"),
    ]
    for arguments in runs:
        done = run(*arguments)
        shown = done.stdout + done.stderr
        assert shown
        assert not set("\x1b\x9b\u202e") & set(shown), (arguments, shown)
