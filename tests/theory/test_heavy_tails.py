"""Squared losses of heavy-tailed noise are hardly ever called plausible; those of normal noise are.

A sample that has missed the tail looks harmless, and its interval misses: about half of the few
heavy-tailed samples that are plausible. So what is judged is how few they are.
"""

import numpy as np
import pytest

import counterpoise as cp

# Noise, and the share of plausible samples, at least and at most. Of 600 samples with shifts up to
# 1 the shares were 0.34 for normal, 0.025 for t(3) and 0.003 for lognormal noise.
NOISE = {
    "normal": (lambda rng: rng.normal(size=100), 0.2, 0.8),
    "t(3)": (lambda rng: rng.standard_t(3, size=100), 0.0, 0.1),
    "lognormal": (lambda rng: rng.lognormal(size=100) - np.exp(0.5), 0.0, 0.1),
}


@pytest.mark.parametrize("noise", NOISE)
def test_heavy_tails_are_called_caution(noise):
    draw, least, most = NOISE[noise]
    plausible = []
    for seed in range(50):
        rng, shift = np.random.default_rng(seed), (0.0, 0.5)[seed % 2]
        X, Z = rng.normal(size=(100, 2)), rng.normal([shift, 0], 1, size=(300, 2))
        weights, losses = np.exp(shift * X[:, 0] - shift**2 / 2), draw(rng) ** 2
        found = cp.diagnose(X, Z, weights=weights, losses=losses)
        plausible.append(found.verdict == "plausible")
    assert least <= np.mean(plausible) <= most
