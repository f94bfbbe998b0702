"""How much does each source point count: estimators of p_target / p_source."""

from counterpoise.weights.base import DensityRatio
from counterpoise.weights.classifier import ClassifierRatio
from counterpoise.weights.gaussian import GaussianRatio
from counterpoise.weights.kernel_density import KernelDensityRatio
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.kmm import KMM
from counterpoise.weights.names import register_estimator
from counterpoise.weights.nearest import NearestNeighborRatio
from counterpoise.weights.ulsif import ULSIF

__all__ = [
    "KLIEP",
    "KMM",
    "ULSIF",
    "ClassifierRatio",
    "DensityRatio",
    "GaussianRatio",
    "KernelDensityRatio",
    "NearestNeighborRatio",
    "register_estimator",
]
