"""Seconds of `ShiftRidgeCV` in memory from ten thousand to ten million rows, against a cost model.

    python benchmarks/scaling.py [--largest 7] > scaling.csv

30 features, Gaussian weights from a target of a twentieth of the rows, 5 folds, 200 penalties,
method "controlled". The model counts what must be done (docs/guide/scaling.rst) and divides by two
rates measured in the same run on the same cores: that of one weighted Gram product, and that of a
copy of X. The last column is the ratio of the measured seconds to the model's.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import numpy as np
from timing import medians

import counterpoise as cp

FEATURES, FOLDS = 30, 5
ALPHAS = np.logspace(-3, 6, 200)
# Of the model: flops and passes over the rows (8 bytes a number, read or written).
Q = FEATURES + 2
FLOPS_PER_ROW = 2 * FEATURES**2 + 4 * FEATURES**2 + 4 * Q**2
PASSES = 12
BLOCKS = 100
FLOPS_FIXED = FOLDS * 10 * Q**3 + BLOCKS * len(ALPHAS) * 2 * 2 * Q**2


def data(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, FEATURES))
    y = X @ rng.standard_normal(FEATURES) / np.sqrt(FEATURES) + rng.standard_normal(rows)
    return X, y, rng.standard_normal((max(1000, rows // 20), FEATURES)) + 0.2


def rates() -> tuple[float, float]:
    """Return flops per second of a weighted Gram product, and bytes per second of a copy."""
    X, y, _ = data(1_000_000)
    out = np.empty_like(X)
    weighted = X * y[:, None]
    gram, copy = medians(lambda: X.T @ weighted, lambda: np.copyto(out, X), repeats=5)
    return 2 * X.size * FEATURES / gram, 2 * X.nbytes / copy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=7, help="largest power of ten")
    largest = parser.parse_args().largest
    flops, bandwidth = rates()
    print("rows,seconds,rows_per_second,model_seconds,ratio")
    search = cp.ShiftRidgeCV(ALPHAS, weights="gaussian", cv=FOLDS, method="controlled")
    for power in range(4, largest + 1):
        for factor in (1, 3) if power < largest else (1,):
            rows = factor * 10**power
            X, y, Z = data(rows)
            (taken,) = medians(
                partial(search.fit, X, y, X_target=Z), repeats=5 if rows < 10**6 else 2
            )
            total = 1.05 * rows  # with the target
            model = (total * FLOPS_PER_ROW + FLOPS_FIXED) / flops
            model += total * PASSES * 8 * (FEATURES + 1) / bandwidth
            numbers = (taken, rows / taken, model, taken / model)
            print(f"{rows}," + ",".join(f"{number:.4g}" for number in numbers), flush=True)
    note = f"{flops / 1e9:.1f} GFLOP/s Gram product, {bandwidth / 1e9:.1f} GB/s copy"
    print(note, file=sys.stderr)


if __name__ == "__main__":
    main()
