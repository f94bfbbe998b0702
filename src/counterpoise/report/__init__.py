"""Plots and pages: draws, never computes."""

__all__: list[str] = []
