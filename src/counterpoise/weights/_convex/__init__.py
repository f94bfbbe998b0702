"""Batched convex solvers: box-constrained quadratic programmes and mixture proportions."""
