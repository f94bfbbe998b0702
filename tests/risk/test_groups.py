"""Risk by group is the risk in the target restricted to the group."""

import numpy as np
import pytest
from monte_carlo import covers
from sklearn.linear_model import LinearRegression

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.metrics import Predicted, get_metric
from counterpoise.risk import HeldOut, estimate_risk, get_method, risk_by_group

# Losses, weights and groups of source rows, and groups of target rows.
RNG = np.random.default_rng(20190601)
own = RNG.choice(["a", "b"], p=[0.8, 0.2], size=400)
x = RNG.normal(size=400)
weights = np.exp(0.4 * x - 0.08) * np.where(own == "a", 0.5 / 0.8, 0.5 / 0.2)
losses, other = x**2 + (own == "b"), RNG.choice(["a", "b"], size=600)


def test_two_groups_by_hand():
    losses = np.array([1.0, 2, 3, 4, 5, 10, 20, 30, 40, 50])
    weights = np.array([0.5, 0.3, 0.7, 0.5, 0.5, 1.5, 2.0, 1.0, 1.5, 1.5])
    source, target = np.repeat([0, 1], 5), np.repeat([0.0, 1.0], [25, 75])  # int and float labels
    found = risk_by_group(HeldOut.of_sample(losses, weights), source, target, method="weighted")
    assert list(found) == ["1", "0"]
    for name, rows, share in (("0", slice(0, 5), 0.25), ("1", slice(5, 10), 0.75)):
        own, x, w = found[name], losses[rows], weights[rows]
        assert (own.n_source, own.n_target, own.target_share) == (5, 100 * share, share)
        assert own.risk.value == pytest.approx(np.average(x, weights=w))
        left = [np.average(np.delete(x, i), weights=np.delete(w, i)) for i in range(5)]
        assert own.risk.standard_error == pytest.approx(np.sqrt(4 * np.var(left)))
        assert own.risk.drift == 0.15  # hardly any shift inside the groups
    assert found.overall.value == pytest.approx(np.mean(weights * losses))
    assert found.worst.name == "1"


@pytest.mark.parametrize("method", ["source", "controlled", "doubly_robust"])
def test_rows_of_a_cluster_stay_together(method):
    twice, rows = np.repeat(np.arange(400), 2), own == "b"
    domains = cp.risk.Domains(np.arange(800.0)[:, None], np.zeros((600, 1)))
    doubled = HeldOut(losses[twice], weights[twice], Folds([np.arange(800)], groups=twice), domains)
    found = risk_by_group(doubled, own[twice], other, method=method)["b"].risk
    # The mean weight of a group is not known: no method that relies on it is used inside.
    within = get_method("source" if method == "source" else "normalized")
    want, _ = estimate_risk(HeldOut.of_sample(losses[rows], weights[rows]), within)
    assert found.interval() == pytest.approx(want.interval())


def test_groups_that_the_source_lacks_are_named_and_the_worst_has_a_wide_interval():
    third = np.where(np.arange(600) < 30, "c", other)
    found = risk_by_group(HeldOut.of_sample(losses, weights), own, third)
    assert found["c"].risk is None
    assert found["c"].n_source == 0
    assert "Too few source rows to say anything about: c (30 target rows)" in found.words
    assert found.worst.name == "b"
    assert "The worst of 2 groups is b" in found.words
    assert "highest of several estimates is too high" in found.words
    alone = risk_by_group(HeldOut.of_sample(losses, weights), ["all"] * 400, ["all"] * 9)
    assert alone.words == ""


def test_metrics_by_group(rng):
    y, x = rng.integers(0, 2, size=400), rng.normal(size=400)
    predicted = Predicted(y, (x > 0).astype(int), None, np.stack([-x, x], axis=1), np.arange(2))
    held_out, auc = HeldOut.of_sample(losses, weights), get_metric("auc")
    found = risk_by_group(held_out, own, other, predicted=predicted, metrics=[auc])
    rows = np.flatnonzero(own == "b")
    want = auc(predicted.take(rows), weights[rows])
    assert found["b"].metrics["auc"].value == pytest.approx(want)
    assert risk_by_group(held_out, own, other, predicted=predicted)["b"].metrics is None


def test_intervals_of_groups_cover():
    """Shares and shift within groups are known: the true risk of a group is E[x^2] there."""
    ends = {"a": [], "b": []}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        own, x = rng.choice(["a", "b"], p=[0.7, 0.3], size=400), rng.normal(size=400)
        weights = np.exp(0.5 * x - 0.125) * np.where(own == "a", 0.4 / 0.7, 0.6 / 0.3)
        other = rng.choice(["a", "b"], p=[0.4, 0.6], size=1000)
        losses = (x + (own == "b")) ** 2  # target: x ~ N(0.5, 1)
        found = risk_by_group(HeldOut.of_sample(losses, weights), own, other)
        for name in ends:
            ends[name].append(found[name].risk.interval(drift=False))
    covers(*np.transpose(ends["a"]), 1.25, 0.9)
    covers(*np.transpose(ends["b"]), 3.25, 0.9)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one label per loss of one model; got 3"):
        risk_by_group(HeldOut.of_sample(losses, weights), own[:3], other)
    with pytest.raises(ValueError, match="`target_groups` must have one label per row"):
        risk_by_group(HeldOut.of_sample(losses, weights), own, [])


def test_a_search_takes_one_and_one_point_nought_for_the_same_group(pd, rng):
    """A column with missing values is of floats, the other of integers; days have several units."""
    X, Z = ({"x": rng.normal(size=90), "region": np.repeat([1, 2, 3], 30)} for _ in range(2))
    X, Z = pd.DataFrame(X), pd.DataFrame(Z).astype({"region": float})
    search = cp.ShiftGridSearchCV(LinearRegression(), {}, weights=None)
    search.fit(X, X["x"] + rng.normal(size=90), X_target=Z)
    for groups in (("region",), (X["region"], Z["region"])):
        assert list(search.risk_by_group(*groups)) == ["1", "2", "3"]
    days = np.datetime64("2024-01-01", "ns") + X["region"].to_numpy().astype("m8[D]")
    names = [f"2024-01-0{day} 00:00:00" for day in (2, 3, 4)]
    assert list(search.risk_by_group(days, days.astype("M8[D]"))) == names


def test_a_group_uses_its_own_labels(rng):
    """Labels of one group move its risk and leave the other's alone."""
    losses, region = rng.exponential(size=200), np.repeat(["north", "south"], 100)
    held_out = HeldOut.of_sample(losses, np.ones(200))
    plain = risk_by_group(held_out, region, region)
    rows = np.arange(40)  # all of them in the north
    known = HeldOut.of_sample(losses, np.ones(200), labelled=np.full(40, 3.0))
    used = risk_by_group(known, region, region, labelled_rows=rows)
    assert used["south"].risk.value == plain["south"].risk.value
    assert used["south"].risk.labels is None
    assert used["north"].risk.labels.n_labels == 40
    assert used["north"].risk.value > plain["north"].risk.value
