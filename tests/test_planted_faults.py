"""Faults that were planted into the code and that no test noticed: each test notices one."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise._pareto import fit_generalized_pareto, tail_size
from counterpoise.diagnostics import pareto_k
from counterpoise.encoding.rows import some_rows
from counterpoise.ridge.folds import RowSample
from counterpoise.risk import Domains, DoublyRobust, HeldOut, adjustments
from counterpoise.risk.estimation import prepare_rows


class Recorder(RegressorMixin, BaseEstimator):
    """Fails unless every row meets its own parameter, which is its first feature."""

    def fit(self, X, y, own=None, sample_weight=None):
        np.testing.assert_array_equal(np.asarray(own), X[:, 0])
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("form", [np.asarray, list, tuple])
def test_parameters_of_rows_go_with_their_rows(form):
    # search/fitting: the first rows of the parameter instead of the training rows.
    X = np.arange(30.0).reshape(15, 2)
    search = cp.ShiftGridSearchCV(Recorder(), {}, weights=np.ones(15), cv=3)
    search.fit(X, X[:, 1], own=form(X[:, 0]))
    assert np.isfinite(search.best_risk_.value)


def test_folds_count_by_size_in_the_mean_over_the_target():
    # risk/adjustments: the same share for every fold.
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 1)), rng.normal(1, 1, size=(40, 1))
    losses = 3 * X[:, 0] + rng.normal(size=60)
    losses[:10] += 50  # the first fold is small, and its own model is the odd one out
    places = [np.arange(10), np.arange(10, 30), np.arange(30, 60)]
    held_out = HeldOut(losses, np.ones(60), Folds(places), Domains(X, Z))
    direct = float(prepare_rows(held_out, DoublyRobust(LinearRegression())).direct)
    models = []
    for fold in places:
        rest = np.setdiff1d(np.arange(60), fold)
        models.append(LinearRegression().fit(X[rest], losses[rest]))
    means = [model.predict(Z).mean() for model in models]
    want = np.average(means, weights=[10, 20, 30])
    assert direct == pytest.approx(want)
    assert abs(np.mean(means) - want) > 1
    coefficients = np.asarray([[[[m.intercept_], m.coef_]] for m in models])
    assert adjustments._linear(np_xp, X[None], Z, coefficients, places)[1] == pytest.approx(want)


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_the_threshold_of_a_tail_is_the_largest_value_below_it(n):
    # diagnostics/tail: a threshold one place too low or too high.
    values = np.random.default_rng(n).pareto(1.5, size=n)
    size, ranked = tail_size(n), np.sort(values)
    exceedances = ranked[n - size :] - ranked[n - size - 1]
    assert len(exceedances) == size
    want, _ = fit_generalized_pareto(np_xp, exceedances)
    assert pareto_k(values) == float(want)


def test_some_rows_are_random_rows():
    # jobs: the first rows instead of random ones.
    rows = some_rows(10_000, 100, np.random.default_rng(0))
    assert len(set(rows.tolist())) == 100
    assert np.all(np.diff(rows) > 0)
    assert 4000 < np.mean(rows) < 6000
    again = RowSample.of(100, np.arange(10_000)).rows
    assert len(set(again.tolist())) == 100
    assert 4000 < np.mean(again) < 6000
    assert some_rows(5, 5, np.random.default_rng(0)) == slice(None)


def test_losses_of_a_selection_are_those_of_their_rows(tmp_path):
    # jobs/select: losses in the order of the folds.
    pd = pytest.importorskip("pandas", reason="jobs need the cli extra")
    pytest.importorskip("pyarrow", reason="jobs need the cli extra")

    rng = np.random.default_rng(0)
    for name, n, shift in (("source", 120, 0.0), ("target", 150, 0.5)):
        x = rng.normal(shift, 1, n)
        # Squared losses grow with the row, whatever the model: noise does.
        noise = np.linspace(0, 10, n) * np.where(np.arange(n) % 2, 1, -1)
        pd.DataFrame({"x": x, "y": x + noise}).to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "source.csv", tmp_path / "target.csv"
    answer = cp.select(*files, label="y", model="ridge", params=["alpha=1"], deliver="one")
    losses = answer.diagnostics.losses
    assert np.corrcoef(losses, np.arange(120) ** 2)[0, 1] > 0.9
