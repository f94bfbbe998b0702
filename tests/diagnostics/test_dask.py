"""Dask arrays give the numbers that arrays in memory give, whatever the blocks and the workers."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._dask import is_dask
from counterpoise.risk import Controlled, Truncated, get_method
from counterpoise.risk.dask import target_risk_dask
from counterpoise.weights import GaussianRatio

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def risk_on_dask(losses, weights, method="controlled"):
    return target_risk_dask(losses, weights, get_method(method))


@pytest.fixture
def few_rows(monkeypatch):
    """Fewer rows than there are go into what looks at some of them."""
    monkeypatch.setattr("counterpoise.diagnostics.overlap._ROWS", 200)
    monkeypatch.setattr("counterpoise.diagnostics.overlap._SOURCE_ROWS", 500)


def problem(n=1100, m=900):
    """A shift, far from zero, with ties in one column."""
    rng = np.random.default_rng(7)
    X, Z = rng.normal(-0.7, 1, size=(n, 3)), rng.normal(0, 1.2, size=(m, 3))
    X[:, 1], Z[:, 1] = X[:, 1] + 1e4, Z[:, 1] + 1e4
    X[:, 2], Z[:, 2] = np.round(X[:, 2]), np.round(Z[:, 2])
    return X, Z, X[:, 0] ** 2


def assert_same_record(found, expected):
    for name, value in vars(expected).items():
        own = getattr(found, name)
        if name == "gaps":
            assert [gap.words for gap in own] == [gap.words for gap in value]
            np.testing.assert_allclose([g.share for g in own], [g.share for g in value])
        elif name == "shift":
            assert (own.size, own.words, own.columns) == (value.size, value.words, value.columns)
            for number in ("auc", "auc_p_value", "mean_p_value", "outside_share"):
                np.testing.assert_allclose(getattr(own, number), getattr(value, number), rtol=1e-8)
        elif isinstance(value, str | list | int):
            assert own == value, name
        elif value is None:
            assert own is None, name
        else:
            np.testing.assert_allclose(np.asarray(own), value, rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("weights", ["gaussian", "auto", None, "array"])
@pytest.mark.parametrize("rows", [150, 1000])
@pytest.mark.usefixtures("few_rows")
def test_diagnose_is_that_of_memory(weights, rows):
    X, Z, losses = problem()
    given = np.exp(-X[:, 0]) if weights == "array" else weights
    expected = cp.diagnose(X, Z, weights=given, losses=losses)
    assert expected.gaps
    if weights == "array":
        given = da.from_array(given, chunks=234)
    found = cp.diagnose(
        da.from_array(X, chunks=(rows, 2)),
        da.from_array(Z, chunks=(rows + 13, 3)),
        weights=given,
        losses=da.from_array(losses, chunks=177),
    )
    assert is_dask(found.weights, found.losses)
    assert_same_record(found, expected)
    for gamma in (1.0, 1.7):
        assert found.sensitivity(gamma) == pytest.approx(expected.sensitivity(gamma), rel=1e-10)
    assert str(found).splitlines()[:4] == str(expected).splitlines()[:4]


def test_only_one_of_them_may_be_dask():
    X, Z, losses = problem(300, 400)
    expected = cp.diagnose(X, Z, weights=GaussianRatio(regularization=0.1))
    lazy = cp.diagnose(
        X, da.from_array(Z, chunks=(90, 3)), weights=GaussianRatio(regularization=0.1)
    )
    assert_same_record(lazy, expected)
    lazy = cp.diagnose(da.from_array(X, chunks=(90, 3)), Z, losses=losses)
    assert_same_record(lazy, cp.diagnose(X, Z, losses=losses))


def test_many_rows_get_weights_from_a_sample_of_them(monkeypatch):
    X, Z, _ = problem(300, 400)
    monkeypatch.setattr("counterpoise.diagnostics.dask._WEIGHT_ROWS", 150)
    found = cp.diagnose(da.from_array(X, chunks=(90, 3)), Z, weights="classifier").weights
    assert found.chunks == ((90, 90, 90, 30),)
    whole = cp.diagnose(X, Z, weights="classifier").weights
    # The error is that of 150 rows.
    means = [np.average(X, axis=0, weights=np.asarray(w)) for w in (found, whole)]
    np.testing.assert_allclose(*means, atol=4 / np.sqrt(150))


def test_data_frames_bring_their_names():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", reason="dask data frames are not installed")
    X, Z, _ = problem(300, 400)
    frames = [pd.DataFrame(part, columns=["age", "year", "rank"]) for part in (X, Z)]
    lazy = [dd.from_pandas(frame, npartitions=3) for frame in frames]
    assert_same_record(cp.diagnose(*lazy), cp.diagnose(*frames))


def test_blocks_of_unknown_length_and_empty_ones():
    X, Z, _ = problem(300, 400)
    lazy = da.from_array(X, chunks=(50, 3))
    lazy = lazy[lazy[:, 0] < 0.5]  # its length is not known before it is computed
    assert_same_record(cp.diagnose(lazy, Z), cp.diagnose(X[X[:, 0] < 0.5], Z))
    ordered = X[np.argsort(X[:, 0])]
    lazy = da.from_array(ordered, chunks=(50, 3))
    lazy = lazy[lazy[:, 0] < 0.0]  # leaves nothing of the last blocks
    assert_same_record(cp.diagnose(lazy, Z), cp.diagnose(ordered[ordered[:, 0] < 0.0], Z))


@pytest.mark.filterwarnings("ignore:.*hardly:RuntimeWarning")
def test_disjoint_supports_on_dask():
    X, Z, losses = problem(300, 400)
    lazy = da.from_array(Z + 1000.0, chunks=(90, 3))
    d = cp.diagnose(X, lazy, losses=losses, weights="gaussian")
    assert d.verdict == "do not trust"
    assert d.n_effective == 0.0
    assert np.isnan(d.sensitivity(2)).all()


METHODS = [
    "source",
    "weighted",
    "normalized",
    "truncated",
    "controlled",
    Controlled(center="sample"),
    Controlled(beta=0.5),
    Truncated(cap=1.3),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_target_risk_is_that_of_memory(method, n):
    rng = np.random.default_rng(n)
    # One weight dwarfs the rest: subtracting it from a total would leave no digits.
    w, losses = rng.pareto(1.5, n), rng.exponential(size=(3, n) if n > 1 else 1)
    w[0] = 1e12 if n == 7 else w[0]
    expected = cp.target_risk(losses, w, method=method)
    for rows in {1 if n < 10 else 130, n}:
        lazy = da.from_array(losses, chunks=rows), da.from_array(w, chunks=max(1, n // 3))
        found = risk_on_dask(*lazy, method)
        for name, value in vars(expected).items():
            if isinstance(value, float | np.ndarray):
                np.testing.assert_allclose(getattr(found, name), value, rtol=1e-8, err_msg=name)
        assert found.method == expected.method


def test_one_of_losses_and_weights_may_be_in_memory():
    rng = np.random.default_rng(0)
    w, losses = rng.exponential(size=50), rng.exponential(size=50)
    expected = cp.target_risk(losses, w)
    for pair in ((losses, da.from_array(w, chunks=7)), (da.from_array(losses, chunks=7), w)):
        assert risk_on_dask(*pair).standard_error == pytest.approx(expected.standard_error)


def test_two_processes_give_the_same_bits():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    X, Z, losses = problem(500, 400)
    lazy = da.from_array(X, chunks=(150, 3)), da.from_array(Z, chunks=(100, 3))
    alone = cp.diagnose(*lazy, losses=losses)
    risk = risk_on_dask(da.from_array(losses, chunks=150), alone.weights)
    with (
        dask.config.set({"scheduler": None}),
        distributed.Client(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None
        ),
    ):
        together = cp.diagnose(*lazy, losses=losses)
        assert risk_on_dask(da.from_array(losses, chunks=150), together.weights) == risk
        np.testing.assert_array_equal(np.asarray(together.weights), np.asarray(alone.weights))
        for name, value in vars(alone).items():
            if isinstance(value, float | int | str):
                assert getattr(together, name) == value, name


X, Z = np.arange(20.0).reshape(10, 2), np.arange(12.0).reshape(6, 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (X, Z[:, :1], {}, "`X_target` has 1 features, `X_source` has 2"),
        (X[:, 0], Z, {}, "`X_source` must be a 2-D array"),
        (X, Z, {"weights": np.ones(9)}, r"`weights` must have shape \(10,\).*\(9,\)"),
        (X, Z, {"weights": -np.ones(10)}, "`weights` must not be negative"),
        (X, Z, {"weights": np.r_[np.nan, np.ones(9)]}, "`weights` must be finite"),
        (X, Z, {"weights": "magic"}, "`weights` must be one of 'auto'.*got 'magic'"),
        (X, Z, {"weights": GaussianRatio(normalize=True)}, "`weights` must not be normalised"),
        (X, Z, {"losses": np.ones(9)}, r"`losses` must have shape \(10,\).*\(9,\)"),
        (X, Z, {"losses": np.r_[np.inf, np.ones(9)], "weights": None}, "`losses` must be finite"),
        (X, np.where(Z == 3, np.nan, Z), {"weights": None}, "`X_target` must be finite"),
        (X.astype(str), Z, {}, "`X_source` must be numeric on Dask"),
    ],
)
def test_bad_input_is_named(source, target, options, message):
    source, target = (da.from_array(part, chunks=4) for part in (source, target))
    with pytest.raises(ValueError, match=message):
        cp.diagnose(source, target, **options)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("losses", "weights", "method", "message"),
    [
        (np.ones(9), np.ones(8), "controlled", "`weights` has 8 values, `losses` has shape"),
        (np.ones(9), np.ones((9, 1)), "controlled", r"`weights` must have shape \(n,\)"),
        (np.ones((9, 1)), np.ones(1), "controlled", "a column would be read"),
        (np.full(9, np.nan), np.ones(9), "controlled", "`losses` must be finite; 9 of its 9"),
        (np.ones(9), np.r_[np.inf, np.ones(8)], "source", "`weights` must be finite; 1 of its 9"),
        (np.ones(9), -np.ones(9), "weighted", "`weights` must not be negative; 9 are"),
        (np.ones(9), np.zeros(9), "weighted", "`weights` must not all be zero"),
        (np.ones(9), np.ones(9), "magic", "`method` must be one of"),
    ],
)
def test_bad_losses_and_weights_are_named(losses, weights, method, message):
    losses, weights = (da.from_array(part, chunks=4) for part in (losses, weights))
    with pytest.raises(ValueError, match=message):
        risk_on_dask(losses, weights, method)


def test_methods_that_need_all_rows_are_refused():
    with pytest.raises(ValueError, match=r"`method` must be 'source'.*looks at all rows"):
        risk_on_dask(da.ones(9), da.ones(9), "pareto_smoothed")
