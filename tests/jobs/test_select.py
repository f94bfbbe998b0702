"""A selection says what the library says, and the truth is only ever shown."""

import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("pyarrow", reason="jobs need the cli extra")

from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

import counterpoise as cp
from counterpoise import jobs
from counterpoise.jobs import weighting
from counterpoise.jobs.candidates import curve_of
from counterpoise.jobs.loading import encode
from counterpoise.jobs.weighting import estimate_weights
from counterpoise.weights import GaussianRatio
from counterpoise.weights.names import NAMES

FEW = ["alpha=0.1,10,1000"]


@pytest.fixture
def data(files):
    return jobs.load(files / "source.csv", files / "target.csv", label="ill", labelled=True)


def test_csv_and_parquet_give_the_same_answer(files, data):
    other = jobs.load(
        files / "source.parquet", files / "target.parquet", label="ill", labelled=True
    )
    one, two = (jobs.select(d, params=FEW).record for d in (data, other))
    assert one.candidates.parameters == two.candidates.parameters
    for a, b in zip(one.candidates.risks, two.candidates.risks, strict=True):
        np.testing.assert_array_equal(a.value, b.value)
    np.testing.assert_array_equal(one.audit.weights, two.audit.weights)
    assert one.truth == two.truth


def test_the_risks_are_those_of_the_library(data):
    found = jobs.select(data, params=FEW, selection="min", deliver="one", fit_weighted="both")
    own = found.record
    encoder, model = found.model[0], found.model[1]
    y = np.where(data.pair.y == model.classes_[1], 1.0, -1.0)
    X = encoder.transform(data.pair.source)
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, data.pair.y))
    weighted = own.candidates.fit_weighted
    assert list(weighted) == [False] * 3 + [True] * 3
    for risks in own.candidates.risks:
        for i, params in enumerate(own.candidates.parameters):
            if risks.label == "plain cross-validation" and weighted[i]:
                assert np.isnan(risks.value[i])
                continue
            want = cp.cross_val_risk(
                Ridge(**params),
                X,
                y,
                weights=own.audit.weights,
                method=risks.method,
                fit_weighted=bool(weighted[i]),
                cv=splits,
            )
            assert risks.value[i] == pytest.approx(want.value, rel=1e-9)
            # The job knows the weights of target rows: its intervals may be wider for them.
            low, high = want.interval()
            assert risks.low[i] <= low * (1 + 1e-9)
            assert risks.high[i] >= high * (1 - 1e-9)
            # Both are symmetric on the logarithmic scale.
            assert risks.low[i] * risks.high[i] == pytest.approx(low * high)
    assert [risks.label for risks in own.candidates.risks] == [
        "controlled",
        "weighted",
        "plain cross-validation",
    ]
    assert own.candidates.chosen == np.argmin(own.candidates.risks[0].value)
    assert own.candidates.indistinguishable[own.candidates.chosen]


def test_no_method_is_listed_twice(data):
    plain = "plain cross-validation"
    for method, trained, labels in [
        ("weighted", "no", ["weighted", plain]),
        ("weighted", "yes", ["weighted"]),
        ("source", "no", [plain, "weighted"]),
        ("source", "both", ["source", "weighted", plain]),
    ]:
        options = {"params": FEW, "method": method, "fit_weighted": trained}
        risks = jobs.select(data, **options).record.candidates.risks
        assert [r.label for r in risks] == labels


