"""What labels of target rows do for the model: target risk by the number of labels."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from evidence_tables import PRINTED, ratios
from figure_style import BLUE, GREY, VERMILLION

CURVE = Path(PRINTED.parent, "labels.txt")

_, ax = plt.subplots(figsize=(7.2, 3.6))
for kind, color, marker, lift in (
    ("natural", BLUE, "o", -0.6),
    ("selection", VERMILLION, "s", 0.6),
):
    rows = ratios("intervals", kind, CURVE)
    counts = [int(re.search(r"with (\d+)", row["what"])[1]) + lift for row in rows]
    judged = [row["mean"].rstrip(")").split(" (") for row in rows]
    values, errors = ([float(text) for text in texts] for texts in zip(*judged, strict=True))
    ax.errorbar(
        [0, *counts],
        [1, *values],
        yerr=[0, *(value * error for value, error in zip(values, errors, strict=True))],
        fmt=f"-{marker}",
        color=color,
        capsize=3,
        label=f"{kind} pairs ({rows[0]['pairs']})",
    )
ax.axhline(1, color=GREY, linewidth=1)
ax.set(xlabel="labelled target rows", ylabel="target risk / without labels", xlim=(-2, 104))
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
