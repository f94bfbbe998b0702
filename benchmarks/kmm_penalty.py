"""What KMM's penalty buys: calm weights where there is no shift, at the same recovered means.

    python benchmarks/kmm_penalty.py

For 300 source and 450 target points, normal, with and without a shift of half a standard deviation
in the first feature: the spread of the weights without shift (0 is right), the share of the shift
that the weighted mean repairs (1 is right), and the error of the weights against the true ratio.
"""

from __future__ import annotations

import warnings

import numpy as np

from counterpoise.weights import KMM


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'width':<8}{'D':>4}{'penalty':>9}{'spread':>9}{'repaired':>10}{'RMSE':>7}")
    for width in ("median", "knn"):
        for D in (1, 2, 20):
            for penalty in (0.0, 0.01, 0.1, 1.0):
                rows = []
                for seed in range(3):
                    rng = np.random.default_rng(seed)
                    X, Z = rng.normal(size=(300, D)), rng.normal(size=(450, D))
                    moved = X - 0.5 * np.eye(D)[0]
                    kmm = KMM(width=width, regularization=penalty)
                    spread = kmm.fit(X, Z).weights_.std()
                    w = kmm.fit(moved, Z).weights_
                    start, end = moved[:, 0].mean(), Z[:, 0].mean()
                    share = (np.average(moved[:, 0], weights=w) - start) / (end - start)
                    truth = np.exp(0.5 * moved[:, 0] + 0.125)
                    rows.append((spread, share, np.sqrt(np.mean((w - truth) ** 2))))
                spread, share, error = np.mean(rows, axis=0)
                print(f"{width:<8}{D:>4}{penalty:>9g}{spread:>9.2f}{share:>10.2f}{error:>7.2f}")


if __name__ == "__main__":
    main()
