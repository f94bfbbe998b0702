"""Measured throughput of the ridge path in memory, and what the cost model says."""

import matplotlib.pyplot as plt
import numpy as np

table = np.genfromtxt("../../_static/scaling/in_memory.csv", delimiter=",", names=True)
rows = table["rows"]

fig, ax = plt.subplots()
model = rows / table["model_seconds"]
ax.plot(rows, model, "--", color="#808080", label="model: operations and bytes")
ax.plot(rows, table["rows_per_second"], "o-", color="#0072B2", label="measured")
ax.set(xscale="log", yscale="log", ylim=(1e5, 4e6))
ax.set(xlabel="source rows", ylabel="rows per second")
ax.legend(loc="lower right")
