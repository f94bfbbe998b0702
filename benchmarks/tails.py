"""How often intervals cover under heavy-tailed losses, by verdict.

    python benchmarks/tails.py [--samples 500] [--rows 100 200 400]

Labels are linear in two columns, with normal, lognormal or Student t(3) noise; the first column has
another mean in the target. Ridge regression, squared loss: the variance of the losses is infinite
under t(3). Prints how many samples have each verdict, and the share of their 95 % intervals that
cover the true risk.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

import counterpoise as cp

COEF, SHIFT = np.array([1.0, 0.5]), np.array([0.5, 0.0])
# Draws of noise with mean 0, and its variance.
NOISE = {
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(size=n) - np.exp(0.5), np.e**2 - np.e),
    "t(3)": (lambda rng, n: rng.standard_t(3, n), 3.0),
}


def sample(seed: int, noise: str, n: int) -> tuple[str, bool]:
    """Return the verdict of a search, and whether its interval covers."""
    rng = np.random.default_rng([seed, n, len(noise)])
    draw, variance = NOISE[noise]
    X, Z = rng.normal(size=(n, 2)), rng.normal(size=(300, 2)) + SHIFT
    search = cp.ShiftGridSearchCV(Ridge(), {}).fit(X, X @ COEF + draw(rng, n), X_target=Z)
    model = search.best_estimator_
    off = model.coef_ - COEF
    truth = variance + (SHIFT @ off + model.intercept_) ** 2 + off @ off
    low, high = search.best_risk_.interval()
    return search.diagnostics_.verdict, low <= truth <= high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 200, 400])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for noise in NOISE:
        for n in options.rows:
            covered = defaultdict(list)
            for seed in range(options.samples):
                verdict, held = sample(seed, noise, n)
                covered[verdict].append(held)
            said = (f"{word} {len(c)} ({np.mean(c):.3f})" for word, c in sorted(covered.items()))
            print(f"{noise}, {n} rows: {', '.join(said)}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
