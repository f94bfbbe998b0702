"""One encoder: the same numbers from files, arrays, pandas and polars, with names of columns."""

import pickle
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pd = pytest.importorskip("pandas", reason="tables need the cli extra")

from counterpoise.encoding import TableEncoder, encode_pair
from counterpoise.encoding.kinds import as_dates, column_kind
from counterpoise.encoding.pairing import pair_tables
from counterpoise.encoding.reading import read_table


def make(rng, n, shift=0.0):
    frame = pd.DataFrame(
        {
            "age": rng.normal(shift, 1, n).round(6),
            "colour": rng.choice(["red", "green", "blue"], n).astype(object),
            "ill": rng.random(n) > 0.3,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            'a "quoted", <name>': rng.normal(size=n).round(6),
        }
    )
    frame["smoker"] = frame["ill"].astype(object)
    frame.loc[::9, "smoker"] = None
    frame.loc[::7, "age"] = np.nan
    frame.loc[::5, "day"] = pd.NaT
    frame.loc[::11, "colour"] = None
    return frame


@pytest.fixture
def files(rng, tmp_path):
    source, target = make(rng, 200), make(rng, 300, 1.0)
    source.to_csv(tmp_path / "source.csv", index=False)
    target.to_csv(tmp_path / "target.csv", index=False)
    texts = target["day"].dt.strftime("%Y-%m-%dT%H:%M:%S.000001").astype(object)
    target.assign(day=texts).to_parquet(tmp_path / "target.parquet")
    return tmp_path


def pair_of(files, target="target.csv"):
    return pair_tables(read_table(files / "source.csv"), read_table(files / target))


def features_of(encoder):
    return encoder.get_feature_names_out().tolist()


@pytest.fixture
def pair(files):
    return pair_of(files)


@pytest.fixture
def encoded(pair):
    return encode_pair(pair.source, pair.target)


def test_numbers_are_imputed_flagged_and_scaled(pair, encoded):
    both = np.concatenate([pair.source["age"], pair.target["age"]])
    filled = np.where(np.isnan(both), np.nanmedian(both), both)
    want = (filled - filled.mean()) / filled.std()
    X, features = np.concatenate([encoded.source, encoded.target]), features_of(encoded.encoder)
    np.testing.assert_allclose(X[:, features.index("age")], want)
    flag = X[:, features.index("age missing")]
    assert np.array_equal(flag > 0, np.isnan(both))
    assert np.all(np.isfinite(X))


def test_every_encoded_feature_knows_its_column(pair, encoded):
    X, features = encoded.source, features_of(encoded.encoder)
    columns = encoded.encoder.feature_columns_
    assert len(features) == len(columns) == X.shape[1]
    assert encoded.encoder.kinds_ == pair.kinds
    assert set(columns) == set(pair.kinds)
    for value in ["red", "green", "blue"]:
        where = features.index(f"colour={value}")
        assert columns[where] == "colour"
        assert np.array_equal(X[:, where] == 1, np.asarray(pair.source["colour"] == value))
    where = features.index("colour=(missing)")
    assert np.array_equal(X[:, where] == 1, np.asarray(pair.source["colour"].isna()))
    kept = encoded.independent(X)
    assert np.linalg.matrix_rank(np.cov(kept.T)) == kept.shape[1] == len(features) - 1


