"""Rows in chunks give the numbers of rows in memory, whatever the chunks."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import counterpoise as cp
from counterpoise.ridge import ParquetChunks, RowFolds
from counterpoise.ridge.first_pass import look_at
from counterpoise.ridge.stream import as_stream

ALPHAS = np.logspace(-3, 5, 12)
N, D = 1500, 3
# A second pass is made where the first does not keep all rows.
FEW = {"weight_rows": 200}
KERNEL = cp.weights.ULSIF(width=1.0, regularization=0.1, n_centers=20, standardize=True)
NUMBERS = ("value", "standard_error", "drift", "degrees_of_freedom", "n_effective", "beta")

pytestmark = pytest.mark.usefixtures("many")


@pytest.fixture(scope="module")
def data():
    """A shifted problem far from zero, sorted by a feature: the first chunk is like no other."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 1.0, size=(N, D)) * [1.0, 10.0, 0.1]
    X = X[np.argsort(X[:, 0])]
    y = X[:, 0] + 0.1 * X[:, 1] + rng.normal(size=N) + 50.0
    classes = np.digitize(X[:, 0] + rng.normal(size=N), [2.0, 4.0])
    X_target = rng.normal(3.3, 1.1, size=(700, D)) * [1.0, 10.0, 0.1]
    return X, y, np.array(["no", "some", "all"])[classes], X_target, rng.exponential(size=N)


def cut(X, y, size):
    """Chunks of about that many rows, one of them empty."""
    edges = [0, 1, *range(size, len(X), size), len(X)]
    edges.insert(1, edges[1])
    return [(X[a:b], y[a:b]) for a, b in pairwise(edges)]


def assert_same(got, want, rtol=1e-8):
    assert got.alpha_ == want.alpha_
    assert got.risk_curve_.method == want.risk_curve_.method
    for name in NUMBERS:
        a, b = (getattr(model.risk_curve_, name) for model in (got, want))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12, err_msg=name)
    intervals = [model.risk_curve_.interval() for model in (got, want)]
    np.testing.assert_allclose(*intervals, rtol=rtol)
    reductions = [model.risk_curve_.variance_reduction for model in (got, want)]
    np.testing.assert_allclose(*reductions, atol=rtol * (1 + np.max(np.abs(reductions))))
    np.testing.assert_allclose(got.fold_betas_, want.fold_betas_, rtol=rtol, atol=1e-12)
    for name in ("coef_", "intercept_"):
        a, b = getattr(got, name), getattr(want, name)
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, err_msg=name)
    assert got.n_features_in_ == want.n_features_in_


OPTIONS = [
    {},
    {"weights": None},
    {"cv": RowFolds(4, random_state=3)},
    {"cv": KFold(3)},
    {"method": "truncated"},
    {"method": cp.risk.Truncated(cap=1.5)},
    {"method": "source"},
    {"method": "weighted"},
    {"method": cp.risk.Controlled(center="sample")},
    {"method": "normalized", "penalize_intercept": True},
    {"fit_intercept": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_chunks_give_the_numbers_of_memory(data, options):
    X, y, _, _, weights = data
    model = cp.ShiftRidgeCV(ALPHAS, **{"weights": weights, **options})
    want = clone(model).fit(X, y)
    for size in (170, 900, N):
        assert_same(clone(model).fit_chunks(cut(X, y, size), **FEW), want)
    # All rows are kept, and take the same way as in memory.
    got = clone(model).fit_chunks(cut(X, y, 170))
    assert_same(got, want)
    np.testing.assert_array_equal(got.weights_, want.weights_)


@pytest.mark.parametrize("options", [{}, {"cv": StratifiedKFold(3)}, {"cv": KFold(4)}], ids=str)
@pytest.mark.parametrize("kind", ["text", "two"])
def test_a_classifier_in_chunks_gives_the_numbers_of_memory(data, options, kind):
    X, _, labels, X_target, weights = data
    # The classes first appear in an order that is not sorted.
    labels = labels if kind == "text" else labels == "all"
    model = cp.ShiftRidgeClassifierCV(ALPHAS, weights=weights, **options)
    want = clone(model).fit(X, labels)
    for size in (170, 900):
        got = clone(model).fit_chunks(cut(X, labels, size), **FEW)
        assert_same(got, want)
        np.testing.assert_array_equal(got.classes_, want.classes_)
    np.testing.assert_array_equal(got.predict(X_target), want.predict(X_target))


def test_several_outputs(data):
    X, y, _, _, weights = data
    Y = np.column_stack([y, X[:, 1] - y])
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, Y)
    got = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(cut(X, Y, 400), **FEW)
    assert_same(got, want)
    assert got.coef_.shape == (2, D)


@pytest.mark.parametrize("weights", ["gaussian", KERNEL], ids=str)
def test_weights_are_fitted_to_the_same_sample_whatever_the_chunks(data, weights):
    X, y, _, X_target, _ = data
    model = cp.ShiftRidgeCV(ALPHAS, weights=weights)
    targets = [X_target, lambda: iter(np.array_split(X_target, 5)), X_target.tolist()]
    fits = [
        clone(model).fit_chunks(cut(X, y, size), X_target=target, weight_rows=300)
        for size, target in zip((170, 900, 400), targets, strict=True)
    ]
    for other in fits[1:]:
        assert_same(fits[0], other)
    estimator = fits[0].weight_estimator_
    assert len(estimator.weights_) == 300
    assert fits[0].weights_ is None
    want = cp.ShiftRidgeCV(ALPHAS, weights=estimator.predict(X)).fit(X, y)
    for name in ("value", "beta", "drift", "n_effective"):
        a, b = (getattr(one.risk_curve_, name) for one in (fits[0], want))
        np.testing.assert_allclose(a, b, rtol=1e-8)
    # Only fitted weights know the target rows and their tail.
    assert np.all(fits[0].risk_curve_.standard_error > want.risk_curve_.standard_error)


@pytest.mark.parametrize("weights", ["auto", "gaussian"])
def test_the_weights_of_few_rows_are_those_of_memory(data, weights):
    X, y, _, X_target, _ = data
    model = cp.ShiftRidgeCV(ALPHAS, weights=weights)
    want = clone(model).fit(X, y, X_target=X_target)
    got = clone(model).fit_chunks(cut(X, y, 400), X_target=np.array_split(X_target, 3))
    assert type(got.weight_estimator_) is type(want.weight_estimator_)
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=1e-6)
    np.testing.assert_allclose(got.risk_curve_.interval(), want.risk_curve_.interval(), rtol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_threads_changes_no_bit(data, n_jobs):
    X, y, _, _, weights = data
    fit = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks
    want = pickle.dumps(vars(fit(cut(X, y, 100), n_jobs=3, **FEW)))
    assert pickle.dumps(vars(fit(cut(X, y, 100), n_jobs=n_jobs, **FEW))) == want


def test_fewer_rows_than_features_take_the_dual():
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=(30, 41)), rng.normal(size=30), rng.exponential(size=30)
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    assert_same(cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(cut(X, y, 7)), want)


