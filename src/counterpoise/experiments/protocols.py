"""What the paper says and what its scripts do: sizes, grids and options, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.risk import Average, Controlled, Normalized, Source, Truncated, Weighted

# The gammas of the paper's figures: variances in the synthetic problem, shares of the rows in
# the ozone problem (whose values the paper does not list; the same ones are used).
GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

# Risk estimators that choose a penalty among the same, weighted, classifiers.
METHODS: dict[str, Average] = {
    "source": Source(),
    "weighted": Weighted(),
    "normalized": Normalized(),
    "truncated": Truncated(),
    "controlled_known": Controlled(center="known"),
    "controlled_sample": Controlled(center="sample"),
}
# The outer-product beta of the released synthetic script, only on request.
RELEASED_BETA = "released_beta"

# What a reader sees; "unweighted" weights neither training nor validation, and the oracle looks
# at the target's labels.
LABELS = {
    name: name.replace("_", " ") for name in ("unweighted", *METHODS, RELEASED_BETA, "oracle")
}
LABELS |= {f"controlled_{c}": f"controlled ({c} mean)" for c in ("known", "sample")}


@dataclass(frozen=True)
class Protocol:
    """One way of running the experiments; by default the paper's."""

    name: str = "paper"
    # Logarithmic grid: first exponent, last exponent, number.
    alphas: tuple[float, float, int] = (-3, 6, 200)
    ozone_alphas: tuple[float, float, int] = (-3, 6, 200)
    random_folds: bool = False  # each point in a random fold, instead of equal folds
    controlled: str = "controlled_known"  # what "controlled" means in this protocol's claims
    ozone_per_class: int = 40  # source rows of each class
    ozone_date: bool = False  # whether the date is a feature

    n_source: int = 50
    n_target: int = 1000
    n_folds: int = 5
    ozone_components: int = 10

    def grid(self, problem: str, /) -> np.ndarray:
        """Return the penalties (L,) for a problem."""
        first, last, number = self.ozone_alphas if problem == "ozone" else self.alphas
        return np.logspace(first, last, number)


PROTOCOLS = {
    "paper": Protocol(),
    "released": Protocol(
        name="released",
        alphas=(0, 3, 201),
        ozone_alphas=(0, 3, 101),
        random_folds=True,
        controlled="controlled_sample",
        ozone_per_class=50,
        ozone_date=True,
    ),
}
