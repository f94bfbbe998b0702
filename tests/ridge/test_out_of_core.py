"""Rows in chunks give the numbers of rows in memory, whatever the chunks."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import counterpoise as cp
from counterpoise.ridge import ParquetChunks, RowFolds, cross_validation, stream_weights
from counterpoise.ridge.first_pass import look_at
from counterpoise.ridge.stream import as_stream

ALPHAS = np.logspace(-3, 5, 12)
N, D = 1500, 3
# An estimator other than the Gaussian one, quick to fit.
KERNEL = cp.weights.ULSIF(width=1.0, regularization=0.1, n_centers=20, standardize=True)


@pytest.fixture(params=["rows", "statistics"])
def route(request, monkeypatch):
    """Few rows are gathered and judged one by one; many are summed in blocks."""
    if request.param == "statistics":
        monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    return request.param


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


def assert_same(got, want, rtol=1e-8, tail=True):
    assert got.alpha_ == want.alpha_
    assert got.risk_curve_.method == want.risk_curve_.method
    for name in (
        "value",
        "standard_error",
        "beta",
        "n_effective",
        "degrees_of_freedom",
        "tail_error",
    ):
        if name in ("tail_error", "degrees_of_freedom") and not tail:
            continue
        a, b = (getattr(model.risk_curve_, name) for model in (got, want))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12, err_msg=name)
    scale = np.max(np.abs(want.risk_curve_.variance_reduction)) + 1
    np.testing.assert_allclose(
        got.risk_curve_.variance_reduction, want.risk_curve_.variance_reduction, atol=rtol * scale
    )
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
    {"method": "source", "aggregate": "pooled"},
    {"method": cp.risk.Controlled(center="sample"), "aggregate": "pooled"},
    {"method": "normalized", "penalize_intercept": True},
    {"fit_intercept": False},
    {"weights": cp.weights.GaussianRatio(regularization=0)},
    {"weights": cp.weights.GaussianRatio(normalize=True, standardize=True)},
    {"weights": cp.weights.GaussianRatio(regularization=0.3, standardize=True)},
    {"weights": KERNEL},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_chunks_give_the_numbers_of_memory(route, data, options):
    X, y, _, X_target, _ = data
    want = cp.ShiftRidgeCV(ALPHAS, **{"weights": "gaussian", **options}).fit(
        X, y, X_target=X_target
    )
    for size in (170, 900):
        got = cp.ShiftRidgeCV(ALPHAS, **{"weights": "gaussian", **options}).fit_chunks(
            cut(X, y, size), X_target=X_target
        )
        assert_same(got, want)
    np.testing.assert_allclose(got.predict(X_target), want.predict(X_target), rtol=1e-10)
    assert (got.weights_ is None) == (route == "statistics")


def test_chunks_have_the_tail_error_and_the_bootstrap_of_memory(route, data, monkeypatch):
    # Of more rows than are kept, the same rows are drawn.
    monkeypatch.setattr(cross_validation, "_SAMPLE_ROWS", (200, 200))
    monkeypatch.setattr(stream_weights, "TARGET_ROWS", 300)
    monkeypatch.setattr(cross_validation, "TARGET_ROWS", 300)
    X, y, labels, X_target, _ = data
    for kind, known in ((cp.ShiftRidgeCV, y), (cp.ShiftRidgeClassifierCV, labels)):
        model = kind(ALPHAS, weights="gaussian")
        want = clone(model).fit(X, known, X_target=X_target)
        got = model.fit_chunks(cut(X, known, 170), X_target=np.array_split(X_target, 5))
        assert_same(got, want)
        assert np.all(got.risk_curve_.tail_error > 0)
        a, b = (
            model.best_risk_.interval(kind="bootstrap", n_resamples=20) for model in (got, want)
        )
        np.testing.assert_allclose(a, b, rtol=1e-7)


@pytest.mark.usefixtures("route")
def test_given_weights_count_few_rows_even_if_losses_do_not_grow():
    """Nothing is known of the weights at target rows: there is no tail error to rely on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    weights = np.exp(X[:, 0] - 0.5)
    curve = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, rng.normal(size=300)).risk_curve_
    assert np.all(curve.tail_error == 0)
    assert np.all(curve.degrees_of_freedom < 0.5 * curve.n_effective)


