"""Problems with a known truth: what the target risk really is, and data to estimate it from."""

from counterpoise.datasets._base import DomainSample
from counterpoise.datasets.biased import BiasedSample, biased_sample
from counterpoise.datasets.gaussian_1d import Gaussian1D, gaussian_1d
from counterpoise.datasets.gaussian_2d import BestLinear, Gaussian2D, gaussian_2d
from counterpoise.datasets.ozone import Ozone, fetch_ozone, load_ozone

__all__ = [
    "BestLinear",
    "BiasedSample",
    "DomainSample",
    "Gaussian1D",
    "Gaussian2D",
    "Ozone",
    "biased_sample",
    "fetch_ozone",
    "gaussian_1d",
    "gaussian_2d",
    "load_ozone",
]
