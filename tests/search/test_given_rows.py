"""Weights, labels and per-row parameters in the forms in which users have them."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp

pd = pytest.importorskip("pandas", reason="series need the cli extra")

ALPHAS = [0.1, 10.0]
RNG = np.random.default_rng(20190601)
X, Z = RNG.normal(size=(60, 2)), RNG.normal(0.3, 1, size=(80, 2))
w = RNG.random(60) + 0.2
w, y = w / w.mean(), X[:, 0] + RNG.normal(size=60)


def forms(values):
    """The same numbers, as a list, and as a series whose index says another order."""
    yield values.tolist()
    yield tuple(values)
    yield pd.Series(values, index=np.arange(len(values))[::-1])
    pl = pytest.importorskip("polars")
    yield pl.Series(values)


def test_weights_may_be_a_series():
    entries = [
        lambda w: cp.ShiftGridSearchCV(Ridge(), {"alpha": ALPHAS}, weights=w).fit(X, y).best_risk_,
        lambda w: cp.ShiftRidgeCV(weights=w).fit(X, y).best_risk_,
        lambda w: cp.cross_val_risk(Ridge(), X, y, weights=w),
        lambda w: cp.target_risk(y**2, w),
    ]
    for entry in entries:
        want = entry(w).value
        assert [entry(own).value for own in forms(w)] == [want] * 4
    want = cp.diagnose(X, Z, weights=w).n_effective
    assert [cp.diagnose(X, Z, weights=own).n_effective for own in forms(w)] == [want] * 4
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": ALPHAS}, weights=pd.Series(w)).fit(X, y)
    assert "alpha" in search._repr_html_()


@pytest.mark.parametrize("step", [False, True], ids=["estimator", "pipeline"])
def test_per_row_fit_parameters_are_cut_by_position_in_every_form(step):
    estimator = make_pipeline(StandardScaler(), Ridge()) if step else Ridge()
    prefix = "ridge__" if step else ""
    rows = np.arange(60) % 7 + w  # weights of the rows, no two alike

    def risks(values):
        search = cp.ShiftGridSearchCV(estimator, {f"{prefix}alpha": ALPHAS})
        search.fit(X, y, X_target=Z, **{f"{prefix}sample_weight": values})
        return search.held_out_.losses

    want = risks(rows)
    model, loop = clone(estimator).set_params(**{f"{prefix}alpha": ALPHAS[0]}), []
    for train, test in KFold(5).split(X):
        model.fit(X[train], y[train], **{f"{prefix}sample_weight": rows[train]})
        loop.append((model.predict(X[test]) - y[test]) ** 2)
    np.testing.assert_allclose(want[0], np.concatenate(loop))
    plain = cp.ShiftGridSearchCV(estimator, {f"{prefix}alpha": ALPHAS}).fit(X, y, X_target=Z)
    assert np.abs(want - plain.held_out_.losses).max() > 1e-3
    for values in forms(rows):
        np.testing.assert_allclose(risks(values), want)


class Recorder(RegressorMixin, BaseEstimator):
    """Keeps what its fit was given; fails unless every row meets its own first feature."""

    seen = []  # noqa: RUF012

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y, own=None, tag=None, names=None, table=None):
        np.testing.assert_array_equal(own, X[:, 0])
        self.seen.append((len(X), tag, names, table))
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_parameters_of_rows_go_with_their_rows_and_others_are_passed_on_as_they_are():
    text, table = "x" * 60, {i: i for i in range(60)}
    Recorder.seen.clear()
    search = cp.ShiftGridSearchCV(Recorder(), {"alpha": [1.0]}, weights=None, cv=2)
    search.fit(X, y, own=X[:, 0].tolist(), tag=text, names=["a", "b"], table=table)
    assert [(n, tag == text, names, own == table) for n, tag, names, own in Recorder.seen] == [
        (30, True, ["a", "b"], True),
        (30, True, ["a", "b"], True),
        (60, True, ["a", "b"], True),
    ]


def test_sample_weights_of_a_pipeline_are_not_discarded():
    """They were replaced by the importance weights, without a word."""
    pipeline = make_pipeline(StandardScaler(), Ridge())
    search = cp.ShiftGridSearchCV(pipeline, {"ridge__alpha": ALPHAS}, fit_weighted=True)
    with pytest.raises(ValueError, match=r"`ridge__sample_weight` was passed to fit.*False"):
        search.fit(X, y, X_target=Z, ridge__sample_weight=w)


@pytest.mark.parametrize("shape", [(80,), (1, 80, 2), ()])
def test_a_target_that_is_no_table_is_named(shape):
    Z = np.zeros(shape)
    entries = [
        lambda: cp.ShiftGridSearchCV(Ridge(), {"alpha": ALPHAS}).fit(X, y, X_target=Z),
        lambda: cp.ShiftRidgeCV().fit(X, y, X_target=Z),
        lambda: cp.cross_val_risk(Ridge(), X, y, Z),
        lambda: cp.diagnose(X, Z),
    ]
    for entry in entries:
        with pytest.raises(ValueError, match=r"`X_target` must be a .*2-D array.*Reshape"):
            entry()


def test_labels_of_several_kinds_are_named():
    classes = np.where(y > 0, 1, 2).astype(object)
    classes[3] = "no"
    missing = np.where(y > 0, "a", "b").astype(object)
    missing[5] = None
    gap = ["a" if value > 0 else "b" for value in y]
    gap[7] = float("nan")
    entries = [
        lambda y: cp.ShiftGridSearchCV(LogisticRegression(), {"C": [1.0]}).fit(X, y, X_target=Z),
        lambda y: cp.cross_val_risk(LogisticRegression(), X, y, Z),
        lambda y: cp.ShiftRidgeClassifierCV().fit(X, y, X_target=Z),
        lambda y: cp.ShiftRidgeCV().fit(X, y, X_target=Z),
    ]
    for entry in entries:
        for mixed in (classes, classes.tolist(), pd.Series(classes)):
            with pytest.raises(ValueError, match=r"got the number .* and the text 'no'"):
                entry(mixed)
        for lacking in (missing, gap, pd.Series(gap)):
            with pytest.raises(ValueError, match="must have a label in every row; 1 of 60"):
                entry(lacking)
    with pytest.raises(ValueError, match="must hold numbers for a regression; got the text 'a'"):
        cp.ShiftRidgeCV().fit(X, np.where(y > 0, "a", "b"), X_target=Z)
