"""Which risk method: a decision chart."""

import matplotlib.pyplot as plt

BLUE, GREEN, GREY = "#0072B2", "#009E73", "#808080"

fig, ax = plt.subplots(figsize=(8.5, 5.2))
ax.set(xlim=(0, 10), ylim=(0, 8.2))
ax.axis("off")


def box(x, y, text, color):
    ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=10.5,
        bbox={"boxstyle": "round,pad=0.5", "facecolor": "none", "edgecolor": color, "linewidth": 2},
    )


def arrow(start, end, label, *, offset=(0.15, 0.0)):
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.6})
    middle = [(a + b) / 2 + d for a, b, d in zip(start, end, offset, strict=True)]
    ax.text(*middle, label, fontsize=10, style="italic", va="center")


box(3.2, 7.6, "Do you have rows of the target?", GREY)
box(8.2, 7.6, "controlled\n(interval too narrow\nwhere the shift is strong)", GREEN)
arrow((5.0, 7.6), (6.6, 7.6), "no", offset=(-0.1, 0.22))
box(3.2, 5.6, "Are you choosing among models,\nor do you want one number?", GREY)
arrow((3.2, 7.2), (3.2, 6.15), "yes")
box(8.2, 5.6, "consensus or blend\n(which model to deliver)", GREEN)
arrow((5.3, 5.6), (6.6, 5.6), "choosing", offset=(-0.45, 0.22))
box(3.2, 3.6, "Does a model predict the loss well\nfrom the features, out of fold?", GREY)
arrow((3.2, 5.0), (3.2, 4.15), "one number")
box(8.2, 3.6, "doubly robust\n(look at both)", GREEN)
arrow((5.7, 3.6), (7.0, 3.6), "yes", offset=(-0.1, 0.22))
box(3.2, 1.7, "controlled", GREEN)
arrow((3.2, 3.0), (3.2, 2.1), "no, or not sure")
box(8.2, 1.7, "collect labels there", BLUE)
arrow((4.2, 1.7), (6.8, 1.7), 'verdict "do not trust"', offset=(-0.95, 0.24))
