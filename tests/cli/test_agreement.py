"""Verdict, shift sentence, exit code, JSON and page say the same about one pair of files."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

N = 300


def days(rng, *, weekend):
    start = np.datetime64("2023-01-02")  # a Monday
    day = rng.integers(5, 7, N) if weekend else rng.integers(0, 5, N)
    return start + (7 * rng.integers(0, 50, N) + day).astype("m8[D]")


def samples(kind, seed):
    """Two samples with a shift of one kind; the column that shifts is called `moved`."""
    rng = np.random.default_rng(seed)
    source, target = (pd.DataFrame({"x": rng.normal(size=N)}) for _ in range(2))
    if kind == "numbers":
        moved = rng.normal(size=N), rng.normal(0.35, 1, size=N)
    elif kind == "large numbers":
        moved = rng.normal(size=N), rng.normal(8, 1, size=N)
    elif kind == "text":
        moved = (rng.choice(["a", "b", "c"], N, p=p) for p in ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]))
    elif kind == "weekdays":
        moved = days(rng, weekend=False), days(rng, weekend=True)
    elif kind == "missing":
        moved = (np.where(rng.random(N) < p, np.nan, rng.normal(size=N)) for p in (0.02, 0.4))
    elif kind == "spread":
        moved = rng.normal(size=N), rng.normal(0, 2, size=N)
    else:
        moved = rng.normal(size=N), rng.normal(size=N)
    return [
        frame.assign(moved=values) for frame, values in zip((source, target), moved, strict=True)
    ]


KINDS = ["numbers", "large numbers", "text", "weekdays", "missing", "spread", "none"]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_says_the_same(kind, tmp_path, invoke):
    paths = [tmp_path / "source.csv", tmp_path / "target.csv"]
    for frame, path in zip(samples(kind, 0), paths, strict=True):
        frame.to_csv(path, index=False)
    done = invoke("audit", *paths, "--strict", "--details", "--out", tmp_path / "out")
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    page = (tmp_path / "out" / "report.html").read_text()
    shown = html.unescape(re.sub(r"<[^>]*>", " ", page))
    verdict, shift = run["verdict"], run["shift"]
    assert done.exit_code == (3 if verdict == "do not trust" else 0), done.output
    assert f"{verdict[:1].upper()}{verdict[1:]}." in done.stdout
    for text in (done.stdout, shown):
        text = " ".join(text.split())
        assert " ".join(shift["words"].split()) in text
        assert ("No shift was found" in text) == (shift["size"] == "none")
        assert ("Use no weights" in text) == (shift["size"] == "none")
        for sentence in (*run["reasons"], *run["advice"]):
            assert " ".join(sentence.split())[:60] in text
    if kind == "numbers":
        return  # 0.35 standard deviations: three standard errors, which a test may miss
    assert (shift["size"] == "none") == (kind == "none")
    assert shift["columns"] == ([] if kind in ("none", "spread") else ["moved"])
    if kind == "weekdays":
        assert (shift["size"], verdict) == ("strong", "do not trust")
