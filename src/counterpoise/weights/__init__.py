"""How much does each source point count: estimators of p_target / p_source."""

from counterpoise.weights._base import DensityRatio
from counterpoise.weights.gaussian import GaussianRatio

__all__ = ["DensityRatio", "GaussianRatio"]
