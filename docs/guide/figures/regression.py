"""The controlled estimate is the height at w = 1 of a regression line."""

import matplotlib.pyplot as plt
import numpy as np

import counterpoise as cp
from counterpoise.datasets import gaussian_1d

problem = gaussian_1d(gamma=0.8)
X, y, _, _ = problem.sample(n_source=60, random_state=7)
weights = problem.weights(X[:, 0])
losses = (problem.theta * X[:, 0] - y) ** 2

plain = cp.target_risk(losses, weights, method="weighted")
controlled = cp.target_risk(losses, weights, method=cp.risk.Controlled(center="sample"))
ends = np.array([0.0, 1.05 * weights.max()])

fig, ax = plt.subplots(figsize=(6, 4.2))
ax.scatter(weights, weights * losses, s=20, color="0.5", alpha=0.7, linewidth=0)
ax.plot(ends, controlled.value + controlled.beta * (ends - 1), color="#0072B2")
ax.axhline(problem.target_risk, color="0.5", linestyle=":")
ax.axvline(1, color="0.5", linewidth=1)
ax.plot(weights.mean(), plain.value, "D", color="#D55E00", markersize=8, zorder=3)
ax.plot(1, controlled.value, "o", color="#0072B2", markersize=9, zorder=3)

labels = [
    ("controlled", "the line at w = 1", 1, controlled.value, (1.2, 3.0), "#0072B2"),
    ("weighted", "mean of all points", weights.mean(), plain.value, (1.2, -0.4), "#D55E00"),
]
for name, what, x, height, place, color in labels:
    arrow = {"arrowstyle": "-", "color": color, "shrinkB": 6}
    ax.annotate(f"{name}: {height:.2f}\n({what})", (x, height), place, arrowprops=arrow)
truth = problem.target_risk
ax.text(ends[1], truth - 0.08, f"truth: {truth:.2f}", ha="right", va="top")
ax.text(4.1, 3.2, r"slope $\hat\beta$", ha="right")
ax.set(xlabel="weight", ylabel="weight x loss", xlim=(0, None), ylim=(-0.6, 4.0))
