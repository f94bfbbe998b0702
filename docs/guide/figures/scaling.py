"""Growth of the time with rows, columns, candidates and target rows, with slopes."""

import matplotlib.pyplot as plt
import numpy as np

growth = np.genfromtxt(
    "../../_static/scaling/growth.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
)
colors = {"ShiftRidgeCV": "#0072B2", "ShiftGridSearchCV": "#D55E00", "diagnose": "#009E73"}

fig, axes = plt.subplots(2, 2, sharey=True, figsize=(7.2, 6.4), layout="constrained")
for ax, axis in zip(axes.flat, ("rows", "columns", "candidates", "target rows"), strict=True):
    for name, color in colors.items():
        line = growth[(growth["work"] == name) & (growth["axis"] == axis)]
        if len(line):
            size, seconds = line["size"], line["seconds"]
            slope = np.polyfit(np.log(size[-3:]), np.log(seconds[-3:]), 1)[0]
            ax.plot(size, seconds, "o-", color=color, markersize=4, label=name)
            below = ("ShiftGridSearchCV", axis), ("ShiftRidgeCV", "columns")
            side = "top" if (name, axis) in below else "bottom"
            ax.text(size[-1], seconds[-1], f" {slope:.2f}", color=color, va=side, fontsize=11)
    ax.set(xscale="log", yscale="log", xlabel=axis)
    ax.margins(x=0.15, y=0.1)
for ax in axes[:, 0]:
    ax.set_ylabel("processor seconds")
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
