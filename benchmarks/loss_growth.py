"""How often intervals cover where losses grow with the weights, and whether it is said.

    python benchmarks/loss_growth.py --repeats 1000

Source N(0, 1), target N(shift, 1), squared noise of standard deviation exp(growth x), the exact
weights: the risk is exp(2 growth shift + 2 growth^2). One line for each shift, growth and number of
rows: the coverage of nominal 95 % intervals from the array of weights, and with weights that
`GaussianRatio` fits to 1000 target rows (a tenth of the repeats); the median of the factor by which
weighted losses grow, and the share of samples in which `target_risk` warns. The last line counts
the warnings where losses do not grow.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import numpy as np

import counterpoise as cp
from counterpoise.exceptions import TailWarning
from counterpoise.risk.growth import MOST_GROWTH, LogMoments

SHIFTS, GROWTHS, ROWS = (0.5, 1.0, 1.5), (0.0, 0.1, 0.25, 0.5), (50, 200, 1000)


def covered(risk: cp.RiskEstimate, truth: float) -> np.ndarray:
    low, high = risk.interval()
    return np.mean((low <= truth) & (truth <= high))


def line(shift: float, growth: float, n: int, repeats: int) -> tuple[str, int]:
    """Return the numbers of one setting, and how many samples are warned of."""
    rng = np.random.default_rng(n)
    x, noise = rng.normal(size=(2, repeats, n))
    losses, weights = (np.exp(growth * x) * noise) ** 2, np.exp(shift * x - shift**2 / 2)
    truth = np.exp(2 * growth * shift + 2 * growth**2)
    given = covered(cp.target_risk(losses, weights), truth)
    fitted = np.mean(
        [
            covered(
                cp.target_risk(
                    losses[i],
                    "gaussian",
                    X_source=x[i][:, None],
                    X_target=rng.normal(shift, 1, size=(1000, 1)),
                ),
                truth,
            )
            for i in range(repeats // 10)
        ]
    )
    factors = LogMoments.of(losses, weights).growth
    warned = int(np.sum(factors > MOST_GROWTH))
    words = (
        f"{shift:>5} {growth:>7} {n:>5} {given:>12.3f} {fitted:>13.3f} {np.median(factors):>14.2f} "
        f"{warned / repeats:>7.2f}"
    )
    return words, warned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    print("shift  growth  rows  given array  fitted to rows  growth factor  warned")
    alarms = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailWarning)
        for shift, growth, n in itertools.product(SHIFTS, GROWTHS, ROWS):
            words, warned = line(shift, growth, n, repeats)
            alarms += warned if growth == 0 else 0
            print(words, flush=True)
    print(f"warned without growth: {alarms} of {len(SHIFTS) * len(ROWS) * repeats:,} samples")


if __name__ == "__main__":
    main()
