"""Shared tables of the extremes: every risk method, every weight estimator."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from counterpoise import weights as cw
from counterpoise.risk import (
    METHODS,
    Constant,
    Controlled,
    DoublyRobust,
    MomentControlled,
    Normalized,
    Truncated,
)

EVERY_METHOD = {
    **METHODS,
    "controlled, sample": Controlled(center="sample"),
    "controlled, beta 1": Controlled(beta=1.0),
    "truncated, quantile": Truncated(quantile=0.9),
    "doubly robust, normalized": DoublyRobust(base=Normalized()),
    "weights as control": MomentControlled(controls=[Constant()]),
    "no penalty": MomentControlled(penalty=0.0),
}
EVERY_ESTIMATOR = {
    "gaussian": cw.GaussianRatio,
    "kmm": cw.KMM,
    "kliep": cw.KLIEP,
    "ulsif": cw.ULSIF,
    "relative ulsif": partial(cw.ULSIF, alpha=0.1),
    "classifier": cw.ClassifierRatio,
    "voronoi": cw.NearestNeighborRatio,
    "kernel density": cw.KernelDensityRatio,
}
NUMBERS = (
    "value",
    "standard_error",
    "beta",
    "n_effective",
    "degrees_of_freedom",
    "variance_reduction",
    "tail_error",
    "constant_error",
    "target_error",
    "transfer_error",
)
# In the unit of the losses.
IN_UNITS = ("value", "standard_error", "beta", "tail_error", "constant_error", "target_error")


@pytest.fixture(params=EVERY_METHOD)
def method(request):
    return EVERY_METHOD[request.param]


@pytest.fixture(params=EVERY_ESTIMATOR)
def make_weights(request):
    return EVERY_ESTIMATOR[request.param]


@pytest.fixture
def sample():
    """Losses, weights and features of 40 source rows, and 30 target rows."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(40, 2)), rng.normal(0.3, 1, size=(30, 2))
    return rng.exponential(size=40), rng.exponential(size=40), X, Z


@pytest.fixture
def assert_sound():
    """Everything that a risk estimate says is finite, the interval and the bootstrap too."""

    def check(risk, *, errors=True):
        for name in NUMBERS:
            if errors or "error" not in name:
                assert np.all(np.isfinite(getattr(risk, name))), name
        if errors:
            assert np.all(np.isfinite(risk.interval()))
            assert np.all(np.asarray(risk.standard_error) >= 0)
            if risk.resample is not None:
                found = risk.resample.standard_error(10, np.random.default_rng(0))
                assert np.all(np.isfinite(found))

    return check
