"""
Any estimator, on a mixed data frame
====================================

A survey about hours of care per week was answered mostly by the young. Which random forest predicts
best for *everybody*, and how well? The answers are labelled; of everybody else there are only the
columns that a register knows. Both are simulated, so that a large labelled sample of the population
can tell the truth at the end.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoise as cp

BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#808080"
rng = np.random.default_rng(0)

# %%
# A survey and its population
# ---------------------------
# Numbers (some missing), text and booleans. The young have varied but predictable hours; for those
# over 50 there is less to learn and much more noise.


def population(n):
    age = rng.uniform(18, 88, n)
    bmi = rng.normal(24 + 0.03 * (age - 18), 4)
    region = rng.choice(["north", "east", "south", "west"], n, p=[0.2, 0.3, 0.3, 0.2])
    insured = rng.random(n) < 0.7
    young = age < 50
    mean = 5 + young * np.sin(age / 2.5) + 0.8 * insured + 0.6 * (region == "east")
    hours = mean + rng.normal(0, np.where(young, 0.5, 2.5))
    bmi[rng.random(n) < 0.15] = np.nan
    columns = {"age": age, "bmi": bmi, "region": region, "insured": insured}
    return pd.DataFrame(columns), hours


def answered(X):
    more = 0.7 * (X["region"] == "west") - 0.5 * X["insured"]
    logit = 1 - 0.05 * (X["age"] - 18) + more
    return rng.random(len(X)) < 1 / (1 + np.exp(-logit))


everybody, hours = population(5000)
rows = np.flatnonzero(answered(everybody))[:500]
X, y = everybody.iloc[rows], hours[rows]  # the survey: source, with labels
X_target, _ = population(2000)  # the register: target, without
X_truth, y_truth = population(20_000)  # for the end

for name, sample in [("survey", X), ("register", X_target)]:
    print(f"{name:10}{len(sample)} rows, mean age {sample['age'].mean():.0f}")
X.head()

# %%
# Three searches
# --------------
# A forest follows the labels wherever there are rows, so that weights in *training* would gain
# little and cost variance: ``fit_weighted=False``. All three searches then train the same models
# and differ in how they judge them: weighted with the control variate, plainly weighted, or not
# weighted at all, which is ordinary cross-validation. The choice itself is by consensus, the
# default, which does not use the weights (:doc:`/guide/choice`). The weights see the mixed columns
# through the encoding described in :doc:`/guide/search`. They come from a classifier that tells
# register from survey, which reads categories and numbers alike.

columns = make_column_transformer(
    (OneHotEncoder(drop="if_binary"), ["region", "insured"]),
    (SimpleImputer(), ["age", "bmi"]),
)
pipeline = make_pipeline(columns, RandomForestRegressor(n_estimators=20, random_state=0))
grid = {
    "randomforestregressor__max_features": [0.5, 1.0],
    "randomforestregressor__min_samples_leaf": [1, 5, 20, 60],
}
options = {"fit_weighted": False, "random_state": 0}
searches = {
    "controlled": {"weights": "classifier", "method": "controlled"},
    "weighted": {"weights": "classifier", "method": "weighted"},
    "unweighted": {"weights": None},
}
for name, own in searches.items():
    searches[name] = cp.ShiftGridSearchCV(pipeline, grid, **own, **options)
    searches[name].fit(X, y, X_target=X_target)

controlled = searches["controlled"]
print(
    f"mean weight {controlled.weights_.mean():.2f}, largest {controlled.weights_.max():.1f}, "
    f"effective sample size {controlled.best_risk_.n_effective:.0f}"
)

# %%
# All candidates
# --------------
# The true target risk of every candidate, trained on all 500 answers, from 20 000 labelled rows:

candidates = controlled.cv_results_["params"]
truth = np.array(
    [
        np.mean((pipeline.set_params(**params).fit(X, y).predict(X_truth) - y_truth) ** 2)
        for params in candidates
    ]
)

# %%
# One line per candidate: its estimate with a 95% interval, and the truth. Filled circles are the
# candidates that the data cannot tell from the choice of that search; the ring marks the choice.


def forest_plot(ax, name, color):
    search = searches[name]
    table = search.cv_results_
    height = np.arange(len(candidates))
    same = np.isin(height, search.indistinguishable_)
    ax.hlines(height, *table["interval"].T, color=color, linewidth=2)
    for inside, fill in [(True, color), (False, "white")]:
        rows = height[same == inside]
        ax.scatter(table["risk"][rows], rows, color=fill, edgecolor=color, zorder=3)
    best = search.best_index_
    ax.scatter(table["risk"][best], best, s=160, facecolor="none", edgecolor=color)
    bar = {"marker": "|", "s": 150, "linewidth": 3, "zorder": 4}
    ax.scatter(truth, height, color=GREY, label="truth", **bar)
    ax.set(title=name, xlabel="squared-error risk", xlim=(1.5, 6))


fig, axes = plt.subplots(1, 3, figsize=(9, 4), sharey=True)
for ax, name, color in zip(axes, searches, [BLUE, VERMILLION, GREEN], strict=True):
    forest_plot(ax, name, color)
axes[0].invert_yaxis()
names = ["features {}, leaf {}".format(*params.values()) for params in candidates]
axes[0].set_yticks(range(len(candidates)), names)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left")

# %%
# Ordinary cross-validation promises the risk among those who answered: its intervals do not
# reach the truth for everybody. The intervals of the other two are wide, because few of the old
# answered. But those are errors of the risks; candidates are compared row by row, with the error of
# the *difference*, and so some can be told from the choice although all intervals overlap:

table = pd.DataFrame(
    {
        "candidate": names,
        "risk": controlled.cv_results_["risk"],
        "standard error": controlled.cv_results_["standard_error"],
        "difference": controlled.cv_results_["risk_difference"],
        "its error": controlled.cv_results_["difference_standard_error"],
        "source risk": controlled.cv_results_["source_risk"],
        "truth": truth,
    }
).round(2)
table

# %%
# The choices
# -----------
# A choice among eight estimates makes the chosen one optimistic; ``corrected_risk_`` adds the price
# of having chosen. All three searches choose the same forest. What they promise differs: ordinary
# cross-validation is a third too low, by more than four of its standard errors.
#
# One data set shows how it works, not how often. With the seeds 0 to 5, the 95% interval of the
# controlled estimate contains the truth every time, that of ordinary cross-validation never.

pd.DataFrame(
    {
        name: {
            "choice": names[search.best_index_],
            "raw risk": round(search.best_risk_.value, 2),
            "corrected risk": round(search.corrected_risk_.value, 2),
            "standard error": round(search.best_risk_.standard_error, 2),
            "truth": round(truth[search.best_index_], 2),
            "as good as the choice": len(search.indistinguishable_),
        }
        for name, search in searches.items()
    }
).T
