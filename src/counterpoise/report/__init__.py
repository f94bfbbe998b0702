"""Plots and pages: draws, never computes."""
