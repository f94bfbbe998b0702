"""Coverage and width of nominal 95 % intervals, from the committed study."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

COLORS = {"50": "#D55E00", "200": "#0072B2", "1000": "#009E73", "5000": "#CC79A7"}
MARKERS = {"50": "o", "200": "s", "1000": "^", "5000": "D"}

with Path("../../_static/risk_coverage.csv").open() as file:
    rows = list(csv.DictReader(file))

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for ax, column, label in zip(
    axes, ("coverage", "width"), ("coverage", "median width / oracle's"), strict=True
):
    for n, color in COLORS.items():
        own = [row for row in rows if row["rows"] == n]
        errors = [2 * float(row["coverage_error"]) for row in own]
        ax.errorbar(
            [float(row["gamma"]) for row in own],
            [float(row[column]) for row in own],
            yerr=[2 * float(row["coverage_error"]) for row in own]
            if column == "coverage"
            else None,
            color=color,
            marker=MARKERS[n],
            label=f"{n} rows",
        )
    ax.set(xlabel="gamma", ylabel=label)
axes[0].axhline(0.95, color="0.5", linestyle="--", linewidth=1.2)
axes[0].set_ylim(0.85, 1.01)
axes[1].axhline(1.5, color="0.5", linestyle="--", linewidth=1.2)
axes[1].set_ylim(0, 2)
axes[1].legend(fontsize="small", ncols=2, loc="lower left")
