"""Memory of a search that keeps predictions: 500 candidates on 100 000 rows.

    python benchmarks/choice_memory.py [--rows 100000] [--candidates 500]

Runs a ridge search with the least risk, with selection="consensus" and with refit="blend", each in
a process of its own, and prints the peak of resident memory over that of a process that has only
loaded the data. Bound to keep: 2 GiB more than the search with the least risk needs, of which the
kept predictions themselves are 4 bytes per candidate and row.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

import numpy as np
from choice_time import WAYS, data
from sklearn.linear_model import Ridge

import counterpoise as cp


def peak() -> float:
    """Peak of the resident memory of this process, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def search(way: str, rows: int, candidates: int) -> None:
    X, y, Z = data(rows, 10, False)
    weights = np.exp(X[:, 0])
    before = peak()
    if way != "data":
        grid = {"alpha": np.logspace(-3, 4, candidates)}
        model = cp.ShiftGridSearchCV(
            Ridge(), grid, weights=weights / weights.mean(), fit_weighted=False, **WAYS[way]
        )
        found = model.fit(X, y, X_target=Z).held_out_
        kept = [found.losses, found.predictions, found.target_predictions]
        size = sum(own.nbytes for own in kept if own is not None) / 2**30
        print(f"{way:<12}{peak() - before:>12.2f} GiB{size:>12.2f} GiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--way", choices=WAYS)
    options = parser.parse_args()
    if options.way:
        search(options.way, options.rows, options.candidates)
        return
    print(f"{options.candidates} candidates, {options.rows} rows")
    print(f"{'':<12}{'peak':>16}{'kept':>16}", flush=True)
    for way in WAYS:
        size = ("--rows", str(options.rows), "--candidates", str(options.candidates))
        subprocess.run([sys.executable, __file__, "--way", way, *size], check=True)


if __name__ == "__main__":
    main()
