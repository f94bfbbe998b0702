"""Batched convex solvers: box-constrained quadratic programmes and mixture proportions."""

from counterpoise.weights._convex.box_qp import QPSolution, solve_box_qp
from counterpoise.weights._convex.kernel_matrix import Dense, LowRank
from counterpoise.weights._convex.mixture import MixtureFit, maximize_likelihood
from counterpoise.weights._convex.problem import Constraints

__all__ = [
    "Constraints",
    "Dense",
    "LowRank",
    "MixtureFit",
    "QPSolution",
    "maximize_likelihood",
    "solve_box_qp",
]
