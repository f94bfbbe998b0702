"""
Showing what a search found
===========================

A search over a pipeline, and the pictures that go into a report: which candidate, how sure, and can
the weights be trusted. Every display takes matplotlib axes of your own; here each makes its own
figure.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise.present import (
    BalanceDisplay,
    CandidatesDisplay,
    RiskCurveDisplay,
    ShiftMapDisplay,
    VarianceReductionDisplay,
    WeightsDisplay,
)

# sphinx_gallery_thumbnail_number = 2

# %%
# A biased sample
# ---------------
# Eight features, of which two decide how likely a row is to have been labelled.

rng = np.random.default_rng(0)
X_all = rng.normal(size=(6000, 8))
chance = 1 / (1 + np.exp(1.0 * X_all[:, 0] - 0.6 * X_all[:, 1] + 1.5))
labelled = rng.uniform(size=6000) < chance
score = X_all[:, 0] + X_all[:, 1] ** 2 - 1 + 0.5 * X_all[:, 2]
y_all = (score + rng.logistic(size=6000) > 0).astype(int)
X, y = X_all[labelled][:500], y_all[labelled][:500]
X_target = X_all[3000:]

# %%
# The search
# ----------
# A notebook shows a fitted search as a table.

model = make_pipeline(StandardScaler(), LogisticRegression())
grid = {
    "logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0],
    "logisticregression__class_weight": [None, "balanced"],
}
search = cp.ShiftGridSearchCV(model, grid, weights="classifier", fit_weighted=False, random_state=0)
search.fit(X, y, X_target=X_target)
search.best_params_

# %%
# Risk over one parameter, the other as it was chosen
# ---------------------------------------------------

display = RiskCurveDisplay.from_estimator(search)

# %%
# All candidates
# --------------
# Shaded rows are not significantly different from the choice.

display = CandidatesDisplay.from_estimator(search)

# %%
# The variance reduction of the control variate, candidate by candidate:

display = VarianceReductionDisplay.from_estimator(search)

# %%
# The weights
# -----------
# Do a few rows dominate?

display = WeightsDisplay.from_estimator(search)

# %%
# Do weighted source rows look like the target, feature by feature?

found = cp.diagnose(X, X_target, weights=search.weights_)
display = BalanceDisplay.from_diagnostics(found)

# %%
# And taken together, in the first two principal components:

display = ShiftMapDisplay.from_estimator(search, X, X_target)

# %%
# The verdict on all of it:

print(found.verdict)
for reason in found.reasons:
    print(f"- {reason}")
