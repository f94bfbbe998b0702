"""Rows in chunks give the numbers of rows in memory, whatever the chunks."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import counterpoise as cp
from counterpoise.ridge import ParquetChunks, RowFolds

ALPHAS = np.logspace(-3, 5, 12)
N, D = 1500, 3
# A second pass is made where the first does not keep all rows.
FEW = {"weight_rows": 200}
KERNEL = cp.weights.ULSIF(width=1.0, regularization=0.1, n_centers=20, standardize=True)

# A shifted problem far from zero, sorted by a feature: the first chunk is like no other.
RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 1.0, size=(N, D)) * [1.0, 10.0, 0.1]
X = X[np.argsort(X[:, 0])]
y = X[:, 0] + 0.1 * X[:, 1] + RNG.normal(size=N) + 50.0
labels = np.array(["no", "some", "all"])[np.digitize(X[:, 0] + RNG.normal(size=N), [2.0, 4.0])]
X_target = RNG.normal(3.3, 1.1, size=(700, D)) * [1.0, 10.0, 0.1]
weights = RNG.exponential(size=N)

pytestmark = pytest.mark.usefixtures("many")


def cut(X, y, size):
    """Chunks of about that many rows, one of them empty."""
    edges = [0, 1, *range(size, len(X), size), len(X)]
    edges.insert(1, edges[1])
    return [(X[a:b], y[a:b]) for a, b in pairwise(edges)]


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
def test_chunks_give_the_numbers_of_memory(same_fit, options):
    model = cp.ShiftRidgeCV(ALPHAS, **{"weights": weights, **options})
    want = clone(model).fit(X, y)
    for size in (170, 900, N):
        same_fit(clone(model).fit_chunks(cut(X, y, size), **FEW), want)
    # All rows are kept, and take the same way as in memory.
    got = clone(model).fit_chunks(cut(X, y, 170))
    same_fit(got, want)
    np.testing.assert_array_equal(got.weights_, want.weights_)


@pytest.mark.parametrize("options", [{}, {"cv": StratifiedKFold(3)}, {"cv": KFold(4)}], ids=str)
@pytest.mark.parametrize("kind", ["text", "two"])
def test_a_classifier_in_chunks_gives_the_numbers_of_memory(same_fit, options, kind):
    # The classes first appear in an order that is not sorted.
    own = labels if kind == "text" else labels == "all"
    model = cp.ShiftRidgeClassifierCV(ALPHAS, weights=weights, **options)
    want = clone(model).fit(X, own)
    for size in (170, 900):
        got = clone(model).fit_chunks(cut(X, own, size), **FEW)
        same_fit(got, want)
        np.testing.assert_array_equal(got.classes_, want.classes_)
    np.testing.assert_array_equal(got.predict(X_target), want.predict(X_target))


@pytest.mark.parametrize("weights", ["gaussian", KERNEL], ids=str)
def test_weights_are_fitted_to_the_same_sample_whatever_the_chunks(same_fit, weights):
    model = cp.ShiftRidgeCV(ALPHAS, weights=weights)
    targets = [X_target, lambda: iter(np.array_split(X_target, 5)), X_target.tolist()]
    fits = [
        clone(model).fit_chunks(cut(X, y, size), X_target=target, weight_rows=300)
        for size, target in zip((170, 900, 400), targets, strict=True)
    ]
    for other in fits[1:]:
        same_fit(fits[0], other)
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
def test_the_weights_of_few_rows_are_those_of_memory(weights):
    model = cp.ShiftRidgeCV(ALPHAS, weights=weights)
    want = clone(model).fit(X, y, X_target=X_target)
    got = clone(model).fit_chunks(cut(X, y, 400), X_target=np.array_split(X_target, 3))
    assert type(got.weight_estimator_) is type(want.weight_estimator_)
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=1e-6)
    np.testing.assert_allclose(got.risk_curve_.interval(), want.risk_curve_.interval(), rtol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_threads_changes_no_bit(n_jobs):
    fit = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks
    want = pickle.dumps(vars(fit(cut(X, y, 100), n_jobs=3, **FEW)))
    assert pickle.dumps(vars(fit(cut(X, y, 100), n_jobs=n_jobs, **FEW))) == want


def test_fewer_rows_than_features_take_the_dual(same_fit):
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=(30, 41)), rng.normal(size=30), rng.exponential(size=30)
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    same_fit(cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(cut(X, y, 7)), want)


def test_single_precision_is_promoted_for_several_outputs(same_fit):
    single, Y = X.astype(np.float32), np.column_stack([y, X[:, 1] - y])
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(single.astype(float), Y)
    mixed = [(a.astype("fd"[i % 2]), b) for i, (a, b) in enumerate(cut(single, Y, 400))]
    same_fit(cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(mixed, **FEW), want)


@pytest.fixture
def files(pd, tmp_path):
    """The rows in three Parquet files of several row groups."""
    pytest.importorskip("pyarrow", reason="Parquet needs the cli extra")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, label=labels)
    for i, part in enumerate(np.split(np.arange(N), [200, 900])):
        table.iloc[part].to_parquet(tmp_path / f"part{i}.parquet", row_group_size=150)
    return tmp_path


def test_parquet_files(same_fit, files):
    chunks = ParquetChunks(files, label="y", columns=["a", "b", "c"], rows=100)
    assert chunks.n_rows == N
    assert max(len(part) for part, _ in chunks) == 100
    np.testing.assert_array_equal(np.concatenate([part for part, _ in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([part for _, part in chunks]), y)
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")  # fitted to the same sample of rows
    rows = [chunks, cut(X, y, 400)]
    same_fit(*(clone(model).fit_chunks(form, X_target=X_target, **FEW) for form in rows))
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    for rows in (100, 333, 10_000):
        chunks = ParquetChunks(sorted(files.iterdir()), label="y", columns=list("abc"), rows=rows)
        got = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(chunks, **FEW)
        same_fit(got, want)
    assert got.feature_names_in_.tolist() == ["a", "b", "c"]
    several = ParquetChunks(files / "part0.parquet", label=["y", "c"], columns=["b"])
    np.testing.assert_array_equal(next(iter(several))[1], np.column_stack([y, X[:, 2]])[:200])
    assert next(iter(ParquetChunks(files, columns=["a"])))[1] is None
    named = ParquetChunks(files, label="label", columns=["a", "b", "c"])
    model = cp.ShiftRidgeClassifierCV(ALPHAS, weights=weights)
    want = clone(model).fit(X, labels)
    same_fit(model.fit_chunks(named, **FEW), want)


def test_data_frames_in_chunks_keep_their_names(same_fit, pd):
    frames = [(pd.DataFrame(a, columns=list("abc")), pd.Series(b)) for a, b in cut(X, y, 400)]
    nullable = [(frame.convert_dtypes(), b) for frame, b in frames]
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    for chunks in (frames, nullable):
        got = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(chunks, **FEW)
        same_fit(got, want)
        assert got.feature_names_in_.tolist() == list("abc")
    assert np.isfinite(got.predict(pd.DataFrame(X_target, columns=list("abc")))).all()
    again = got.fit_chunks(cut(X, y, 400), **FEW)
    assert not hasattr(again, "feature_names_in_")
