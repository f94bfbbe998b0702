"""Delivered target risk over that of plain cross-validation, cell by cell."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

RULES = {
    "controlled": "least controlled risk,\ntrained with weights",
    "consensus": "consensus",
    "plain, mean of fold models": "plain choice,\nmean of fold models",
    "scikit-learn stacking": "scikit-learn's stacking",
    "blend": "blend",
    "oracle": "best single candidate,\nin hindsight",
}
MENUS = {"penalty": ("#0072B2", "o"), "pair": ("#E69F00", "s"), "families": ("#009E73", "^")}

with Path("../../_static/choice_study_reserve.csv").open() as file:
    cells = list(csv.DictReader(file))

rng = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(8.5, 4.4))
for place, rule in enumerate(reversed(RULES)):
    for (menu, (color, marker)), lift in zip(MENUS.items(), (0.24, 0.0, -0.24), strict=True):
        own = np.array([float(cell[rule]) for cell in cells if cell["menu"] == menu])
        height = place + lift + rng.uniform(-0.08, 0.08, size=len(own))
        ax.plot(
            own, height, marker, color=color, ms=3, alpha=0.45, label=menu if not place else None
        )
    mean = np.exp(np.mean([np.log(float(cell[rule])) for cell in cells]))
    ax.plot([mean, mean], [place - 0.4, place + 0.4], color="black", lw=2)
    ax.text(1.62, place, f"{mean:.3f}", va="center")
ax.axvline(1, color="grey", lw=1)
ax.set(
    xscale="log",
    xlim=(0.6, 1.6),
    yticks=range(len(RULES)),
    yticklabels=list(RULES.values())[::-1],
    xlabel="target risk over that of plain cross-validation (left is better)",
)
ax.set_xticks([0.6, 0.8, 1.0, 1.25, 1.6], ["0.6", "0.8", "1", "1.25", "1.6"])
ax.minorticks_off()
ax.legend(title="menu", loc="lower right", frameon=False)
for side in ("top", "right"):
    ax.spines[side].set_visible(False)
