"""The default pipeline does what it says, for files and for data frames read otherwise."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pd = pytest.importorskip("pandas", reason="tables need the cli extra")

from counterpoise.tables import DateParts, fit_encoding, pair_tables, read_table  # noqa: E402


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
    target.to_parquet(tmp_path / "target.parquet")
    return tmp_path


def pair_of(files, target="target.csv"):
    return pair_tables(read_table(files / "source.csv"), read_table(files / target))


def test_numbers_are_imputed_flagged_and_scaled(files, rng):
    pair = pair_of(files)
    encoding = fit_encoding(pair, rng=rng)
    both = np.concatenate([pair.source["age"], pair.target["age"]])
    filled = np.where(np.isnan(both), np.nanmedian(both), both)
    want = (filled - filled.mean()) / filled.std()
    X = np.concatenate([encoding.transform(pair.source), encoding.transform(pair.target)])
    np.testing.assert_allclose(X[:, encoding.features.index("age")], want)
    flag = X[:, encoding.features.index("age missing")]
    assert np.array_equal(flag > 0, np.isnan(both))
    assert np.all(np.isfinite(X))


def test_every_encoded_feature_knows_its_column(files, rng):
    pair = pair_of(files)
    encoding = fit_encoding(pair, rng=rng)
    X = encoding.transform(pair.source)
    assert len(encoding.features) == len(encoding.columns) == X.shape[1]
    assert set(encoding.columns) == set(pair.kinds)
    for value in ["red", "green", "blue"]:
        where = encoding.features.index(f"colour={value}")
        assert encoding.columns[where] == "colour"
        assert np.array_equal(X[:, where] == 1, np.asarray(pair.source["colour"] == value))
    where = encoding.features.index("colour=(missing)")
    assert np.array_equal(X[:, where] == 1, np.asarray(pair.source["colour"].isna()))
    kept = encoding.without_redundancy(X)
    assert np.linalg.matrix_rank(np.cov(kept.T)) == kept.shape[1]


def test_dates_become_days_month_and_weekday():
    dates = pd.DataFrame({"day": ["1970-01-01", "2024-02-29 12:00", None]})
    got = DateParts().fit_transform(dates)
    # A Thursday (3) and a Thursday.
    days = (pd.Timestamp("2024-02-29") - pd.Timestamp("1970-01-01")).days + 0.5
    np.testing.assert_array_equal(got, [[0, 1, 3], [days, 2, 3], [np.nan] * 3])


def test_the_same_from_parquet_and_from_pandas_own_reader(files, rng):
    pair = pair_of(files)
    encoding = fit_encoding(pair, rng=rng)
    want = encoding.transform(pair.target)
    np.testing.assert_array_equal(encoding.transform(pair_of(files, "target.parquet").target), want)
    raw = pd.read_csv(files / "target.csv")
    np.testing.assert_array_equal(encoding.encoder.transform(raw), want)


def test_rare_categories_share_an_indicator_and_so_do_new_ones(rng):
    colours = ["red"] * 50 + ["blue"] * 40 + [f"rare{i}" for i in range(10)]
    table = pa.table({"colour": colours, "x": rng.normal(size=100)})
    encoding = fit_encoding(pair_tables(table, table), rng=rng)
    assert [f for f in encoding.features if f != "x"] == [
        "colour=blue",
        "colour=red",
        "colour=(rare)",
    ]
    new = pd.DataFrame({"colour": ["rare3", "never seen", "red"], "x": 0.0})
    where = encoding.features.index("colour=(rare)")
    np.testing.assert_array_equal(encoding.transform(new)[:, where], [1, 1, 0])


def test_the_number_of_rows_at_a_time_does_not_matter(files, rng, monkeypatch):
    pair = pair_of(files)
    encoding = fit_encoding(pair, rng=rng)
    want = encoding.transform(pair.target)
    monkeypatch.setattr("counterpoise.tables.encoding._CHUNK", 7)
    np.testing.assert_array_equal(encoding.transform(pair.target), want)
