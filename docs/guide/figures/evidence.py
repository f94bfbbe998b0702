"""Coverage of both intervals by kind of split, and the size of errors by verdict."""

import matplotlib.pyplot as plt
from evidence_tables import rows
from figure_style import BLUE, GREY, VERMILLION

fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9), width_ratios=(1.3, 1))
_, intervals = rows("intervals")
looks = ((1, "with drift", BLUE, "o", -0.13), (2, "without drift", VERMILLION, "s", 0.13))
for column, label, color, marker, lift in looks:
    pairs = [row[column].rstrip(")").split(" (") for row in intervals]
    covered = [float(value) for value, _ in pairs]
    errors = [2 * float(error) for _, error in pairs]
    places = [place + lift for place in range(len(intervals))]
    left.errorbar(covered, places, xerr=errors, fmt=marker, color=color, label=label, capsize=3)
left.axvline(0.95, ymax=0.8, color=GREY, linestyle="--", linewidth=1.2)
left.set_yticks(range(len(intervals)), [row[0] for row in intervals])
left.set(xlabel="share of intervals that cover", xlim=(0.68, 1.02), ylim=(1.55, -0.95))
left.legend(loc="upper left", ncols=2, fontsize=10.5, columnspacing=1, handletextpad=0.3)

_, verdicts = rows("verdicts")
errors = [float(row[3]) for row in verdicts]
right.barh(range(len(verdicts)), errors, height=0.5, color=BLUE, alpha=0.8)
for place, error in enumerate(errors):
    right.text(error + 0.015, place, f"{error:.2f}", va="center")
right.set_yticks(range(len(verdicts)), [row[0] for row in verdicts])
right.set(xlabel="median error of log risk", xlim=(0, 0.68), ylim=(2.6, -0.6))
right.grid(visible=False, axis="y")
