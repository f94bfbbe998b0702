"""Error of the risk and regret of the choice by each method, from the committed study."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

CELL = ("problem", "shift", "rows", "loss", "weights")
SINGLE = ("weighted", "normalized", "controlled", "moment_controlled", "doubly_robust")
ORDER = (
    "controlled",
    "normalized",
    "pareto_smoothed",
    "shrunk",
    "truncated",
    "weighted",
    "doubly_robust",
    "moment_controlled",
    "source",
)
GROUPS = (("synthetic", "#0072B2", "o"), ("real", "#D55E00", "s"))


with Path("../../_static/risk_study.csv").open() as file:
    table = [row for row in csv.DictReader(file) if row["rmse"]]

cells = {}
for row in table:
    cells.setdefault(tuple(row[name] for name in CELL), {})[row["method"]] = row

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
places = np.arange(len(ORDER))
for (group, color, marker), lift in zip(GROUPS, (-0.16, 0.16), strict=True):
    own = [c for key, c in cells.items() if (key[0] == "synthetic") == (group == "synthetic")]
    best = np.array([min(float(c[m]["rmse"]) for m in SINGLE) for c in own])
    ratio = np.array([[float(c[m]["rmse"]) for c in own] for m in ORDER]) / best
    low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9], axis=1)
    left.errorbar(
        middle,
        places + lift,
        xerr=[middle - low, high - middle],
        fmt=marker,
        color=color,
        label=f"{group}, {len(own)} cells",
        capsize=3,
    )
    regret = np.array([[float(c[m]["regret"]) for c in own] for m in ORDER]).mean(axis=1)
    right.plot(regret / regret[ORDER.index("controlled")], places + lift, marker, color=color)
left.axvline(1, color="0.5", linewidth=1)
left.set(xscale="log", xlabel="error of the risk / the best single method's")
left.set_xticks([1, 1.5, 2, 3, 5, 10], ["1", "1.5", "2", "3", "5", "10"])
left.minorticks_off()
left.set_yticks(places, [name.replace("_", " ") for name in ORDER])
left.invert_yaxis()
left.legend(loc="upper right", fontsize="small")
right.axvline(1, color="0.5", linewidth=1)
right.set(xlabel="regret of the choice / controlled's")
