"""Share of intervals that cover the true risk, by verdict. The numbers: benchmarks/verdict.py."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

with Path("verdict.csv").open() as file:
    rows = [row for row in csv.DictReader(file) if row["known"] == "with losses"]

verdicts = ("trust", "caution", "do not trust")
names = list(dict.fromkeys(row["weights"] for row in rows))
colors = ("#009E73", "#CC79A7", "#D55E00")

fig, ax = plt.subplots(figsize=(6.0, 3.6))
for verdict, color, marker, shift in zip(verdicts, colors, "osD", (-0.2, 0.0, 0.2), strict=True):
    own = [row for row in rows if row["verdict"] == verdict]
    covered = np.array([float(row["covered"] or "nan") for row in own])
    error = np.array([float(row["error"] or "nan") for row in own])
    places = np.arange(len(names)) + shift
    ax.errorbar(
        covered, places, xerr=2 * error, fmt=marker, color=color, label=verdict, markersize=7
    )
ax.axvline(0.95, color="0.5", linestyle="--", linewidth=1.2)
ax.text(0.945, -0.62, "nominal", color="0.5", fontsize="small", ha="right", va="center")
ax.set_yticks(range(len(names)), [f"{name} weights" for name in names])
ax.invert_yaxis()
ax.set(xlabel="share of intervals that cover the true risk", xlim=(0.3, 1.02))
ax.legend(loc="upper left")
