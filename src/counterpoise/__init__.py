"""Model selection and risk estimates under sample selection bias."""

from counterpoise import weights
from counterpoise._version import __version__

__all__ = ["__version__", "weights"]
