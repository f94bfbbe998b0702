"""How often the nominal 95 % interval of the controlled estimate covers the true target risk."""

import matplotlib.pyplot as plt
import numpy as np

import counterpoise as cp
from counterpoise.datasets import gaussian_2d

problem = gaussian_2d(gamma=0.6)
coef, intercept, true_risk = problem.best_linear()
sizes = np.array([25, 50, 100, 200, 400, 800])


def coverage(n):
    """Share of data sets whose interval covers, for four kinds of interval."""
    X, y, _, _ = problem.sample(n, 1, repetitions=2000, random_state=n)
    weights = problem.weights(X)
    losses = (X @ coef + intercept - y) ** 2
    risk = cp.target_risk(losses, weights)
    terms = weights * losses - risk.beta[:, None] * (weights - 1)
    low, high = risk.interval()
    error = np.abs(risk.value - true_risk)
    return [
        coverage_with_target(n),
        np.mean((low <= true_risk) & (true_risk <= high)),
        np.mean(error <= 1.96 * risk.standard_error),
        np.mean(error <= 1.96 * np.std(terms, axis=-1, ddof=1) / np.sqrt(n)),
    ]


class TrueRatio:
    """The true weights, in the shape of a weight estimator: it can be asked about target rows."""

    def fit(self, X_source, X_target):
        self.weights_ = problem.weights(X_source)
        return self

    def get_params(self, deep=True):
        return {}

    def predict(self, X):
        return problem.weights(X)


def coverage_with_target(n, repetitions=500):
    """The same for the library's interval with target rows at hand."""
    covered = 0
    for seed in range(repetitions):
        X, y, Z, _ = problem.sample(n, 1000, random_state=seed)
        losses = (X @ coef + intercept - y) ** 2
        low, high = cp.target_risk(losses, TrueRatio(), X_source=X, X_target=Z).interval()
        covered += low <= true_risk <= high
    return covered / repetitions


curves = np.transpose([coverage(n) for n in sizes])

fig, ax = plt.subplots()
for values, label, color, marker in zip(
    curves,
    [
        "with the target rows' weights",
        "jackknife, Student's t",
        "jackknife, normal",
        "residuals, normal",
    ],
    ["#CC79A7", "#0072B2", "#009E73", "#D55E00"],
    "^osD",
    strict=True,
):
    ax.plot(sizes, values, color=color, marker=marker, label=label)
ax.axhline(0.95, color="0.5", linestyle="--", linewidth=1.2)
ax.text(sizes[0], 0.955, "nominal", color="0.5", fontsize="small", va="bottom")
ax.set(xscale="log", xlabel="source samples", ylabel="coverage", ylim=(0.5, 1.0))
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.legend(loc="lower right")
