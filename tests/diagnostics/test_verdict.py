"""The one rule: four words, each limit from both sides, and what labels of target rows change."""

import re
from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.diagnostics import VERDICTS, Gap
from counterpoise.diagnostics.verdict import decide_verdict
from counterpoise.risk import LabelTest

CONFIRMED, PLAUSIBLE, CAUTION, STOP = VERDICTS


@pytest.fixture(scope="module")
def fine():
    """A mild shift without any warning sign."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(600, 2)), rng.normal([0.4, 0], 1, size=(600, 2))
    found = cp.diagnose(X, Z, losses=rng.uniform(size=600))
    assert found.verdict == PLAUSIBLE == "plausible"
    return found


def labels(p_value, n_labels=30):
    return LabelTest(p_value, n_labels, 1.0, 1.0, 0.5)


def test_the_first_reason_of_plausible_says_what_was_not_checked(fine):
    first, second = fine.reasons
    assert first.startswith("Not checked: whether labels depend on the columns in the same way")
    assert second.startswith("A mild shift was found, and no warning signs")
    assert fine.advice[0] == "Use the weights."
    assert fine.advice[1].startswith("Label at least 20 target rows, drawn at random")


LIMITS = [
    ({"outside_share": 0.10}, PLAUSIBLE, ""),
    ({"outside_share": 0.11}, CAUTION, "lack overlap: 11% of the target rows"),
    ({"outside_share": 0.35}, CAUTION, "lack overlap"),
    ({"outside_share": 0.36}, STOP, "lack overlap"),
    ({"outside_share": 0.36, "n_source": 6, "n_target": 6}, PLAUSIBLE, ""),  # by chance
    ({"auc": 0.982, "auc_p_value": 0.0}, PLAUSIBLE, ""),
    ({"auc": 0.984, "auc_p_value": 0.0}, CAUTION, "area under the curve 0.984"),
    ({"auc": 0.99995, "auc_p_value": 0.0}, STOP, "hardly overlap"),
    ({"auc": 0.99995, "auc_p_value": 0.002}, PLAUSIBLE, ""),
    ({"auc": np.nan, "auc_p_value": np.nan}, STOP, "600 rows of a sample are too few"),
    ({"divergence": 1.0}, PLAUSIBLE, ""),
    ({"divergence": 1.01}, CAUTION, "a divergence of 1.01"),
    ({"divergence": 1.34}, STOP, "a divergence of 1.34"),
    ({"balance_after": np.asarray([0.1, -0.3])}, PLAUSIBLE, ""),
    ({"balance_after": np.asarray([0.1, -0.31])}, CAUTION, "the mean of x1 -0.31 standard"),
    ({"balance_after": np.asarray([np.nan, 0.91])}, STOP, "the mean of x1 +0.91"),
    ({"balance_after": np.full(2, np.nan)}, PLAUSIBLE, ""),
    ({"n_effective": 20.0}, PLAUSIBLE, ""),
    ({"n_effective": 19.9}, CAUTION, "600 source rows are worth only 19.9"),
    ({"n_effective": 5.0}, CAUTION, "worth only 5.00"),
    ({"n_effective": 4.9}, STOP, "worth only 4.90"),
    ({"weight_mean": 1.049, "weight_mean_error": 0.0}, PLAUSIBLE, ""),
    ({"weight_mean": 1.06, "weight_mean_error": 0.0}, CAUTION, "The weights average 1.06 "),
    ({"weight_mean": 1.25, "weight_mean_error": 0.0}, CAUTION, "The weights average 1.25 "),
    ({"weight_mean": 1.26, "weight_mean_error": 0.0}, STOP, "The weights average 1.26 "),
    ({"weight_mean": 1.3, "weight_mean_error": 0.076}, PLAUSIBLE, ""),  # 3.9 standard errors
    ({"weight_mean": 1.3, "weight_mean_error": 0.038}, CAUTION, "(standard error 0.038)"),
    ({"weight_mean": 1.3, "weight_mean_error": 0.037}, STOP, "(standard error 0.037)"),
    ({"weight_mean": 1.39, "weight_mean_error": 1.0}, PLAUSIBLE, ""),
    ({"weight_mean": 1.41, "weight_mean_error": 1.0}, CAUTION, "The weights average 1.41 "),
    ({"weight_mean": 2.01, "weight_mean_error": 1.0}, STOP, "The weights average 2.01 "),
    ({"weight_mean": 0.49, "weight_mean_error": 1.0}, STOP, "The weights average 0.490 "),
    ({"weight_mean": 0.0, "weight_mean_error": 0.0}, STOP, "The weights average 0.00 "),
    ({"pareto_k": 0.70, "design_effect": 1.51}, PLAUSIBLE, ""),
    ({"pareto_k": 0.71, "design_effect": 1.51}, CAUTION, "The weights have a heavy tail"),
    ({"pareto_k": 3.0, "design_effect": 1.49}, PLAUSIBLE, ""),  # nearly equal weights
    ({"pareto_k_losses": 0.70}, PLAUSIBLE, ""),
    ({"pareto_k_losses": 5.0}, CAUTION, "The weighted losses have a heavy tail (Pareto k 5.00)"),
    ({"rows_deciding": 10.0}, PLAUSIBLE, ""),
    ({"rows_deciding": 9.9}, CAUTION, "rests on about 9.9 of 600 rows"),
    ({"rows_deciding": 1.0}, CAUTION, "Few rows decide"),
    ({"rows_deciding": np.inf}, PLAUSIBLE, ""),
    ({"separating": [Gap(1.0, "year is above 2004", "year")]}, STOP, "do not overlap in year"),
]


@pytest.mark.parametrize(("numbers", "verdict", "reason"), LIMITS)
def test_each_limit_from_both_sides(fine, numbers, verdict, reason):
    found, reasons, advice = decide_verdict(replace(fine, **numbers))
    assert found == verdict
    assert reason in reasons[0]
    checked = verdict in (PLAUSIBLE, CAUTION)
    assert any(words.startswith("Not checked:") for words in reasons) == checked
    assert any(words.startswith("Label at least 20") for words in advice) == checked
    # The names of options belong to the command line.
    assert not re.search(r"--\w", " ".join([*reasons, *advice]))


def test_the_gravest_reason_comes_first(fine):
    several = replace(fine, n_effective=15.0, divergence=2.0, rows_deciding=4.0)
    verdict, reasons, _ = decide_verdict(several)
    assert verdict == STOP
    assert "divergence" in reasons[0]
    assert len(reasons) == 3


@pytest.mark.parametrize(
    ("p_value", "n_labels", "verdict"),
    [
        (0.9, 20, CONFIRMED),
        (0.05, 20, CONFIRMED),
        (0.05, 19, PLAUSIBLE),
        (0.9, 2, PLAUSIBLE),
        (0.049, 20, CAUTION),
        (0.049, 5, CAUTION),
        (0.001, 500, CAUTION),
        (0.0009, 500, STOP),
        (0.0009, 5, STOP),
        (np.nan, 500, PLAUSIBLE),
    ],
)
def test_labels_of_target_rows_decide(fine, p_value, n_labels, verdict):
    test = labels(p_value, n_labels)
    found, reasons, advice = decide_verdict(replace(fine, label_test=test))
    assert found == verdict
    assert any(test.words in reason for reason in reasons)
    if verdict == PLAUSIBLE and p_value > 0:
        assert reasons[0].startswith("Not checked with enough labels: whether labels depend")
        assert f"But {n_labels} labels cannot confirm it; 20 can." in reasons[0]
    elif verdict in VERDICTS[:2]:
        assert reasons[0] == test.words
    else:
        assert advice[0].startswith("Collect more labels of target rows")
    assert any(words.startswith("Label at least 20") for words in advice) == (
        n_labels < 20 and verdict != STOP
    )
    far = decide_verdict(replace(fine, label_test=test, divergence=1.1))[2]
    assert any(words.startswith("Use labels of more target rows") for words in far)


@pytest.mark.parametrize("numbers", [{}, {"n_effective": 10.0}, {"divergence": 2.0}])
def test_labels_never_raise_a_verdict_unless_twenty_agree(fine, numbers):
    without = replace(fine, **numbers)
    before = VERDICTS.index(decide_verdict(without)[0])
    for n_labels in (1, 19, 20, 74, 75, 150, 10_000):
        for p_value in (0.0, 3e-8, 0.0009, 0.01, 0.2, 1.0):
            found = decide_verdict(replace(without, label_test=labels(p_value, n_labels)))[0]
            after = VERDICTS.index(found)
            confirmed = not numbers and n_labels >= 20 and p_value >= 0.05
            assert after == 0 if confirmed else after >= before


def test_without_a_shift_weights_are_not_advised(fine):
    none = replace(fine, shift=replace(fine.shift, size="none"))
    assert decide_verdict(none)[2][0].startswith("Use no weights: no shift was found")
    assert decide_verdict(none)[1][1].startswith("No shift was found, and no warning signs")
    careful = replace(none, weight_mean=1.1, weight_mean_error=0.0, rows_deciding=4.0)
    # Nothing else is to be done about the weights; the losses are another matter.
    _, losses, _ = decide_verdict(careful)[2]
    assert losses.startswith("Collect more labelled rows, or take a loss")
    equal = replace(fine, design_effect=1.0)
    assert "every source row was given the same weight" in decide_verdict(equal)[2][0]


def test_regions_are_named_where_overlap_is_missing(fine):
    gaps = [Gap(0.3, "age is above 63", "age"), Gap(0.1, "sex is missing", "sex")]
    _, _, advice = decide_verdict(replace(fine, outside_share=0.3, gaps=gaps))
    assert advice[0].startswith("Collect labels where age is above 63 (30% of the target")
    assert advice[0].endswith("Next in size: sex is missing (10%).")
    _, _, advice = decide_verdict(replace(fine, outside_share=0.3, gaps=[]))
    assert advice[0].startswith("No single column shows the gap")
