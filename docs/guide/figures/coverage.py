"""How often the nominal 95 % interval of the controlled estimate covers the true target risk."""

import matplotlib.pyplot as plt
import numpy as np

import counterpoise as cp
from counterpoise.datasets import gaussian_2d

problem = gaussian_2d(gamma=0.6)
coef, intercept, true_risk = problem.best_linear()
sizes = np.array([25, 50, 100, 200, 400, 800])


def coverage(n):
    """Share of 2000 data sets whose interval covers, for three kinds of interval."""
    X, y, _, _ = problem.sample(n, 1, repetitions=2000, random_state=n)
    weights = problem.weights(X)
    losses = (X @ coef + intercept - y) ** 2
    risk = cp.target_risk(losses, weights)
    terms = weights * losses - risk.beta[:, None] * (weights - 1)
    low, high = risk.interval()
    error = np.abs(risk.value - true_risk)
    return [
        np.mean((low <= true_risk) & (true_risk <= high)),
        np.mean(error <= 1.96 * risk.standard_error),
        np.mean(error <= 1.96 * np.std(terms, axis=-1, ddof=1) / np.sqrt(n)),
    ]


curves = np.transpose([coverage(n) for n in sizes])

fig, ax = plt.subplots()
for values, label, color, marker in zip(
    curves,
    ["jackknife, Student's t (the library's)", "jackknife, normal", "residuals, normal"],
    ["#0072B2", "#009E73", "#D55E00"],
    "osD",
    strict=True,
):
    ax.plot(sizes, values, color=color, marker=marker, label=label)
ax.axhline(0.95, color="0.5", linestyle="--", linewidth=1.2)
ax.text(sizes[0], 0.955, "nominal", color="0.5", fontsize="small", va="bottom")
ax.set(xscale="log", xlabel="source samples", ylabel="coverage", ylim=(0.5, 1.0))
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.legend(loc="lower right")
