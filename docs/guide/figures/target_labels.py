"""Error of the target risk by number of labels: labels alone, weights alone, both."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

LINES = {"labels": ("#E69F00", "s", "labels alone"), "combined": ("#0072B2", "o", "both")}
COUNTS = (10, 25, 50, 100)

with Path("../../_static/target_labels.csv").open() as file:
    rows = list(csv.DictReader(file))
large = {row["problem"] for row in rows if row["k"] == str(max(COUNTS))}
rows = [row for row in rows if row["problem"] in large]


def errors(estimate, k):
    """Return the relative errors of an estimate with k labels."""
    own = [row for row in rows if row["estimate"] == estimate and row["k"] == str(k)]
    return np.array([float(row["error"]) for row in own])


fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.6))
ax = axes[0]
for name, (color, marker, text) in LINES.items():
    mean = [np.sqrt(np.mean(errors(name, k) ** 2)) for k in COUNTS]
    ax.plot(COUNTS, mean, marker + "-", color=color, label=text)
weights = np.sqrt(np.mean(errors("weights", 0) ** 2))
ax.axhline(weights, color="#009E73", ls="--", label="weights alone")
ax.set(xscale="log", ylim=(0, None), xlabel="labelled target rows", ylabel="relative error (rms)")
ax.set_xticks(COUNTS, [str(k) for k in COUNTS])
ax.minorticks_off()
ax.legend(frameon=False)
ax = axes[1]
own = [row for row in rows if row["estimate"] == "suggested"]
worth = np.sort([float(row["worth"]) for row in own])
ax.plot(worth, np.arange(1, len(worth) + 1) / len(worth), color="#0072B2")
ax.axvline(50, color="grey", lw=1)
ax.set(
    xscale="log",
    xlim=(20, 200),
    xlabel="random labels, for the error of 50 suggested",
    ylabel="share of cells",
)
ax.set_xticks([25, 50, 100, 200], ["25", "50", "100", "200"])
ax.minorticks_off()
for ax in axes:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