def test_losses_that_grow_with_the_weights_count_few_rows_in_chunks_too(route, data):
    X, _, _, X_target, _ = data
    weights = cp.weights.GaussianRatio().fit(X, X_target).weights_
    place = np.log(weights) - np.mean(np.log(weights))
    y = np.exp(place / np.std(place)) * np.random.default_rng(0).normal(size=len(X))
    want = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit(X, y, X_target=X_target)
    got = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(cut(X, y, 170), X_target=X_target)
    assert_same(got, want)
    curve = want.risk_curve_
    assert np.all(curve.degrees_of_freedom < 0.5 * curve.n_effective)


@pytest.mark.parametrize("options", [{}, {"cv": StratifiedKFold(3)}, {"cv": KFold(4)}], ids=str)
def test_a_classifier_in_chunks_gives_the_numbers_of_memory(route, data, options):
    X, _, labels, X_target, _ = data
    # The classes first appear in an order that is not sorted.
    want = cp.ShiftRidgeClassifierCV(ALPHAS, **{"weights": "gaussian", **options}).fit(
        X, labels, X_target=X_target
    )
    for size in (170, 900):
        got = cp.ShiftRidgeClassifierCV(ALPHAS, **{"weights": "gaussian", **options})
        got.fit_chunks(cut(X, labels, size), X_target=X_target)
        assert_same(got, want)
        np.testing.assert_array_equal(got.classes_, want.classes_)
    np.testing.assert_array_equal(got.predict(X_target), want.predict(X_target))


def test_two_classes_and_several_outputs(route, data):
    X, y, labels, X_target, _ = data
    binary = labels == "all"
    want = cp.ShiftRidgeClassifierCV(ALPHAS, weights="gaussian").fit(X, binary, X_target=X_target)
    got = cp.ShiftRidgeClassifierCV(ALPHAS, weights="gaussian").fit_chunks(
        cut(X, binary, 400), X_target=X_target
    )
    assert_same(got, want)
    assert got.coef_.shape == (1, D)
    Y = np.column_stack([y, X[:, 1] - y])
    want = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit(X, Y, X_target=X_target)
    assert_same(
        cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(cut(X, Y, 400), X_target=X_target),
        want,
    )


def test_the_default_weights_of_few_rows_are_those_of_memory(route, data):
    X, y, _, X_target, _ = data
    want = cp.ShiftRidgeCV(ALPHAS).fit(X, y, X_target=X_target)
    got = cp.ShiftRidgeCV(ALPHAS).fit_chunks(cut(X, y, 400), X_target=X_target)
    assert type(got.weights_estimator_) is cp.weights.KMM
    np.testing.assert_allclose(got.risk_curve_.value, want.risk_curve_.value, rtol=1e-6)


def test_given_weights_go_by_row_number(route, data):
    X, y, _, _, weights = data
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    got = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(cut(X, y, 170))
    assert_same(got, want)


def test_a_fitted_estimator_is_used_as_it_is(route, data):
    X, y, _, X_target, _ = data
    ratio = clone(KERNEL).fit(X[::7], X_target)
    want = cp.ShiftRidgeCV(ALPHAS, weights=ratio.predict(X)).fit(X, y)
    got = cp.ShiftRidgeCV(ALPHAS, weights=ratio).fit_chunks(cut(X, y, 400))
    assert_same(got, want)


def test_other_estimators_are_fitted_to_the_same_sample_whatever_the_chunks(route, data):
    X, y, _, X_target, _ = data
    model = cp.ShiftRidgeCV(ALPHAS, weights=KERNEL)
    one, other = (
        clone(model).fit_chunks(
            cut(X, y, size), X_target=lambda: iter(np.array_split(X_target, 5)), weight_rows=300
        )
        for size in (170, 900)
    )
    assert_same(one, other)
    estimator = one.weights_estimator_
    want = cp.ShiftRidgeCV(ALPHAS, weights=estimator.predict(X)).fit(X, y)
    # Weights that are given have no tail error, and fewer degrees of freedom instead.
    assert_same(one, want, tail=False)
    assert np.all(one.risk_curve_.tail_error > 0)
    assert len(estimator.weights_) == 300


def test_the_target_may_come_in_chunks(route, data):
    X, y, _, X_target, _ = data
    want = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit(X, y, X_target=X_target)
    for target in (
        np.array_split(X_target, 3),
        lambda: iter(np.array_split(X_target, 9)),
        [(part, None) for part in np.array_split(X_target, 3)],
        X_target.tolist(),
    ):
        got = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(
            cut(X, y, 400), X_target=target
        )
        assert_same(got, want)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_threads_changes_no_bit(monkeypatch, data, n_jobs):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    X, y, _, X_target, _ = data
    fit = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks
    want = pickle.dumps(vars(fit(cut(X, y, 100), X_target=X_target, n_jobs=3)))
    assert pickle.dumps(vars(fit(cut(X, y, 100), X_target=X_target, n_jobs=n_jobs))) == want


