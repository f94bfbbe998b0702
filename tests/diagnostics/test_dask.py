"""Dask arrays give the numbers that arrays in memory give, whatever the blocks and the workers."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._dask import is_dask

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def few_rows(monkeypatch):
    """Fewer rows than there are go into what looks at some of them."""
    for name in ("overlap._ROWS", "overlap._SOURCE_ROWS", "gaps._QUANTILE_ROWS", "dask.MOST_ROWS"):
        monkeypatch.setattr(f"counterpoise.diagnostics.{name}", 300)
    monkeypatch.setattr("counterpoise.weights.resolve.MOST_ROWS", 300)


def problem(n=1100, m=900):
    """A shift, far from zero, with ties in one column."""
    rng = np.random.default_rng(7)
    X, Z = rng.normal(-0.7, 1, size=(n, 3)), rng.normal(0, 1.2, size=(m, 3))
    X[:, 1], Z[:, 1] = X[:, 1] + 1e4, Z[:, 1] + 1e4
    X[:, 2], Z[:, 2] = np.round(X[:, 2]), np.round(Z[:, 2])
    return X, Z, X[:, 0] ** 2


def assert_same_record(found, expected):
    for name, value in vars(expected).items():
        computed = getattr(found, name)
        if name == "gaps":
            assert [gap.words for gap in computed] == [gap.words for gap in value]
            np.testing.assert_allclose([g.share for g in computed], [g.share for g in value])
        elif value is None or name == "shift" or isinstance(value, str | list | int):
            assert computed == value, name
        else:
            np.testing.assert_allclose(np.asarray(computed), value, rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("weights", ["auto", None, "array"])
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


def test_only_one_of_them_may_be_dask():
    X, Z, losses = problem(300, 400)
    lazy = cp.diagnose(X, da.from_array(Z, chunks=(90, 3)), weights="gaussian")
    assert_same_record(lazy, cp.diagnose(X, Z, weights="gaussian"))
    lazy = cp.diagnose(da.from_array(X, chunks=(90, 3)), Z, losses=losses)
    assert_same_record(lazy, cp.diagnose(X, Z, losses=losses))


def test_data_frames_bring_their_names(pd):
    dd = pytest.importorskip("dask.dataframe", reason="dask data frames are not installed")
    X, Z, _ = problem(300, 400)
    frames = [pd.DataFrame(part, columns=["age", "year", "rank"]) for part in (X, Z)]
    lazy = [dd.from_pandas(frame, npartitions=3) for frame in frames]
    assert_same_record(cp.diagnose(*lazy), cp.diagnose(*frames))


def test_blocks_of_unknown_length_and_empty_ones():
    X, Z, _ = problem(300, 400)
    X = X[np.argsort(X[:, 0])]
    lazy = da.from_array(X, chunks=(50, 3))
    lazy = lazy[lazy[:, 0] < 0.0]  # of unknown length, and nothing of the last blocks
    assert_same_record(cp.diagnose(lazy, Z), cp.diagnose(X[X[:, 0] < 0.0], Z))


@pytest.mark.parametrize("rows", [20_000, 100])
def test_disjoint_supports_on_dask(monkeypatch, rows):
    X, Z, losses = problem(300, 400)
    monkeypatch.setattr("counterpoise.diagnostics.dask.MOST_ROWS", rows)
    lazy = da.from_array(Z + 1000.0, chunks=(90, 3))
    d = cp.diagnose(X, lazy, losses=losses, weights="gaussian")
    assert d.verdict == "do not trust"
    assert d.n_effective == 0.0


X, Z = np.arange(20.0).reshape(10, 2), np.arange(12.0).reshape(6, 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (X, Z[:, :1], {}, "`X_target` has 1 features, `X_source` has 2"),
        (X[:, 0], Z, {}, "`X_source` must be a 2-D array"),
        (X, Z, {"weights": -np.ones(10)}, "`weights` must not be negative"),
        (X, Z, {"weights": np.r_[np.nan, np.ones(9)]}, "`weights` must be finite"),
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
