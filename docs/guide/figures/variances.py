"""Sampling variances of three risk estimators as the source narrows."""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.datasets import gaussian_1d

gamma = np.linspace(0.725, 1.3, 300)
problem = gaussian_1d(gamma)

fig, ax = plt.subplots()
for variance, label, color, style in [
    (problem.weighted_variance, r"weighted, $\sigma_W^2$", "#D55E00", "--"),
    (problem.controlled_variance, r"controlled, $\sigma_\beta^2$", "#0072B2", "-"),
    (np.full_like(gamma, problem.target_variance), r"target, $\sigma_T^2$", "#808080", ":"),
]:
    ax.plot(gamma, variance, style, color=color, label=label)
ax.axvline(1 / np.sqrt(2), color="0.5", linewidth=1)
ax.text(0.712, 1.15, "infinite to the left", rotation=90, color="0.5", fontsize="small")
ax.set(yscale="log", xlim=(0.69, 1.3), ylim=(0.4, 3e3))
ax.set(xlabel=r"standard deviation $\gamma$ of the source", ylabel="variance of one row's term")
ax.legend()
