import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterpoise.weights import ClassifierRatio


def shifted(rng, n, m, n_features=1, shift=1.0):
    return rng.normal(-shift, 1, (n, n_features)), rng.normal(0, 1, (m, n_features))


class NormalClassifier(ClassifierMixin, BaseEstimator):
    """The Bayes classifier of N(0, 1) against N(-1, 1) with the priors of its training rows."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.prior_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        joint = self.prior_ * norm.pdf(X, loc=[-1.0, 0.0])
        return joint / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("n", "m"), [(30, 30), (30, 211), (211, 30)])
@pytest.mark.parametrize("cv", [None, 4])
def test_true_probabilities_give_the_true_ratio_whatever_the_sample_sizes(rng, n, m, cv):
    X_source, X_target = shifted(rng, n, m)
    model = ClassifierRatio(classifier=NormalClassifier(), cv=cv).fit(X_source, X_target)
    true = np.exp(X_source[:, 0] + 0.5)
    np.testing.assert_allclose(model.weights_, true, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X_source), true, rtol=1e-10)


def test_the_default_recovers_the_ratio_of_two_normal_densities(rng):
    # Mean and variance differ: the squares are needed.
    X_source, X_target = rng.normal(-0.5, 0.8, (20000, 1)), rng.normal(0, 1, (30000, 1))
    points = np.linspace(-1.5, 1.0, 20)
    true = norm.pdf(points) / norm.pdf(points, -0.5, 0.8)
    predicted = ClassifierRatio(cv=None).fit(X_source, X_target).predict(points[:, None])
    np.testing.assert_allclose(predicted, true, rtol=0.06)


@pytest.mark.parametrize("cv", ["auto", 2])
def test_weights_come_from_classifiers_that_have_not_seen_the_row(rng, cv):
    # A forest knows its own rows: in-sample, it is sure that source rows are source rows.
    X_source, X_target = shifted(rng, 150, 150, n_features=2, shift=0.0)
    forest = RandomForestClassifier(n_estimators=10, random_state=0)
    crossed = ClassifierRatio(classifier=forest, cv=cv).fit(X_source, X_target).weights_
    in_sample = ClassifierRatio(classifier=forest, cv=None).fit(X_source, X_target).weights_
    assert np.median(in_sample) < 0.4
    assert 0.7 < np.median(crossed) < 1.3
    assert ClassifierRatio(cv=500).fit(X_source[:9], X_target).weights_.shape == (9,)


def test_probabilities_are_clipped_at_the_stated_bound(rng):
    class Certain(NormalClassifier):
        def predict_proba(self, X):
            sure = (X[:, :1] > -0.5).astype(float)
            return np.hstack([1 - sure, sure])

    X_source, X_target = shifted(rng, 40, 60)
    model = ClassifierRatio(classifier=Certain(), cv=None).fit(X_source, X_target)
    assert model.probability_bound_ == 0.5 / 100
    np.testing.assert_allclose(model.predict([[-9.0], [9.0]]), [40 / 60 / 199, 40 / 60 * 199])


def mixed_frame(pd, rng, n, shift):
    city = rng.choice(["Delft", "Copenhagen", "Riga"], n, p=[0.5 - shift, 0.3, 0.2 + shift])
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 10 * shift, 10, n),
            "city": city,
            "smoker": rng.random(n) < 0.3 + shift,
            "grade": pd.Categorical(rng.integers(1, 4, n)),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    frame.loc[rng.random(n) < 0.1, "visits"] = pd.NA
    frame.loc[rng.random(n) < 0.1, "seen"] = pd.NaT
    return frame


def test_mixed_data_frames_are_read_by_the_default(pd, rng):
    source, target = mixed_frame(pd, rng, 1500, 0.0), mixed_frame(pd, rng, 2500, 0.25)
    source = source.drop_duplicates()  # copies may lie in different folds
    model = ClassifierRatio().fit(source, target)
    weights, n = model.weights_, len(source)
    for column, value in [("city", "Riga"), ("smoker", True), ("grade", 2)]:
        want = (target[column] == value).mean()
        error = 3 * np.sqrt(np.var(weights * (source[column] == value)) / n + 0.25 / 2500)
        got = np.sum(weights * (source[column] == value)) / np.sum(weights)
        assert got == pytest.approx(want, abs=error)
    assert model.predict(target).shape == (2500,)
    rows = rng.permutation(n)
    again = ClassifierRatio().fit(source.iloc[rows], target)
    np.testing.assert_allclose(again.weights_, weights[rows], rtol=1e-9)


def test_any_pipeline_gets_the_frame_as_it_is(pd, rng):
    source, target = mixed_frame(pd, rng, 200, 0.0), mixed_frame(pd, rng, 300, 0.25)
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"])), LogisticRegression()
    )
    weights = ClassifierRatio(classifier=pipeline, cv=None).fit(source, target).weights_
    share = [(frame["city"] == "Riga").mean() for frame in (source, target)]
    ratio = weights[(source["city"] == "Riga").to_numpy()]
    assert ratio[0] == pytest.approx(share[1] / share[0], rel=0.1)


def test_frames_with_repeated_or_other_columns_are_refused(pd, rng):
    source, target = mixed_frame(pd, rng, 30, 0.0), mixed_frame(pd, rng, 30, 0.0)
    twice = pd.concat([source, source[["age"]]], axis=1)
    with pytest.raises(ValueError, match=r"distinct column names; \['age'\]"):
        ClassifierRatio().fit(twice, twice)
    with pytest.raises(ValueError, match="lacks"):
        ClassifierRatio().fit(source, target.drop(columns="city"))
    with pytest.raises(ValueError, match="must be of one kind"):
        ClassifierRatio().fit(source, target.to_numpy(dtype=object))
    with pytest.raises(ValueError, match="must be numeric"):
        ClassifierRatio(standardize=True).fit(source, target)


def test_separation_is_the_area_under_the_curve(rng):
    same = ClassifierRatio().fit(*shifted(rng, 500, 500, shift=0.0)).separation_
    apart = ClassifierRatio().fit(*shifted(rng, 500, 500, shift=2.0)).separation_
    assert same == pytest.approx(0.5, abs=0.06)
    # As many features as rows separate any two samples, but no rows that are held out.
    wide = ClassifierRatio().fit(*shifted(rng, 20, 25, n_features=60, shift=0.0))
    assert wide.separation_ < 0.9
    assert apart == pytest.approx(norm.cdf(2 / np.sqrt(2)), abs=0.03)