@pytest.mark.parametrize(
    "values",
    [
        [date(2024, 2, 29), None],
        [datetime(2024, 2, 29), None],
        [datetime(2024, 2, 29, 2, tzinfo=timezone(timedelta(hours=2))), None],
        [np.datetime64("2024-02-29"), None],
        pd.Series(pd.PeriodIndex(["2024-02-29", None], freq="D")),
        pd.to_datetime(pd.Series(["2024-02-29", None])).dt.tz_localize("UTC"),
        pd.to_datetime(pd.Series(["2024-02-29 02:00", None])).dt.tz_localize("Europe/Riga"),
    ],
)
def test_whatever_is_a_date_is_read_as_one(values):
    column = np.asarray(values, dtype=object) if isinstance(values, list) else values
    assert column_kind([column]) == "date"
    want = np.asarray(["2024-02-29", "NaT"], dtype="datetime64[ms]")
    np.testing.assert_array_equal(as_dates(column), want)


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ([1, None], [Decimal("2.5"), Decimal("NaN")], "number"),
        ([None, None], ["a", "b"], "category"),
        ([np.nan, np.nan], [None, pd.NA], "number"),
        ([True, None], [False, True], "boolean"),
        ([True, False], [1.5, 2], "number"),
        ([1, 2], ["1", "unknown"], "category"),
        ([date(2024, 1, 1)], ["soon"], "category"),
    ],
)
def test_kinds_are_decided_from_both_tables(source, target, kind):
    columns = [np.asarray(values, dtype=object) for values in (source, target)]
    assert column_kind(columns) == column_kind(columns[::-1]) == kind
    assert column_kind([np.array([1.5, np.nan]), np.array([True, False])]) == "number"
    tables = [np.stack([column, column], axis=1) for column in columns]
    pair = encode_pair(*tables)
    assert set(pair.encoder.kinds_.values()) == {kind}
    assert np.isfinite(pair.source).all()


def test_the_same_from_parquet_and_from_pandas_own_reader(files, encoded):
    from_parquet = pair_of(files, "target.parquet").target
    np.testing.assert_array_equal(encoded.encoder.transform(from_parquet), encoded.target)
    raw = pd.read_csv(files / "target.csv").assign(more="columns than before")
    np.testing.assert_array_equal(encoded.encoder.transform(raw), encoded.target)
    with pytest.raises(ValueError, match=r"`X` lacks the columns \['ill'\]"):
        encoded.encoder.transform(raw.drop(columns="ill"))


def test_pandas_polars_and_arrays_of_objects_give_the_same_numbers(rng):
    pl = pytest.importorskip("polars")
    frames = make(rng, 120), make(rng, 150, 0.5)
    want = encode_pair(*frames)
    lazy = encode_pair(*(pl.from_pandas(frame) for frame in frames))
    assert lazy.encoder.kinds_ == want.encoder.kinds_
    np.testing.assert_allclose(lazy.target, want.target)
    arrays = encode_pair(*(frame.to_numpy(dtype=object) for frame in frames))
    np.testing.assert_allclose(arrays.source, want.source)
    assert arrays.encoder.feature_columns_[-1] == "x5"


def test_rare_categories_share_an_indicator_and_so_do_new_ones(rng):
    colours = ["red"] * 50 + ["blue"] * 40 + [f"rare{i}" for i in range(10)]
    frame = pd.DataFrame({"colour": colours, "x": rng.normal(size=100)})
    encoder = TableEncoder().fit(frame)
    assert features_of(encoder) == ["colour=blue", "colour=red", "colour=(rare)", "x"]
    new = pd.DataFrame({"colour": ["rare3", "never seen", "red"], "x": 0.0})
    np.testing.assert_array_equal(encoder.transform(new)[:, 2], [1, 1, 0])
    # Only the most frequent have an indicator.
    values = np.repeat([f"c{i:02}" for i in range(40)], np.arange(40, 0, -1))
    features = features_of(TableEncoder().fit(values[:, None]))
    assert features == [*(f"x0=c{i:02}" for i in range(29)), "x0=(rare)"]


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e150])
def test_units_do_not_matter(rng, unit):
    X = rng.normal(2, 1, size=(30, 1))
    np.testing.assert_allclose(*(TableEncoder().fit_transform(u * X) for u in (unit, 1.0)))


def test_complete_numbers_stay_as_they_are_where_asked(rng):
    X, Z = rng.normal(3, 2, (20, 2)).astype(np.float32), rng.normal(size=(30, 2))
    pair = encode_pair(X, Z)
    assert pair.source.dtype == np.float32
    np.testing.assert_array_equal(pair.source, X)
    frame = encode_pair(pd.DataFrame({"a": [1, 2], "b": 0.5}), pd.DataFrame({"a": [3], "b": [1.0]}))
    np.testing.assert_array_equal(frame.source, [[1, 0.5], [2, 0.5]])
    scaled = encode_pair(X, Z, keep_numeric=False)
    np.testing.assert_allclose(np.vstack([scaled.source, scaled.target]).std(0), 1, rtol=1e-6)


