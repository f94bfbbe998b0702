"""Shared tables of the extremes: every risk method, every weight estimator."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from counterpoise import weights as cw
from counterpoise.risk import METHODS, Controlled

EVERY_METHOD = {
    **METHODS,
    "controlled, sample": Controlled(center="sample"),
    "controlled, beta 1": Controlled(beta=1.0),
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


@pytest.fixture(params=EVERY_METHOD.values(), ids=EVERY_METHOD)
def method(request):
    return request.param


@pytest.fixture(params=EVERY_ESTIMATOR.values(), ids=EVERY_ESTIMATOR)
def make_weights(request):
    return request.param


@pytest.fixture
def assert_sound():
    """Everything that a risk estimate says is finite, and its interval holds it."""

    def check(risk):
        for name in ("value", "standard_error", "drift", "beta", "variance_reduction"):
            assert np.all(np.isfinite(getattr(risk, name))), name
        assert np.all(np.asarray(risk.standard_error) >= 0)
        assert np.all(np.asarray(risk.degrees_of_freedom) >= 1)
        assert np.all(np.asarray(risk.n_effective) > 0.99)
        low, high = map(np.asarray, risk.interval())
        assert np.all((low <= risk.value) & (risk.value <= high))

    return check
