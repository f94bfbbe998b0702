"""Where the paper's text, its scripts and the mathematics part; checked by computation."""
# ruff: noqa: RUF001 (the mathematics is in Greek)

from __future__ import annotations

__all__ = ["ERRATA"]

# Where, as printed, what holds.
ERRATA = (
    (
        "variance of the weights (example)",
        "γ²/(2γ²-1) · exp(1/(2γ²-1)) - 1",
        "γ²/√(2γ²-1) · exp(1/(2γ²-1)) - 1. At γ = 0.8: 42.018, not 80.297",
    ),
    (
        "P(w > 10) at γ = 0.7",
        "about 0.2",
        "0.00808 under the source, 0.247 under the target; the figure has the source at 0, not -1",
    ),
    (
        "estimated β",
        "subtracts the sum of the weighted losses",
        "subtracts their mean. The denominator takes the known mean 1 of the weights; the released "
        "scripts take the sample mean. Both are run here",
    ),
    (
        "γ",
        "one symbol",
        "a standard deviation in the 1-D example, a variance in the 2-D experiment",
    ),
    (
        "ridge formula",
        "X W Xᵀ + λI",
        "XᵀWX + λI on rows with a constant 1, which is penalised too",
    ),
    (
        "ozone sample",
        "80 samples from both classes",
        "40 + 40 by the text; the script draws 50 + 50 and keeps the date as a feature",
    ),
    (
        "kernel width (KMM, KLIEP)",
        "mean distance to the five nearest target points",
        "the mean over all five, as here; one script takes the fifth only",
    ),
    (
        "released synthetic script",
        "-",
        "an outer product makes β a vector, βᵢ = wᵢ cov(loss, w)/var(w): another estimator "
        "(--as-released-beta)",
    ),
    (
        "released KMM script",
        "-",
        "the linear term of the quadratic programme has the wrong sign, and the kernel takes the "
        "distance, not its square",
    ),
    (
        "oracle",
        "validation on labelled target samples",
        "the scripts keep only the last fold's; here it is the least final target risk over λ",
    ),
)
