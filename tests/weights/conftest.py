"""One table of weight estimators: a line added here puts a new one through every shared test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest

from counterpoise import weights as cw
from counterpoise.weights.names import NAMES

SHIFT = 0.5


@dataclass(frozen=True)
class Case:
    """An estimator and what may be expected of it.

    make : the constructor, with the settings under test.
    spread : largest standard deviation of the weights without a shift, in 1 and 2 features.
    inverse : rank correlation with the ratio of the reverse problem is no more than this.
    share_20 : in 20 features, the smallest share of the shift that the weighted mean must repair;
        None where the mean must be right to within sampling error. Local methods cannot: there
        the nearest point of the other sample is nearly as far away as any.
    width_rules : names accepted by `width`.
    level : the mean ratio at new points, and its reverse, are right to within this factor.
    own : a parameter, with a value that must change the weights.
    min_rows : rows needed in either sample.
    """

    make: Callable[..., cw.DensityRatio]
    spread: float
    inverse: float
    own: dict
    share_20: float | None = None
    width_rules: tuple[str, ...] = ()
    min_rows: int = 1
    level: float = 1.33


CASES = {
    "gaussian": Case(cw.GaussianRatio, 0.3, -0.99, {"regularization": 0.5}, min_rows=2),
    "kmm": Case(cw.KMM, 0.5, -0.9, {"width": 0.3}, width_rules=("knn", "median")),
    "kliep": Case(cw.KLIEP, 0.25, -0.7, {"width": 0.2}, 0.25, ("knn", "median", "cv")),
    "ulsif": Case(cw.ULSIF, 0.25, -0.7, {"width": 0.2}, 0.6, min_rows=2),
    "relative ulsif": Case(
        partial(cw.ULSIF, alpha=0.1), 0.25, -0.7, {"alpha": 0.5}, 0.5, min_rows=2
    ),
    "classifier": Case(cw.ClassifierRatio, 0.3, -0.99, {"cv": 3}),
    # New points fall into large cells more often than source points are in them.
    "voronoi": Case(cw.NearestNeighborRatio, 1.3, -0.2, {"smoothing": 5.0}, 0.3, level=1.6),
    "kernel density": Case(cw.KernelDensityRatio, 0.6, -0.95, {"width": 1.0}, 0.1),
}
# What was registered by a name, and has no line of its own, must be as good as the loosest above.
KNOWN = {case.make.func if isinstance(case.make, partial) else case.make for case in CASES.values()}
CASES |= {
    name: Case(make, 1.3, -0.2, {}, 0.1, level=1.6)
    for name, make in NAMES.items()
    if type(make()) not in KNOWN
}


def draw(seed: int, n_source: int, n_target: int, n_features: int, shift: float = SHIFT):
    """Draw a target N(0, I), and a source whose first feature has mean -shift."""
    rng = np.random.default_rng(seed)
    X_source, X_target = (rng.normal(size=(n, n_features)) for n in (n_source, n_target))
    X_source[:, 0] -= shift
    for X in (X_source, X_target):
        X.setflags(write=False)  # an estimator that writes to its input fails
    return X_source, X_target


@cache
def fitted(name: str, n_features: int, shift: float = SHIFT) -> cw.DensityRatio:
    """Fit an estimator of the table once for all tests: 400 source rows, 700 target rows."""
    return CASES[name].make().fit(*draw(1, 400, 700, n_features, shift))


@pytest.fixture(params=CASES)
def name(request):
    return request.param


@pytest.fixture
def case(name):
    return CASES[name]


@pytest.fixture
def problem():
    """Tools of the shared tests: `draw` and `fitted`."""
    return SimpleNamespace(draw=draw, fitted=fitted, shift=SHIFT)
