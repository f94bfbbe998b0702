"""The example setting: two densities, and the weight function that turns one into the other."""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.datasets import gaussian_1d

problem = gaussian_1d(gamma=0.8)
x = np.linspace(-4, 4, 400)

fig, (top, bottom) = plt.subplots(2, sharex=True, figsize=(6, 4.6))
for density, name, color, peak in [
    (problem.source_density, "source\n(has labels)", "#0072B2", -1.0),
    (problem.target_density, "target\n(matters)", "#D55E00", 0.0),
]:
    top.plot(x, density(x), color=color)
    top.fill_between(x, density(x), color=color, alpha=0.15, linewidth=0)
    offset = -1.1 if peak < 0 else 1.1
    align = "right" if peak < 0 else "left"
    top.text(peak + offset, 0.28, name, color=color, ha=align)
top.set(ylabel="density", ylim=(0, None))

bottom.plot(x, problem.weights(x), color="#009E73")
bottom.axhline(1, color="0.5", linestyle="--", linewidth=1.2)
bottom.text(-4, 1.6, "1, the mean over the source", fontsize="small")
bottom.set(xlabel="x", ylabel="weight w(x)", yscale="log", ylim=(0.08, 3e3))
