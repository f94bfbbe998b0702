"""Two files of mixed columns, with a shift in age and a label that follows age and colour."""

import json

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("pyarrow", reason="jobs need the cli extra")
pd = pytest.importorskip("pandas", reason="jobs need the cli extra")


def table(rng, n, shift):
    age = rng.normal(shift, 1, n).round(6)
    colour = rng.choice(["red", "green", "blue"], n)
    logit = age + (colour == "red") - 0.5
    frame = pd.DataFrame(
        {
            "age": age,
            "noise": rng.normal(size=n).round(6),
            "colour": colour.astype(object),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "smoker": rng.random(n) > 0.4,
            "ill": np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no"),
            "cost": (2 * age + rng.normal(size=n)).round(6),
        }
    )
    frame.loc[::13, "noise"] = np.nan
    frame.loc[::17, "colour"] = None
    return frame


@pytest.fixture
def forge():
    """Replace a file of an answer as someone would who can compute checksums."""
    from counterpoise.jobs.saving import digest_of, file_digest

    def replace(folder, name, content, *, more=(), **changes):
        (folder / name).write_bytes(content)
        run = json.loads((folder / "run.json").read_text()) | changes
        del run["sha256"]
        run["files"] |= {name: file_digest(folder / name), **dict(more)}
        (folder / "run.json").write_text(json.dumps({**run, "sha256": digest_of(run)}))

    return replace


@pytest.fixture(autouse=True)
def one_thread():
    """Boosting on a handful of rows: threads would only wait for each other."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def frames(rng):
    return table(rng, 250, 0.0), table(rng, 400, 0.7)


@pytest.fixture
def files(frames, tmp_path):
    for frame, name in zip(frames, ("source", "target"), strict=True):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path
