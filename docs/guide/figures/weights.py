"""Every weight estimator on one shifted problem whose ratio is known."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from counterpoise import weights as cw

rng = np.random.default_rng(8)
n, m = 300, 400
right = rng.random(n) < 0.3
X_source = np.where(right, rng.normal(1.2, 0.8, n), rng.normal(-1.0, 0.6, n))[:, None]
X_target = rng.normal(0.3, 0.9, (m, 1))

x = np.linspace(-2.4, 2.6, 300)
source = 0.7 * norm.pdf(x, -1.0, 0.6) + 0.3 * norm.pdf(x, 1.2, 0.8)
truth = norm.pdf(x, 0.3, 0.9) / source

estimators = {
    "GaussianRatio": cw.GaussianRatio(),
    "ClassifierRatio": cw.ClassifierRatio(),
    "KLIEP": cw.KLIEP(),
    "ULSIF": cw.ULSIF(),
    "KMM": cw.KMM(),
    "KernelDensityRatio": cw.KernelDensityRatio(),
    "NearestNeighborRatio": cw.NearestNeighborRatio(),
}
fig, axes = plt.subplots(4, 2, sharex=True, sharey=True, figsize=(7, 8))
axes[-1, -1].remove()
for ax, (name, estimator) in zip(axes.flat, estimators.items(), strict=False):
    estimator.fit(X_source, X_target)
    ax.plot(x, truth, color="0.5", linewidth=3, alpha=0.6, label="truth")
    ax.plot(x, estimator.predict(x[:, None]), color="#0072B2", linewidth=1.5, label="predict")
    ax.plot(
        X_source[:, 0], estimator.weights_, ".", color="#D55E00", markersize=3, label="weights_"
    )
    ax.set(title=name, ylim=(0, 4.5), xlim=(x[0], x[-1]))
axes[-1, 0].set_xlabel("x")
for ax in axes[:, 0]:
    ax.set_ylabel("ratio")
axes[0, 0].legend(loc="upper left", fontsize="small")
