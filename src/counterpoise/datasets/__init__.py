"""Problems with a known truth: what the target risk really is, and data to estimate it from."""

from counterpoise.datasets.biased import biased_sample
from counterpoise.datasets.gaussian_1d import gaussian_1d
from counterpoise.datasets.gaussian_2d import gaussian_2d
from counterpoise.datasets.ozone import fetch_ozone

__all__ = ["biased_sample", "fetch_ozone", "gaussian_1d", "gaussian_2d"]