def test_fewer_rows_than_features_take_the_dual(data):
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=(30, 41)), rng.normal(size=30), rng.exponential(size=30)
    want = cp.ShiftRidgeCV(ALPHAS, weights=weights).fit(X, y)
    assert_same(cp.ShiftRidgeCV(ALPHAS, weights=weights).fit_chunks(cut(X, y, 7)), want)


def test_single_precision_is_promoted(route, data):
    X, y, _, X_target, _ = data
    X = X.astype(np.float32)
    want = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit(X.astype(float), y, X_target=X_target)
    chunks = cut(X, y, 400)
    mixed = [(a.astype("fd"[i % 2]), b) for i, (a, b) in enumerate(chunks)]
    assert_same(
        cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(mixed, X_target=X_target), want
    )


@pytest.fixture
def files(pd, tmp_path, data):
    """The rows in three Parquet files of several row groups."""
    pytest.importorskip("pyarrow", reason="Parquet needs the cli extra")
    X, y, labels, *_ = data
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, label=labels)
    for i, part in enumerate(np.split(np.arange(N), [200, 900])):
        table.iloc[part].to_parquet(tmp_path / f"part{i}.parquet", row_group_size=150)
    return tmp_path


def test_parquet_files(route, data, files):
    X, y, labels, X_target, _ = data
    chunks = ParquetChunks(files, label="y", columns=["a", "b", "c"], rows=100)
    assert chunks.n_rows == N
    assert max(len(part) for part, _ in chunks) == 100
    np.testing.assert_array_equal(np.concatenate([part for part, _ in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([part for _, part in chunks]), y)
    want = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit(X, y, X_target=X_target)
    for rows in (100, 333, 10_000):
        chunks = ParquetChunks(sorted(files.iterdir()), label="y", columns=list("abc"), rows=rows)
        got = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(chunks, X_target=X_target)
        assert_same(got, want)
    assert got.feature_names_in_.tolist() == ["a", "b", "c"]
    named = ParquetChunks(files, label="label", columns=["a", "b", "c"])
    classifier = cp.ShiftRidgeClassifierCV(ALPHAS, weights="gaussian").fit_chunks(
        named, X_target=X_target
    )
    want = cp.ShiftRidgeClassifierCV(ALPHAS, weights="gaussian").fit(X, labels, X_target=X_target)
    assert_same(classifier, want)


def test_parquet_columns_and_outputs(data, files):
    chunks = ParquetChunks(files / "part0.parquet", label=["y", "c"], columns=["b"])
    X, Y = next(iter(chunks))
    assert X.shape == (200, 1)
    np.testing.assert_array_equal(Y[:, 1], data[0][:200, 2])
    assert "1 files, 200 rows, 1 columns" in repr(chunks)
    target = ParquetChunks(files, columns=["a", "b", "c"])
    assert next(iter(target))[1] is None


def test_data_frames_in_chunks_keep_their_names(pd, data):
    X, y, _, X_target, _ = data
    frames = [(pd.DataFrame(a, columns=list("abc")), pd.Series(b)) for a, b in cut(X, y, 400)]
    nullable = [(frame.convert_dtypes(), b) for frame, b in frames]
    want = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit(X, y, X_target=X_target)
    target = pd.DataFrame(X_target, columns=list("abc"))
    for chunks in (frames, nullable):
        got = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(chunks, X_target=target)
        assert_same(got, want)
        assert got.feature_names_in_.tolist() == list("abc")
    assert np.isfinite(got.predict(target)).all()
    again = got.fit_chunks(cut(X, y, 400), X_target=X_target)
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_no_overlap_is_said(monkeypatch, data):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    X, y, _, X_target, _ = data
    with pytest.warns(RuntimeWarning, match="hardly overlap"):
        cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(
            cut(X, y, 400), X_target=X_target + 12 * np.eye(D)[0]
        )


def test_the_first_pass_finds_the_middle_of_all_rows(data):
    # Sums around another place would be right too, with fewer digits.
    X, y, _, _, _ = data
    overview = look_at(as_stream(cut(X, y, 170), "chunks"), labels="outputs")
    np.testing.assert_allclose(overview.location, X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(overview.level, [y.mean()], rtol=1e-13)
    assert overview.count == N
    assert overview.kept == ()