def test_plain_cross_validation_has_no_weights_anywhere(files):
    data = jobs.load(files / "source.csv", files / "target.csv", label="cost", labelled=True)
    found = jobs.select(data, params=FEW, fit_weighted="both")
    X = found.model[0].transform(data.pair.source)
    splits = KFold(5, shuffle=True, random_state=0).split(X)
    grid = {"alpha": [0.1, 10, 1000]}
    search = GridSearchCV(Ridge(), grid, cv=splits, scoring="neg_mean_squared_error")
    search.fit(X, data.pair.y)
    candidates = found.record.candidates
    plain = candidates.plain
    assert candidates.parameters[plain.best] == search.best_params_
    assert not candidates.fit_weighted[plain.best]
    np.testing.assert_allclose(plain.value[:3], -search.cv_results_["mean_test_score"])
    # The truth beside it is that of the model that it would deliver.
    Z = found.model[0].transform(data.pair.target)
    truth = np.mean((search.predict(Z) - data.pair.y_target) ** 2)
    assert candidates.truth[plain.best] == pytest.approx(truth)
    assert "Plain cross-validation, without weights" in found.record.chosen_words


def test_without_unweighted_training_there_is_no_plain_cross_validation(data):
    record = jobs.select(data, params=FEW, fit_weighted="yes").record
    assert record.candidates.fit_weighted.all()
    assert record.candidates.plain is None
    assert "lain cross-validation" not in record.chosen_words
    assert jobs.summary(record)["plain_cross_validation"] is None


@pytest.mark.parametrize("deliver", ["one", "blend"])
def test_the_truth_is_the_loss_on_labelled_target_rows(data, deliver):
    found = jobs.select(data, params=FEW, deliver=deliver)
    model, target = found.model, data.pair.target
    code = np.where(data.pair.y_target == model.classes_[1], 1.0, -1.0)
    losses = (model.decision_function(target) - code) ** 2
    assert found.record.truth == pytest.approx(losses.mean())
    assert found.record.truth_error == pytest.approx(losses.std() / np.sqrt(len(losses)))
    assert "only to show the truth" in found.record.truth_note


def test_labels_of_the_target_change_nothing_but_the_truth(data, rng):
    shuffled = replace(data.truth, y=rng.permutation(data.truth.y))
    one, two = (jobs.select(d, params=FEW).record for d in (data, replace(data, truth=shuffled)))
    none = jobs.select(replace(data, truth=None), params=FEW).record
    assert one.truth != two.truth
    assert none.truth is None
    for other in (two, none):
        assert one.chosen_words == other.chosen_words
        assert one.corrected_risk == other.corrected_risk
        np.testing.assert_array_equal(one.audit.weights, other.audit.weights)


def test_truth_leaves_out_rows_without_a_label(files, frames):
    target = frames[1].copy()
    target.loc[:9, "ill"] = None
    target.to_csv(files / "target.csv", index=False)
    data = jobs.load(files / "source.csv", files / "target.csv", label="ill", labelled=True)
    record = jobs.select(data, params=FEW).record
    assert "10 rows without a label left out" in record.truth_note
    assert record.truth_warning == ""
    target["ill"] = 1.5
    target.to_csv(files / "target.csv", index=False)
    data = jobs.load(files / "source.csv", files / "target.csv", label="ill", labelled=True)
    record = jobs.select(data, params=FEW).record
    assert record.truth is None
    assert "can be compared with those of source.csv: no truth is shown." in record.audit.notes[-1]


def test_regression_and_its_predictions(files):
    data = jobs.load(files / "source.csv", files / "target.csv", label="cost", labelled=True)
    found = jobs.select(data)
    record = found.record
    assert record.task == "regression"
    assert record.loss == "squared"
    assert record.truth == pytest.approx(1.0, abs=0.25)  # the noise of the label
    np.testing.assert_allclose(
        found.predictions["prediction"], found.model.predict(data.pair.target)
    )
    assert record.predictions.kind == "numbers"
    said, told = found.predictions["prediction"], record.predictions
    assert told.rows == len(said) > len(data.pair.y)
    for values, quantiles in ((said, told.quantiles), (data.pair.y, told.source_quantiles)):
        shares = {"minimum": 0, "25%": 25, "median": 50, "75%": 75, "maximum": 100}
        for name, share in shares.items():
            assert quantiles[name] == pytest.approx(np.percentile(values, share))
        assert quantiles["mean"] == pytest.approx(values.mean())


