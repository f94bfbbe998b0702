"""Constants that studies, simulations or conventions set: no other test sees a small change.

A change must be deliberate: run the study that the comment beside the constant names, and write the
new value here too.
"""

import importlib
import math

import pytest

from counterpoise.diagnostics import THRESHOLDS

TUNED = {
    "_pareto": {"_PRIOR_COUNT": 10, "_PRIOR_SHAPE": 0.5},
    "diagnostics.gaps": {"_EDGE": 0.005, "_WORTH": 0.02, "_ALL": 0.99, "_MOST": 5, "_VALUES": 3},
    "diagnostics.groups": {"_FEWEST": 10},
    "diagnostics.overlap": {"EXPECTED_OUTSIDE": 0.01, "_PRODUCTS": 20},
    "diagnostics.shift": {
        "ERROR_RATE": 0.01,
        "_AUC_RATE": 0.005,
        "_MEANS_RATE": 0.004,
        "_BALANCED": 0.1,
        "_LARGE": 0.8,
        "_STRONG_AUC": 0.76,
    },
    "diagnostics.verdict": {"_FLAT": 1.05, "_CLOSE": 0.05, "_NEAR": 1.25, "_SURE": 0.001},
    "encoding.pairing": {
        "_IDENTIFIER_SHARE": 0.5,
        "_FEW": 30,
        "_ROW_NUMBERS": 20,
        "_REPETITIONS": 7.0,
        "_MOSTLY": 0.9,
    },
    "encoding.encoder": {"_CATEGORIES": 30, "_CATEGORY_ROWS": 5},
    "encoding.rows": {"SPARSE_COLUMNS": 20, "_GROUPS": 10, "_MANY_GROUPS": 31, "_EVEN": 0.25},
    "ridge.cross_validation": {"_BLOCKS": 100, "_BLOCKS_PER_FOLD": 10, "_REPEATED_BLOCKS": 40},
    "ridge.path": {"_SCALE_RATIO": 1e6},
    "risk.controls": {"_MOST_COLUMNS": 100},
    "risk.estimate": {
        "_USUAL": 0.3,
        "_USUAL_COUNT": 6,
        "_SHARE": 0.8,
        "_MOST": 2.0,
        "LEAST_ERROR": 0.15,
    },
    "risk.groups": {"_FEWEST": 5},
    "risk.label_test": {"_SIZE": 0.05},
    "risk.labelled": {"_GRID": 64, "_PRIOR_ROWS": 5.0},
    "risk.ranges": {"_NONE": 0.75},
    "risk.regression": {
        "PENALTIES": (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0),
        "_FEW_FOLDS": 3,
        "_MANY_FOLDS": 10,
        "_OWN_FOLDS": 5,
    },
    "risk.sensitivity": {"GAMMAS": (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0), "_MOST": 1e6},
    "risk.transfer": {"N_REHEARSALS": 6, "_TARGET_SHARE": 0.4, "_FEWEST_SIDE": 10},
    "search.consensus": {"_INNER": 50},
    "search.stacking": {
        "FEW_MEMBERS": {"negligible": 0.02, "change": 0.1},
        "_LEAST_POWER": 0.25,
        "_HALF_WAY": 500,
    },
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, own in TUNED.items() for name in own]
)
def test_a_tuned_constant_has_the_value_of_its_study(module, name):
    if module == "encoding.pairing":
        pytest.importorskip("pandas")
    assert getattr(importlib.import_module(f"counterpoise.{module}"), name) == TUNED[module][name]


def test_the_limits_of_the_verdict_are_those_of_the_guide():
    # docs/guide/trust.rst says where each comes from.
    assert {
        "disagreement": (0.5, 1.0),
        "error_ratio": (1.1, 1.25),
        "outside_share": (0.10, 0.35),
        "balance_after": (0.3, 0.9),
        "weight_mean_errors": (4.0, 8.0),
        "weight_mean_factor": (1.4, 2.0),
        "pareto_k": (0.7, 1.0),
        "pareto_k_losses": (1.0, math.inf),
        "loss_growth": (3.5, math.inf),
        "n_effective": (20.0, 5.0),
        "largest_share": (0.3, 0.5),
        "auc": (0.983, 0.9999),
        "transfer_error": (0.12, 0.3),
    } == THRESHOLDS
