"""How often the held-out score finds the true ratio among too flat and too steep ones.

    python benchmarks/held_out_score.py [--repetitions 200] [--features 1 5]

Source N(0, I), target N(shift, I), with the shift spread evenly over the features. The candidates
are the true ratio with its slope multiplied by 0.5, 0.75, 1, 1.5 and 2. Printed for each problem:
how often `select_weights` chooses each of them, and, for comparison, how often the log of the mean
source ratio, taken fold by fold or once, would have.
"""

from __future__ import annotations

import argparse

import numpy as np

from counterpoise.weights.base import held_out_scores

FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
FOLDS = 5


def log_of_mean(source: list[np.ndarray], target: list[np.ndarray]) -> float:
    """Mean log ratio over the target minus log mean ratio over the source, by folds."""
    pairs = zip(source, target, strict=True)
    return float(np.mean([b.mean() - np.log(np.mean(np.exp(a))) for a, b in pairs]))


def wins(rng: np.random.Generator, shift: float, features: int, rows: int, runs: int) -> np.ndarray:
    """How often each candidate wins, (criteria, candidates)."""
    counts = np.zeros((3, len(FACTORS)), dtype=int)
    for _ in range(runs):
        source, target = rng.normal(size=(2, rows, features))
        # The ratio depends on the projection to the direction of the shift only.
        source, target = (X.sum(axis=1) / np.sqrt(features) for X in (source, target))
        folds = [
            (np.array_split(f * shift * source, FOLDS), np.array_split(f * shift * Z, FOLDS))
            for Z in [target + shift]
            for f in FACTORS
        ]
        criteria = (
            [np.mean(held_out_scores(*pair)) for pair in folds],
            [log_of_mean(*pair) for pair in folds],
            [log_of_mean(*([np.concatenate(logs)] for logs in pair)) for pair in folds],
        )
        for row, values in zip(counts, criteria, strict=True):
            row[np.argmax(values)] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--features", type=int, nargs="+", default=[1, 5])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"wins of slopes {FACTORS} x the true slope, of {options.repetitions}")
    names = "score", "log of mean by folds", "log of mean, pooled"
    print("   D  shift   rows" + "".join(f"{name:>26}" for name in names))
    for features in options.features:
        for shift in (0.5, 1.0, 2.0):
            for rows in (100, 200, 1000):
                counts = wins(rng, shift, features, rows, options.repetitions)
                cells = "".join(
                    f"{' '.join(f'{count:>4}' for count in line):>26}" for line in counts
                )
                print(f"{features:>4}{shift:>7}{rows:>7}{cells}", flush=True)


if __name__ == "__main__":
    main()