def test_the_losses_of_the_diagnosis_are_in_the_order_of_the_rows(files):
    data = jobs.load(files / "source.csv", files / "target.csv", label="cost", labelled=True)
    record = jobs.select(data, params=["alpha=1"], fit_weighted="no", deliver="one").record
    X, y = encode(data, jobs.Request()).source, data.pair.y
    losses = np.empty(len(y))
    for train, test in KFold(5, shuffle=True, random_state=0).split(y):
        losses[test] = (Ridge(alpha=1).fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2
    np.testing.assert_allclose(record.audit.diagnostics.losses, losses, rtol=1e-6)


def test_shares_of_predicted_classes_are_of_all_target_rows(data):
    found = jobs.select(data, model="logistic", params=["C=1"])
    said, told = found.predictions["prediction"], found.record.predictions
    assert told.rows == len(said) > len(data.pair.y)
    for label in ("yes", "no"):
        assert told.classes[label] == pytest.approx(np.mean(said == label))
        assert told.source_classes[label] == pytest.approx(np.mean(data.pair.y == label))


def test_probabilities_where_there_are_any(data):
    found = jobs.select(data, model="logistic", params=["C=0.1,1"])
    assert list(found.predictions) == ["prediction", "probability of no", "probability of yes"]
    both = found.predictions["probability of no"] + found.predictions["probability of yes"]
    np.testing.assert_allclose(both, 1)
    shares = found.record.predictions.classes
    assert sum(shares.values()) == pytest.approx(1)
    assert set(shares) == {"no", "yes"}


SMALL = {
    "model": ["logistic", "forest"],
    "params": ["logistic.C=0.01,1", "forest.n_estimators=5", "forest.min_samples_leaf=1,20"],
}


def test_families_compete_and_blend_by_probabilities(data):
    found = jobs.select(data, selection="consensus", deliver="blend", fit_weighted="both", **SMALL)
    record, candidates = found.record, found.record.candidates
    assert record.models == ["logistic", "forest"]
    assert record.loss == "log"
    assert len(candidates.parameters) == 8
    assert set(candidates.models) == {"logistic", "forest"}
    assert len(set(candidates.labels)) == 8
    assert any("blended by their probabilities" in note for note in record.audit.notes)
    # The choice has the least expected regret, and the words say what that rests on.
    assert candidates.chosen == np.argmin(candidates.expected_regret)
    assert candidates.plausibility.sum() == pytest.approx(1)
    plausible = np.count_nonzero(candidates.plausibility)
    assert f"{plausible} of 8 candidates are plausible" in record.chosen_words
    assert re.search(r"They disagree on [\d.]+% of the target rows", record.chosen_words)
    # The delivered model is the mean of the members' probabilities.
    blend, model = record.blend, found.model[1]
    assert record.delivered == f"blend of {len(blend.members)} models"
    assert f"{record.delivered}: a weighted mean of their prob" in record.chosen_words
    assert blend.weights.sum() == pytest.approx(1)
    assert list(blend.weights) == sorted(blend.weights, reverse=True)
    Z = found.model[0].transform(data.pair.target)
    mean = sum(
        q * own.predict_proba(Z) for q, own in zip(model.weights_, model.estimators_, strict=True)
    )
    np.testing.assert_allclose(found.predictions["probability of yes"], mean[:, 1])
    np.testing.assert_array_equal(found.predictions["prediction"] == "yes", mean[:, 1] > 0.5)
    own = -np.log(np.where(data.pair.y_target == "yes", mean[:, 1], mean[:, 0]))
    assert record.truth == pytest.approx(own.mean())
    # Its members are the candidates that the record names, trained as it says.
    X, y, w = found.model[0].transform(data.pair.source), data.pair.y, record.audit.weights
    by_weight = np.argsort(-model.weights_, kind="stable")
    for place, i in zip(blend.members, by_weight, strict=True):
        trained = model.estimators_[i]
        for name, value in candidates.parameters[place].items():
            assert getattr(trained, name) == value
        weights = w if candidates.fit_weighted[place] else None
        again = clone(trained).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(again.predict_proba(Z), trained.predict_proba(Z), atol=1e-8)


def test_families_without_probabilities_blend_by_votes(data):
    found = jobs.select(
        data,
        model=["ridge", "forest"],
        params=["ridge.alpha=1,100", "forest.n_estimators=5"],
        deliver="blend",
    )
    record, model = found.record, found.model[1]
    assert record.loss == "zero_one"
    assert any(
        "by their votes, because there are no probabilities from ridge" in note
        for note in record.audit.notes
    )
    assert list(found.predictions) == ["prediction"]
    assert "a weighted vote" in record.chosen_words
    Z = found.model[0].transform(data.pair.target)
    yes = sum(
        q * (own.predict(Z) == "yes")
        for q, own in zip(model.weights_, model.estimators_, strict=True)
    )
    decided = np.abs(yes - 0.5) > 1e-9
    np.testing.assert_array_equal(
        (found.predictions["prediction"] == "yes")[decided], (yes > 0.5)[decided]
    )
    assert record.truth == np.mean(found.predictions["prediction"] != data.pair.y_target)


def test_selection_delivery_and_training_each_change_what_they_should(files):
    data = jobs.load(files / "source.csv", files / "target.csv", label="cost", labelled=True)

    def record(selection="min", deliver="one", fit_weighted="no"):
        options = {"selection": selection, "deliver": deliver, "fit_weighted": fit_weighted}
        return jobs.select(data, params=FEW, **options).record

    least, consensus, blend = record(), record("consensus"), record(deliver="blend")
    assert (least.selection, consensus.selection) == ("min", "consensus")
    for name in ("plausibility", "expected_regret"):
        assert getattr(least.candidates, name) is None
        assert getattr(consensus.candidates, name).shape == (3,)
    assert "least expected regret" in consensus.chosen_words
    assert "root mean square" in consensus.chosen_words or "is plausible" in consensus.chosen_words
    assert least.candidates.chosen == np.argmin(least.candidates.risks[0].value)
    assert least.blend is consensus.blend is None
    assert blend.candidates.chosen == least.candidates.chosen
    assert blend.risk != least.risk
    assert blend.corrected_risk == blend.risk
    assert blend.risk_low < blend.risk < blend.risk_high
    yes, both = record(fit_weighted="yes"), record(fit_weighted="both")
    counts = [np.bincount(own.candidates.fit_weighted, minlength=2) for own in (least, yes, both)]
    np.testing.assert_array_equal(counts, [[3, 0], [0, 3], [3, 3]])
    values = [own.candidates.risks[0].value for own in (least, yes, both)]
    np.testing.assert_allclose(np.concatenate(values[:2]), values[2])


def test_options_that_are_not_there_are_refused(data):
    for option in ("selection", "deliver", "fit_weighted"):
        name = option.replace("_", "-")
        with pytest.raises(ValueError, match=f"`--{name}` must be one of"):
            jobs.select(data, params=FEW, **{option: "magic"})


def test_the_same_seed_gives_the_same_record(data):
    one, two = (jobs.select(data, jobs.Request(seed=3), params=FEW).record for _ in range(2))
    np.testing.assert_array_equal(one.candidates.risks[0].value, two.candidates.risks[0].value)
    other = jobs.select(data, jobs.Request(seed=4), params=FEW).record
    assert one.risk != other.risk


def test_the_label_is_no_feature_of_an_audit(files):
    data = jobs.load(files / "source.csv", files / "target.csv", label="ill")
    assert "ill" not in jobs.audit(data).columns


def test_disjoint_samples_are_answered_and_not_trusted(data):
    apart = replace(data.pair, target=data.pair.target.assign(age=data.pair.target["age"] + 1e4))
    record = jobs.select(
        replace(data, pair=apart, truth=None), params=FEW, weights="gaussian"
    ).record
    assert record.audit.diagnostics.verdict == "do not trust"
    assert any("do not overlap" in note for note in record.audit.notes)
    assert np.all(record.audit.weights == 0)
    assert np.isfinite(record.risk)


def test_curves_need_a_numeric_parameter_with_two_values(data):
    def curve(*params, model="forest"):
        small = [*params, "n_estimators=3"]
        return curve_of(jobs.select(data, model=model, params=small).record.candidates)

    assert curve("max_features=sqrt,log2") is None
    found = curve("min_samples_leaf=1,10,100", "max_features=0.3,1.0")
    assert found.name == "min_samples_leaf"
    assert list(found.values) == [1, 10, 100]
    assert found.log
    assert not curve("min_samples_leaf=1,2,3,4").log


def test_default_weights_name_what_was_used_and_why(data, monkeypatch):
    encoded = encode(data, jobs.Request())
    options = {"rng": np.random.default_rng(0)}
    found = estimate_weights("auto", encoded, **options)
    assert (found.name, found.words) == ("kmm", "Weights by 'kmm', the default.")
    np.testing.assert_array_equal(found.weights_, found.estimator.weights_)
    monkeypatch.setattr(weighting, "_TARGET_ROWS", 300)
    monkeypatch.setitem(NAMES, "kmm", GaussianRatio)
    monkeypatch.setattr("counterpoise.weights.default._LEAST_ROWS", len(encoded.source) / 2)
    found = estimate_weights("auto", encoded, **options)
    assert found.name != "kmm"
    assert f"Weights by {found.name!r}, fitted to 300 of the 400 target rows." in found.words
    assert "is used because 'kmm' has an effective sample of" in found.words
    assert np.all(estimate_weights("none", encoded, **options).weights_ == 1)


def test_progress_reaches_every_stage(data):
    seen = []
    request = jobs.Request(progress=lambda stage, done, total: seen.append((stage, done, total)))
    jobs.select(data, request, params=FEW, fit_weighted="both")
    stages = list(dict.fromkeys(stage.split(":")[0] for stage, _, _ in seen))
    assert stages == [
        "encoding the columns",
        "estimating the weights",
        "searching",
        "looking up the truth",
        "diagnosing",
        "predicting the target",
    ]
    assert ("searching", 30, 30) in seen


def test_examples_know_their_truth():
    problem = cp.datasets.gaussian_2d(0.6)
    example = jobs.load_example("gaussian-2d", n_source=300, seed=5)
    found = jobs.select(example, deliver="one")
    encoder, model = found.model[0], found.model[1]
    # The encoding is affine: its values at 0 and at the unit vectors tell it.
    zero, *units = encoder.transform(np.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    coef = np.asarray(units - zero) @ np.ravel(model.coef_)
    level = float(np.ravel(model.intercept_)[0]) + zero @ np.ravel(model.coef_)
    truth = problem.linear_risk(coef, level)
    assert abs(found.record.truth - truth) < 4 * found.record.truth_error
    with pytest.raises(ValueError, match="`--example` must be one of"):
        jobs.load_example("magic")


def test_a_cluster_gives_the_same_answer(data, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs the dask extra")
    asked = []

    @contextmanager
    def connect(address):
        asked.append(address)
        options = {"processes": False, "n_workers": 1, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client

    monkeypatch.setattr("counterpoise._cluster.connect", connect)
    options = {"model": "logistic", "params": ["C=0.1,1"], "folds": 2}
    here, there = (jobs.select(data, dask=dask, **options).record for dask in (None, "local"))
    assert asked == ["local"]
    np.testing.assert_allclose(
        here.candidates.risks[0].value, there.candidates.risks[0].value, rtol=1e-12
    )
