"""Folds, rows and groups in an estimate: which losses are one piece of evidence."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from counterpoise._arrays import array_namespace
from counterpoise._folds import Folds
from counterpoise.risk import Controlled, HeldOut, Weighted, estimate_risk
from counterpoise.risk.regression import cross_fit_folds
from counterpoise.risk.sums import sum_by_label


def test_fold_risks_come_back_in_the_order_of_the_folds(rng):
    # Lengths whose grouping is not its own inverse.
    ends = np.cumsum([5, 4, 6, 5, 4])
    folds = Folds(np.split(np.arange(24), ends[:-1]))
    losses, weights = rng.random(24), rng.exponential(size=24)
    _, by_fold = estimate_risk(HeldOut(losses, weights, folds), Controlled())
    samples = [HeldOut.of_sample(losses[fold], weights[fold]) for fold in folds]
    alone = [estimate_risk(sample, Controlled())[0].value for sample in samples]
    np.testing.assert_allclose(by_fold.values, alone)


@pytest.mark.parametrize(
    "samples",
    [
        np.array([3, 3, 0]),
        np.arange(10)[::-1],
        np.repeat(np.arange(7), 30),
        # One sample with far more entries than the others.
        np.concatenate([np.zeros(10_000, dtype=int), np.arange(1, 300)]),
    ],
    ids=["gaps", "single", "even", "uneven"],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_sums_by_sample_are_sums(samples, library, rng):
    values = rng.normal(size=(2, 3, len(samples)))
    want = np.zeros((2, 3, samples.max() + 1))
    np.add.at(want, (slice(None), slice(None), samples), values)
    if library == "torch":
        values = pytest.importorskip("torch").asarray(values)
    found = sum_by_label(array_namespace(values), values, samples)
    np.testing.assert_allclose(np.asarray(found), want, atol=1e-10)


def test_rows_and_groups_are_in_one_part_of_cross_fitting():
    splits = list(ShuffleSplit(8, test_size=0.3, random_state=0).split(np.zeros(50)))
    held_out = np.concatenate([test for _, test in splits])
    parts = cross_fit_folds(Folds.of_splits(splits))
    assert sorted(np.concatenate(parts)) == list(range(len(held_out)))
    assert sum(len(set(held_out[part])) for part in parts) == len(set(held_out))
    groups = np.repeat(np.arange(12), 5)
    together = Folds.of_splits(list(GroupKFold(4).split(groups, groups=groups)), groups=groups)
    parts = cross_fit_folds(together)
    assert all(np.array_equal(a, b) for a, b in zip(parts, together, strict=True))
    torn = list(KFold(4, shuffle=True, random_state=0).split(groups))
    held_out = np.concatenate([test for _, test in torn])
    parts = cross_fit_folds(Folds.of_splits(torn, groups=groups))
    assert sum(len(np.unique(groups[held_out[part]])) for part in parts) == 12


def test_groups_alone_in_several_folds_are_one_sample_each():
    # Weighted means of whole folds, two of each group: the error is that of the group means.
    rng = np.random.default_rng(0)
    losses = rng.random(60)
    folds = Folds(np.split(np.arange(60), 6), None, np.repeat(np.arange(3), 20))
    risk, _ = estimate_risk(HeldOut(losses, np.ones(60), folds), Weighted())
    means = losses.reshape(3, 20).mean(axis=1)
    assert risk.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(3))
    assert risk.degrees_of_freedom == pytest.approx(2)


def test_single_samples_and_folds_together():
    # Folds of 1, 1, 1, 6 and 6 samples: three strata, the first by the spread between its folds.
    losses = np.random.default_rng(0).random(15)
    folds = np.split(np.arange(15), [1, 2, 3, 9])
    risk, _ = estimate_risk(HeldOut(losses, np.ones(15), Folds(folds)), Weighted())
    parts = losses[:3], losses[3:9], losses[9:]
    want = sum((len(part) / 15) ** 2 * part.var(ddof=1) / len(part) for part in parts)
    assert risk.standard_error == pytest.approx(np.sqrt(want))