def test_wide_sparse_matrices_are_projected(rng):
    X, Z = (sparse.csr_array(rng.random((40, 50)) * (rng.random((40, 50)) < 0.2)) for _ in range(2))
    pair = encode_pair(X, Z)
    assert pair.source.shape == (40, 20)
    assert features_of(pair.encoder)[:2] == ["direction 0", "direction 1"]
    narrow = encode_pair(X.tocsr()[:, :5], Z.tocsr()[:, :5])
    np.testing.assert_array_equal(narrow.source, X.tocsr()[:, :5].toarray())


def test_large_tables_are_learned_from_some_rows(monkeypatch, pair, encoded):
    monkeypatch.setattr("counterpoise.encoding.encoder._ROWS", 90)
    some = encode_pair(pair.source, pair.target)
    assert features_of(some.encoder) == features_of(encoded.encoder)
    assert not np.allclose(some.source, encoded.source)
    np.testing.assert_allclose(some.source, encoded.source, atol=0.7)
    # It pickles and clones.
    again = pickle.loads(pickle.dumps(encoded.encoder))
    np.testing.assert_array_equal(again.transform(pair.target), encoded.target)
    assert clone(TableEncoder(squares=True)).squares


def test_bad_values_name_their_column(pair, encoded):
    for table, message in [
        (pair.target.assign(age="old"), r"Column 'age' must hold numbers.*'old'"),
        (pair.target.assign(day="tomorrow"), "Column 'day' must hold dates"),
        (pair.target.assign(age=np.inf), "Column 'age' must be finite"),
        (np.zeros((3, 2)), "`X` has 2 features, `X of fit` has 6"),
    ]:
        with pytest.raises(ValueError, match=message):
            encoded.encoder.transform(table)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_in_another_order_are_matched_by_name(rng, library):
    frames = make(rng, 60), make(rng, 70)
    if library == "polars":
        frames = [pytest.importorskip("polars").from_pandas(frame) for frame in frames]
    source, target = frames
    want = encode_pair(source, target)
    other_order = target[list(target.columns)[::-1]]
    turned = encode_pair(source, other_order)
    np.testing.assert_array_equal(turned.target, want.target)
    assert list(turned.X_target.columns) == list(source.columns)
    np.testing.assert_array_equal(want.encoder.transform(other_order), want.target)
    with pytest.raises(ValueError, match=r"lacks \['day'\] and adds \['b'\]"):
        encode_pair(pd.DataFrame({"day": [1.0], "a": 1.0}), pd.DataFrame({"b": [1.0], "a": 1.0}))


def test_texts_are_read_as_files_are_where_fit_has_seen_numbers_and_dates():
    frame = pd.DataFrame({"n": [0.5, 1234.5, np.nan], "d": pd.to_datetime(["1998-12-31"] * 3)})
    texts = pd.DataFrame({"n": [0.5, "1,234.5", "NA"], "d": ["31.12.1998"] * 3})
    for rows, columns in ((3, ["n", "d"]), (2, ["n"])):  # the second is left as it is
        encoder = TableEncoder(keep_numeric=True).fit(frame[columns][:rows])
        here, there = (encoder.transform(table[columns][:rows]) for table in (frame, texts))
        np.testing.assert_array_equal(here, there)
    with pytest.raises(ValueError, match=r"'n' must hold numbers; .*its type is datetime"):
        encoder.transform(pd.DataFrame({"n": frame["d"]}))


def test_the_encoding_scales_flags_and_squares(rng):
    X = rng.normal(3, 2, (50, 2))
    X[:5, 1] = np.nan
    encoder = TableEncoder(squares=True).fit(X)
    encoded = encoder.transform(X)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["x0", "x0 squared", "x1", "x1 missing", "x1 squared"]
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(encoded.std(axis=0), 1, rtol=1e-12)
    scaled = StandardScaler().fit_transform(X[:, :1])
    np.testing.assert_allclose(encoded[:, 1], StandardScaler().fit_transform(scaled**2)[:, 0])
