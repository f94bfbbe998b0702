"""Names of the weight estimators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from counterpoise.exceptions import InputError
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.classifier import ClassifierRatio
from counterpoise.weights.gaussian import GaussianRatio
from counterpoise.weights.kernel_density import KernelDensityRatio
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.kmm import KMM
from counterpoise.weights.nearest import NearestNeighborRatio
from counterpoise.weights.ulsif import ULSIF

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


def register_estimator(name: str, make: Callable[[], DensityRatio], /) -> None:
    """Make a weight estimator known by a name, everywhere ``weights=`` is a parameter.

    Parameters
    ----------
    name : str
        Not taken yet.
    make : callable
        A class derived from :class:`counterpoise.weights.DensityRatio`, or another function that
        returns an estimator.

    Examples
    --------
    >>> from functools import partial
    >>> from counterpoise import weights
    >>> weights.register_estimator("plain kmm", partial(weights.KMM, regularization=0))
    >>> weights.names.NAMES.pop("plain kmm")()  # forgotten again
    KMM(regularization=0)
    """
    if name in NAMES:
        raise InputError(f"`name` {name!r} is taken by {NAMES[name]!r}. Choose another one.")
    if not isinstance(make(), DensityRatio):
        raise InputError(
            f"`make` must return a weight estimator; got {make()!r}. Derive a class from "
            "counterpoise.weights.DensityRatio and pass it."
        )
    NAMES[name] = make
