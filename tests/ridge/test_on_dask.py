"""Dask arrays and data frames give the numbers of memory, on every scheduler."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone

import counterpoise as cp
from counterpoise.ridge import RowFolds, estimators

pd = pytest.importorskip("pandas", reason="needs the dask extra")
dask = pytest.importorskip("dask", reason="needs the dask extra")
distributed = pytest.importorskip("distributed", reason="needs the dask extra")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

ALPHAS = np.logspace(-3, 5, 12)
N, NAMES = 900, ["a", "b", "c"]
RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 1.0, size=(N, 3))
Y = X[:, 0] + RNG.normal(size=N) + 20.0
LABELS = np.array(["x", "y", "z"])[np.digitize(X[:, 0] + RNG.normal(size=N), [2.5, 3.5])]
TARGET = RNG.normal(3.2, 1.1, size=(500, 3))
WEIGHTS = RNG.exponential(size=N)


@pytest.fixture(params=["all rows", "a sample"])
def kept(request, monkeypatch, many):
    """Whether the first pass keeps all rows, which then are in memory."""
    if request.param == "a sample":
        monkeypatch.setattr(estimators, "_WEIGHT_ROWS", 150)
    return request.param


@pytest.fixture(autouse=True)
def in_this_thread():
    """The simplest scheduler, unless a test chooses another."""
    with dask.config.set(scheduler="synchronous"):
        yield


def array(values, rows):
    return da.from_array(values, chunks=(rows, 2) if values.ndim == 2 else rows)


def frame(values, partitions):
    table = pd.Series(values) if values.ndim == 1 else pd.DataFrame(values, columns=NAMES)
    return dd.from_pandas(table, npartitions=partitions, sort=False)


OPTIONS = [{}, {"cv": RowFolds(3)}, {"weights": None}, {"method": "normalized"}]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("kind", "y"), [(cp.ShiftRidgeCV, Y), (cp.ShiftRidgeClassifierCV, LABELS)])
def test_collections_give_the_numbers_of_memory(same_fit, kind, y, options):
    model = kind(ALPHAS, **{"weights": WEIGHTS, **options})
    want = clone(model).fit(X, y)
    # Cut in columns too, and rows of labels cut elsewhere.
    same_fit(clone(model).fit(array(X, 130), array(y, 400)), want)
    got = clone(model).fit(frame(X, 4), frame(y, 4))
    same_fit(got, want)
    assert got.feature_names_in_.tolist() == NAMES
    if kind is cp.ShiftRidgeClassifierCV:
        assert got.classes_.tolist() == ["x", "y", "z"]
        assert got.score(pd.DataFrame(X, columns=NAMES), y) == want.score(X, y)


def test_fitted_weights_are_those_of_chunks(same_fit, kept):
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")
    rows = 150 if kept == "a sample" else 10_000
    want = clone(model).fit_chunks([(X, Y)], X_target=TARGET, weight_rows=rows)
    for target in (TARGET, array(TARGET, 90), frame(TARGET, 3)):
        same_fit(clone(model).fit(array(X, 130), array(Y, 400), X_target=target), want)
    same_fit(clone(model).fit(X, Y, X_target=array(TARGET, 100)), want)


@pytest.mark.usefixtures("kept")
def test_weights_and_what_is_in_memory_may_be_mixed(same_fit):
    want = cp.ShiftRidgeCV(ALPHAS, weights=WEIGHTS).fit(X, Y)
    model = cp.ShiftRidgeCV(ALPHAS, weights=array(WEIGHTS, 250))
    for features, labels in ((array(X, 130), Y), (X, array(Y, 130)), (X, Y)):
        same_fit(model.fit(features, labels), want)


@pytest.mark.usefixtures("kept")
def test_lengths_may_be_unknown_and_partitions_empty(same_fit):
    whole = frame(np.column_stack([X[:, :2], Y]), 5)
    whole = whole[whole["a"] > 3.0]
    half = X[:, 0] > 3.0
    model = cp.ShiftRidgeCV(ALPHAS, weights=None)
    want = clone(model).fit(X[half, :2], Y[half])
    features = whole[["a", "b"]]
    same_fit(clone(model).fit(features, whole["c"]), want)
    arrays = features.to_dask_array(), whole["c"].to_dask_array()
    same_fit(clone(model).fit(*arrays), want)
    ranked = frame(X[np.argsort(-X[:, 0])], 6)
    few = ranked["a"] > 3.5  # nothing is left of the last partitions
    want = clone(model).fit(*(a.compute().to_numpy() for a in (ranked[few], ranked["b"][few])))
    got = clone(model).fit(ranked[few], ranked["b"][few])
    np.testing.assert_allclose(got.risk_curve_.value, want.risk_curve_.value, atol=1e-12)


def test_schedulers_agree_and_processes_may_die(monkeypatch, cluster, tmp_path):
    monkeypatch.setattr(estimators, "_WEIGHT_ROWS", 150)
    marker = tmp_path / "died"

    def dies_once(block):
        if not marker.exists() and len(block) and distributed.get_worker():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    def fit(features):
        model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")
        return model.fit(features, array(Y, 60), X_target=array(TARGET, 60))

    lazy = array(X, 60).rechunk((60, 3))
    steady = fit(lazy)
    with dask.config.set(scheduler="threads"):
        again = fit(lazy)
    numbers = [pickle.dumps([model.risk_curve_, model.coef_]) for model in (steady, again)]
    assert numbers[0] == numbers[1]
    with dask.config.set(scheduler="distributed"), distributed.Client(cluster):
        survivor = fit(lazy.map_blocks(dies_once, dtype=float, meta=np.empty((0, 0))))
    assert marker.exists()
    np.testing.assert_allclose(survivor.risk_curve_.value, steady.risk_curve_.value, rtol=1e-12)
    np.testing.assert_allclose(survivor.coef_, steady.coef_, rtol=1e-11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: (array(X, 100), array(Y[:-1], 100)), "`y` must have one entry.*shape .899"),
        (
            lambda: (array(np.where(X > 6, np.nan, X), 100), array(Y, 100)),
            r"partition \d: `X` must be finite",
        ),
        (lambda: (array(X.astype(str), 100), array(Y, 100)), "`X` must be numeric on Dask"),
        (lambda: (array(X[:, 0], 100), array(Y, 100)), r"partition \d: `X` must be a 2-D array"),
        (lambda: (array(X[:, :2], 100), array(Y, 100)), "`X_target` must have 2 features"),
    ],
)
def test_bad_collections_are_named(make, message):
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")
    with pytest.raises(ValueError, match=message):
        model.fit(*make(), X_target=TARGET)
    assert not hasattr(model, "coef_")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's reader, with a new pandas
def test_parquet_files_that_dask_would_read_together(same_fit, tmp_path):
    """Dask's optimiser makes fewer partitions of one column than of many."""
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    table = pd.DataFrame(X, columns=NAMES).assign(label=Y)
    for i, rows in enumerate(np.array_split(np.arange(N), 8)):
        table.iloc[rows].to_parquet(tmp_path / f"part{i}.parquet", index=False)
    files = dd.read_parquet(tmp_path)
    assert len(files["label"].to_delayed()) != len(files[NAMES].to_delayed())
    got = cp.ShiftRidgeCV(ALPHAS, weights=None).fit(files[NAMES], files["label"])
    same_fit(got, cp.ShiftRidgeCV(ALPHAS, weights=None).fit(X, Y))
