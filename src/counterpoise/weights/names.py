"""Names of the weight estimators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from counterpoise.weights.base import DensityRatio
from counterpoise.weights.classifier import ClassifierRatio
from counterpoise.weights.gaussian import GaussianRatio
from counterpoise.weights.kernel_density import KernelDensityRatio
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.kmm import KMM
from counterpoise.weights.nearest import NearestNeighborRatio
from counterpoise.weights.ulsif import ULSIF

__all__ = ["NAMES", "named_estimator"]

# A name is an estimator with its defaults; those that live on distances get standardised features,
# because whoever gives a name has not thought about units.
NAMES: dict[str, Callable[[], DensityRatio]] = {
    "gaussian": GaussianRatio,
    "kmm": partial(KMM, standardize=True),
    "kliep": partial(KLIEP, standardize=True),
    "ulsif": partial(ULSIF, standardize=True),
    "classifier": ClassifierRatio,
    "nearest": partial(NearestNeighborRatio, standardize=True),
    "kernel_density": partial(KernelDensityRatio, standardize=True),
}


def named_estimator(value: Any, /) -> Any:
    """Return the estimator that a name stands for, or an estimator itself; None for neither."""
    if isinstance(value, str) and value in NAMES:
        return NAMES[value]()
    return value if hasattr(value, "fit") and not isinstance(value, type | str) else None
