"""Generated cases for `tests/properties`: how many, from which data, and a count of those tried.

The ordinary suite tries a few cases of every property, always the same ones. `COUNTERPOISE_FUZZ=500
COUNTERPOISE_FUZZ_SEED=7 pytest tests/properties` tries 500 cases of a property of cost 1, others
for each seed.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import wraps

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

CASES = int(os.environ.get("COUNTERPOISE_FUZZ", "4"))
SEED = os.environ.get("COUNTERPOISE_FUZZ_SEED")
TRIED: Counter[str] = Counter()  # cases that were judged, by the name of the running test


def holds_for(*, cost: float = 1.0, **strategies):
    """Mark a property that holds for all values of the strategies.

    A property of cost c is tried 1/c times as often as one of cost 1, at least twice.
    """

    def decorate(test):
        @wraps(test)
        def counted(*args, **kwargs):
            try:
                test(*args, **kwargs)
            except UnsatisfiedAssumption:
                raise
            except BaseException:
                TRIED[_running()] += 1
                raise
            TRIED[_running()] += 1

        made = given(**strategies)(counted)
        if SEED is not None:
            made = seed(int(SEED))(made)
        return settings(
            max_examples=max(2, round(CASES / cost)),
            deadline=None,
            derandomize=SEED is None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            phases=[Phase.generate, Phase.shrink],
        )(made)

    return decorate


def _running() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" (", 1)[0]


@dataclass(frozen=True)
class Samples:
    """Source and target rows with labels of the source; `rng` for what a test draws itself."""

    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    rng: np.random.Generator


@st.composite
def samples(draw, *, n=(12, 40), m=(12, 50), columns=(1, 4), ties=True):
    """Draw samples: correlated or not, of one scale or many, with or without ties and outliers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, others = draw(st.integers(*n)), draw(st.integers(*m))
    width = draw(st.integers(*columns))
    mixing = np.eye(width) + draw(st.sampled_from([0.0, 0.5])) * rng.normal(size=(width, width))
    shift, spread = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([0.7, 1.0, 1.3]))
    X = rng.normal(size=(rows, width)) @ mixing
    Z = shift + spread * rng.normal(size=(others, width)) @ mixing
    kind = draw(st.sampled_from(["plain", "scales", "skewed", *(["ties"] if ties else [])]))
    if kind == "scales":
        unit = 4.0 ** rng.integers(-4, 5, size=width)
        X, Z = X * unit, Z * unit
    elif kind == "skewed":
        X, Z = np.sinh(X), np.sinh(Z)
    elif kind == "ties":
        X, Z = np.round(2 * X) / 2, np.round(2 * Z) / 2
        X[:, 0] += 1e-3 * rng.normal(size=rows)  # not all columns constant
        Z[:, 0] += 1e-3 * rng.normal(size=others)
    y = X @ rng.normal(size=width) / np.abs(X).max() + 0.5 * rng.normal(size=rows)
    return Samples(X, y, Z, rng)


@st.composite
def weights_of(draw, rows: int) -> np.ndarray:
    """Draw weights: equal, near 1, heavy-tailed, some of them zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["near one", "exponential", "heavy", "zeros", "equal"]))
    if kind == "near one":
        return 1 + 0.01 * rng.normal(size=rows)
    if kind == "equal":
        return np.full(rows, draw(st.sampled_from([0.5, 1.0, 3.0])))
    found = (
        rng.exponential(size=rows)
        if kind == "exponential"
        else np.exp(2 * rng.normal(size=rows) - 2)
    )
    if kind == "zeros":
        found[rng.random(rows) < 0.3] = 0.0
        found[0] += 0.5
    return found


def quiet(function, *args, **kwargs):
    """Call without the warnings that small or separated samples earn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def assert_close(got, want, *, rtol=1e-8, scale=None):
    """Compare arrays up to rounding, relative to their largest entry or a given scale."""
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    if scale is None:
        finite = np.abs(want[np.isfinite(want)])
        scale = finite.max() if finite.size else 1.0
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * float(scale))
