"""Coverage of both intervals by kind of split, and the size of errors by verdict."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
from figure_style import BLUE, GREY, VERMILLION

FOLDER = Path("../../_static/evidence")


def read(name):
    with (FOLDER / f"{name}.csv").open() as file:
        return list(csv.reader(file))[1:]


fig, (left, right) = plt.subplots(1, 2, figsize=(8.0, 2.9), width_ratios=(1.3, 1))
rows = read("intervals")
looks = ((1, "with drift", BLUE, "o", -0.13), (2, "without drift", VERMILLION, "s", 0.13))
for column, label, color, marker, lift in looks:
    pairs = [row[column].rstrip(")").split(" (") for row in rows]
    covered, errors = zip(
        *((float(value), 2 * float(error)) for value, error in pairs), strict=True
    )
    places = [place + lift for place in range(len(rows))]
    left.errorbar(covered, places, xerr=errors, fmt=marker, color=color, label=label, capsize=3)
left.axvline(0.95, ymax=0.8, color=GREY, linestyle="--", linewidth=1.2)
left.set_yticks(range(len(rows)), [row[0] for row in rows])
left.set(xlabel="share of intervals that cover", xlim=(0.68, 1.02), ylim=(1.55, -0.95))
left.legend(loc="upper left", ncols=2, fontsize=11, columnspacing=1, handletextpad=0.3)

verdicts = read("verdicts")
errors = [float(row[3]) for row in verdicts]
right.barh(range(len(verdicts)), errors, height=0.5, color=BLUE, alpha=0.8)
for place, error in enumerate(errors):
    right.text(error + 0.015, place, f"{error:.2f}", va="center")
right.set_yticks(range(len(verdicts)), [row[0] for row in verdicts])
right.set(xlabel="median error of the log risk", xlim=(0, 0.65), ylim=(2.6, -0.6))
right.grid(visible=False, axis="y")
