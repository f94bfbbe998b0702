"""Risk by group is the risk in the target restricted to the group."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.metrics import Predicted, get_metric
from counterpoise.risk import HeldOut, risk_by_group
from counterpoise.risk.estimate import Rehearsals


@pytest.fixture
def sample(rng):
    """Source and target that differ in the share of the groups and within them."""
    n, m = 400, 600
    own, other = rng.choice(["a", "b"], p=[0.8, 0.2], size=n), rng.choice(["a", "b"], size=m)
    x = rng.normal(np.where(own == "a", 0.0, 0.5), 1)
    weights = np.exp(0.4 * (x - np.where(own == "a", 0.0, 0.5)) - 0.08)
    weights *= np.where(own == "a", 0.5 / 0.8, 0.5 / 0.2)
    losses = x**2 + np.where(own == "a", 0.0, 1.0)
    return losses, weights, own, other, x


def test_the_risk_of_a_group_is_its_weighted_mean_loss(sample):
    losses, weights, own, other, _ = sample
    for method in ("normalized", "weighted"):
        found = risk_by_group(HeldOut.of_sample(losses, weights), own, other, method=method)
        for name in "ab":
            rows = own == name
            risk, want = (
                found[name].risk,
                cp.target_risk(losses[rows], weights[rows], method="normalized"),
            )
            assert risk.value == pytest.approx(want.value)
            assert risk.standard_error == pytest.approx(want.standard_error, rel=0.05)
            assert risk.n_effective == pytest.approx(want.n_effective)
            assert risk.degrees_of_freedom <= want.degrees_of_freedom
            assert found[name].n_target == np.sum(other == name)
        whole = cp.target_risk(losses, weights, method=method)
        assert found.overall.value == pytest.approx(whole.value)


def test_the_standard_error_is_the_delete_one_jackknife(sample):
    losses, weights, own, other, _ = sample
    found = risk_by_group(HeldOut.of_sample(losses, weights), own, other, method="normalized")
    deleted = []
    for i in range(400):
        kept = (own == "b") & (np.arange(400) != i)
        deleted.append(np.average(losses[kept], weights=weights[kept]))
    brute = np.sqrt(399 / 400 * np.sum((deleted - np.mean(deleted)) ** 2))
    assert found["b"].risk.standard_error == pytest.approx(brute, rel=0.01)


def test_one_group_is_the_whole(sample):
    losses, weights, *_ = sample
    held_out = HeldOut.of_sample(losses, weights)
    found = risk_by_group(held_out, ["all"] * 400, ["all"] * 50, method="normalized")
    assert found["all"].risk.value == pytest.approx(found.overall.value)
    assert found["all"].risk.interval() == pytest.approx(found.overall.interval())
    assert found.words == ""


def test_rows_that_belong_together_are_left_out_together(sample):
    losses, weights, own, other, _ = sample
    twice = np.repeat(np.arange(400), 2)
    doubled = HeldOut(losses[twice], weights[twice], Folds([np.arange(800)], groups=twice))
    grouped = risk_by_group(doubled, own[twice], other)["b"].risk
    once = risk_by_group(HeldOut.of_sample(losses, weights), own, other)["b"].risk
    assert grouped.value == pytest.approx(once.value, rel=1e-3)
    assert grouped.standard_error == pytest.approx(once.standard_error, rel=0.02)


def test_groups_of_the_target_that_the_source_lacks_are_named(sample):
    losses, weights, own, other, _ = sample
    other = np.where(np.arange(600) < 30, "c", other)
    found = risk_by_group(HeldOut.of_sample(losses, weights), own, other)
    assert found["c"].risk is None
    assert "Too few source rows to say anything about: c (30 target rows)" in found.words
    assert found.worst.name == "b"
    assert "The worst of 2 groups is b" in found.words
    assert "highest of several estimates is too high" in found.words
    assert "c" in str(found)


def test_metrics_by_group(sample, rng):
    losses, weights, own, other, x = sample
    y = (x + rng.normal(size=400) > 0).astype(int)
    score = np.stack([-x, x], axis=1)
    predicted = Predicted(y, (x > 0).astype(int), None, score, np.array([0, 1]))
    auc = get_metric("auc")
    found = risk_by_group(
        HeldOut.of_sample(losses, weights),
        own,
        other,
        method="normalized",
        predicted=predicted,
        metrics=[auc],
    )
    rows = np.flatnonzero(own == "b")
    assert found["b"].metrics["auc"].value == pytest.approx(
        auc(predicted.take(rows), weights[rows])
    )


def test_intervals_of_groups_cover():
    """Shares and shift within groups are known: the true risk of a group is E[x^2] there."""
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        own = rng.choice(["a", "b"], p=[0.7, 0.3], size=400)
        x = rng.normal(size=400)
        weights = np.exp(0.5 * x - 0.125) * np.where(own == "a", 0.4 / 0.7, 0.6 / 0.3)
        other = rng.choice(["a", "b"], p=[0.4, 0.6], size=1000)
        losses = (x + (own == "b")) ** 2  # target: x ~ N(0.5, 1)
        found = risk_by_group(HeldOut.of_sample(losses, weights), own, other)
        for name, truth in (("a", 1.25), ("b", 3.25)):
            low, high = found[name].risk.interval()
            covered.append(low <= truth <= high)
    assert np.mean(covered) > 0.92 - 2 * np.sqrt(0.92 * 0.08 / 400)


def test_a_search_reports_groups_with_a_verdict(rng):
    pd = pytest.importorskip("pandas")
    from sklearn.linear_model import Ridge

    def table(n, share):
        part = rng.choice([0.0, 1.0, 2.0], p=share, size=n)
        return pd.DataFrame({"x": rng.normal(size=n), "part": part})

    X, X_target = table(300, [0.5, 0.49, 0.01]), table(400, [0.3, 0.4, 0.3])
    y = X["x"] + np.where(X["part"] == 1, 3, 1) * rng.normal(size=300)
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 10.0]}, metrics="auto")
    search.fit(X, y, X_target=X_target)
    found = search.risk_by_group("part")
    assert found.worst.name in ("1.0", "2.0")
    assert found["1.0"].risk.value > found["0.0"].risk.value
    assert found["2.0"].verdict == "do not trust"
    assert found["0.0"].verdict in ("trust", "caution")
    assert list(found["0.0"].metrics) == ["rmse", "r2", "mae"]
    assert search.best_risk_.transfer_error > 0
    assert all(own.risk.transfer_error > 0 for own in found.values())
    same = search.risk_by_group(X["part"].to_numpy(), X_target["part"].to_numpy())
    assert same["0.0"].risk.value == found["0.0"].risk.value
    with pytest.raises(ValueError, match="'region' is not a column of `X`"):
        search.risk_by_group("region")
    with pytest.raises(ValueError, match="`target` is missing"):
        search.risk_by_group(X["part"])
    with pytest.raises(ValueError, match="one label per row, 400 in all"):
        search.risk_by_group(X["part"], [1, 2])


def test_bad_input_is_refused(sample):
    losses, weights, own, other, _ = sample
    with pytest.raises(ValueError, match="one label per loss of one model; got 3"):
        risk_by_group(HeldOut.of_sample(losses, weights), own[:3], other)
    with pytest.raises(ValueError, match="`target_groups` must have one label per row"):
        risk_by_group(HeldOut.of_sample(losses, weights), own, [])


def test_the_risk_of_a_group_stays_inside_the_range_of_the_loss(rng):
    # Losses grow with the weights, whose mean is often far above 1: the correction for it is larger
    # than the mean loss, and the control variate goes below 0.
    own, other = np.repeat(["a", "b"], 60), np.repeat(["a", "b"], 40)
    below = 0
    for _ in range(40):
        weights = rng.exponential(size=120) ** 2
        losses = weights**2
        found = risk_by_group(HeldOut.of_sample(losses, weights), own, other)
        for name in "ab":
            risk, rows = found[name].risk, own == name
            assert risk.value >= 0
            assert risk.interval()[0] >= 0
            if risk.constrained:
                below += 1
                want = np.average(losses[rows], weights=weights[rows])
                assert risk.value == pytest.approx(want)
    assert below > 0


def test_rehearsals_widen_the_groups_by_the_same_share(sample):
    losses, weights, own, other, _ = sample
    held_out = HeldOut.of_sample(losses, weights)
    rehearsals = Rehearsals(np.full(6, 0.3), shift=1.0)
    alone = risk_by_group(held_out, own, other)
    wider = risk_by_group(held_out, own, other, rehearsals=rehearsals)
    pairs = [(alone[name].risk, wider[name].risk) for name in alone]
    for one, two in [*pairs, (alone.overall, wider.overall)]:
        assert two.value == one.value
        assert two.transfer_error == pytest.approx(0.8 * 0.3 * one.value)
        assert two.interval()[1] > one.interval()[1]