def test_single_precision_is_promoted(data):
    X, y, _, _, weights = data
    X = X.astype(np.float32)
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X.astype(float), y)
    mixed = [(a.astype("fd"[i % 2]), b) for i, (a, b) in enumerate(cut(X, y, 400))]
    assert_same(cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(mixed, **FEW), want)


@pytest.fixture
def files(pd, tmp_path, data):
    """The rows in three Parquet files of several row groups."""
    pytest.importorskip("pyarrow", reason="Parquet needs the cli extra")
    X, y, labels, *_ = data
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, label=labels)
    for i, part in enumerate(np.split(np.arange(N), [200, 900])):
        table.iloc[part].to_parquet(tmp_path / f"part{i}.parquet", row_group_size=150)
    return tmp_path


def test_parquet_files(data, files):
    X, y, labels, _, weights = data
    chunks = ParquetChunks(files, label="y", columns=["a", "b", "c"], rows=100)
    assert chunks.n_rows == N
    assert max(len(part) for part, _ in chunks) == 100
    np.testing.assert_array_equal(np.concatenate([part for part, _ in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([part for _, part in chunks]), y)
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    for rows in (100, 333, 10_000):
        chunks = ParquetChunks(sorted(files.iterdir()), label="y", columns=list("abc"), rows=rows)
        got = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(chunks, **FEW)
        assert_same(got, want)
    assert got.feature_names_in_.tolist() == ["a", "b", "c"]
    named = ParquetChunks(files, label="label", columns=["a", "b", "c"])
    model = cp.ShiftRidgeClassifierCV(ALPHAS, weights=weights)
    want = clone(model).fit(X, labels)
    assert_same(model.fit_chunks(named, **FEW), want)


def test_parquet_columns_and_outputs(data, files):
    chunks = ParquetChunks(files / "part0.parquet", label=["y", "c"], columns=["b"])
    X, Y = next(iter(chunks))
    assert X.shape == (200, 1)
    np.testing.assert_array_equal(Y[:, 1], data[0][:200, 2])
    target = ParquetChunks(files, columns=["a", "b", "c"])
    assert next(iter(target))[1] is None


def test_data_frames_in_chunks_keep_their_names(pd, data):
    X, y, _, X_target, weights = data
    frames = [(pd.DataFrame(a, columns=list("abc")), pd.Series(b)) for a, b in cut(X, y, 400)]
    nullable = [(frame.convert_dtypes(), b) for frame, b in frames]
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    for chunks in (frames, nullable):
        got = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(chunks, **FEW)
        assert_same(got, want)
        assert got.feature_names_in_.tolist() == list("abc")
    assert np.isfinite(got.predict(pd.DataFrame(X_target, columns=list("abc")))).all()
    again = got.fit_chunks(cut(X, y, 400), **FEW)
    assert not hasattr(again, "feature_names_in_")


def test_the_first_pass_keeps_a_sample_and_counts_all_rows(data):
    X, _, labels, *_ = data
    overview = look_at(as_stream(cut(X, labels, 170), "chunks"), 300, labels="classes")
    assert overview.count == N
    rows = overview.sample.rows
    assert len(rows) == 300
    np.testing.assert_array_equal(overview.features, X[rows])
    np.testing.assert_array_equal(overview.sample.columns[1], labels[rows])
    counts = sum(overview.tasks, type(overview.tasks[0])())
    assert counts == {label: np.sum(labels == label) for label in np.unique(labels)}
    # In the order of appearance, which stratified folds go by.
    assert list(counts) == list(dict.fromkeys(labels.tolist()))
