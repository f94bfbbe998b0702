"""Errors name the chunk, and an earlier fit stays."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

import counterpoise as cp
from counterpoise.ridge import ParquetChunks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = RNG.normal(size=90)
TARGET = RNG.normal(size=(40, 3))
ALPHAS = [0.1, 1.0, 10.0]
# A second pass is made where the first does not keep all rows.
FEW = {"weight_rows": 20}

pytestmark = pytest.mark.usefixtures("many")


def chunks(**changes):
    """Three chunks of 30 rows; `x1` or `y2` replaces the features or labels of a chunk."""
    parts = [(X[a : a + 30], Y[a : a + 30]) for a in (0, 30, 60)]
    return [(changes.get(f"x{i}", x), changes.get(f"y{i}", y)) for i, (x, y) in enumerate(parts)]


def with_value(array, value):
    array = array.copy()
    array.flat[7] = value
    return array


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (chunks(x1=X[:30, :2]), "chunk 1: `X` must have 3 features  like the other rows; got 2"),
        (chunks(x2=X[:30, 0]), "chunk 2: `X` must be a 2-D array"),
        (chunks(x1=with_value(X[:30], np.nan)), "chunk 1: `X` must be finite; 1 of its 90 values"),
        (chunks(y1=with_value(Y[:30], np.nan)), "chunk 1: `y` must be finite; 1 of its 30"),
        (chunks(y2=Y[:29]), r"chunk 2: `y` must have one entry .* 30 rows of X; got shape \(29,"),
        (chunks(y1=None), "chunk 1: `y` is missing: the source needs labels"),
        (chunks(y0=1.0), "chunk 0: `y` must"),
        (chunks(y1=np.ones((30, 2))), "chunk 1: `y` must have the outputs of the rows before"),
        (chunks(x1=X[:30].astype(str)), "chunk 1: `X` must hold real numbers.*texts"),
        (chunks(y1=Y[:30].astype(str)), "chunk 1: `y` must hold real numbers.*texts"),
        ([(X, Y, Y, Y)], r"chunk 0: a chunk must be a pair \(X, y\)"),
        (lambda: iter([]), "`chunks` must have rows; got none"),
        ((c for c in chunks()), "`chunks` must be a sequence.*got generator. It is read twice"),
    ],
)
def test_a_bad_chunk_is_named_and_the_fit_before_stays(source, message):
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian").fit_chunks(chunks(), X_target=TARGET)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit_chunks(source, X_target=TARGET)
    assert vars(model) == before


def test_columns_that_change_are_named(pd):
    named = [(pd.DataFrame(x, columns=list("abc")), y) for x, y in chunks()]
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")
    swapped = [*named[:2], (named[2][0][["b", "a", "c"]], named[2][1])]
    with pytest.raises(ValueError, match=r"chunk 2: `X` must have 3 features \['a', 'b', 'c'\]"):
        model.fit_chunks(swapped, X_target=TARGET)
    other = pd.DataFrame(TARGET, columns=list("abd"))
    with pytest.raises(ValueError, match=r"`X_target` must have .*\['a', 'b', 'c'\].*'d'\]"):
        model.fit_chunks(named, X_target=other)


def changing(first, second):
    turns = iter((first, second))
    return lambda: iter(next(turns))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([], "gave 90 rows the first time, and 0 the second"),
        ([*chunks(), (X, Y)], "chunk 3: there were 90 rows the first time, and now there are more"),
        (chunks()[:2], "gave 90 rows the first time, and 60 the second"),
        (chunks(x1=X[:30, :2]), "chunk 1: `X` has 2 features, `the first pass` has 3"),
    ],
)
def test_rows_that_change_between_the_passes(second, message):
    with pytest.raises(ValueError, match=message):
        cp.ShiftRidgeCV(ALPHAS, weights=None).fit_chunks(changing(chunks(), second), **FEW)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, FEW, "`X_target` is missing"),
        ({"weights": cp.weights.GaussianRatio}, FEW, "`weights` must be one of"),
        ({"weights": np.ones(89)}, FEW, "`weights` has 89 values.*90 samples"),
        ({}, {"X_target": TARGET[:, :2]}, "`X_target` must have 3 features .*got 2"),
        ({}, {"X_target": []}, "`X_target` must have rows; got none"),
        ({}, {"X_target": [TARGET, TARGET * np.nan]}, "chunk 1: `X_target` must be finite"),
        ({}, {"X_target": iter([TARGET])}, "`X_target` must be a sequence.*It is read twice"),
        ({"weights": None, "cv": 91}, FEW, "n_splits=91 greater than the number of samples"),
        ({"weights": None, "cv": ShuffleSplit(3)}, {}, "`cv` must be an int, counterpoise.*RowF"),
        ({"weights": None, "cv": KFold(3, shuffle=True)}, {}, "`cv` must be an int, counterpoise"),
        ({"weights": None, "method": "shrunk"}, {}, "from the row alone"),
        ({"weights": None}, {"n_jobs": 0}, "n_jobs == 0"),
        ({"weights": None}, {"weight_rows": 1}, "`weight_rows` must be"),
    ],
)
def test_bad_parameters_are_named_and_leave_nothing_half_fitted(options, arguments, message):
    model = cp.ShiftRidgeCV(**{"alphas": ALPHAS, "weights": "gaussian", **options})
    with pytest.raises(ValueError, match=message):
        model.fit_chunks(chunks(), **arguments)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(30, "a"), "text in some chunks and numbers in others"),
        (np.full(30, 0.5), "chunk 1: `y` must be class labels; got 0.5"),
        (np.full(30, np.nan), "chunk 1: `y` must be finite in every row; 30 of 30"),
        (np.array(["a", None] * 15, dtype=object), "chunk 1: `y` must have a label in every row"),
        (np.ones((30, 2)), r"chunk 1: `y` must be 1-D class labels; got shape \(30, 2\)"),
        (None, "chunk 1: `y` is missing"),
    ],
)
def test_bad_labels_are_named(labels, message):
    zeros = np.arange(30) % 2
    source = chunks(y0=zeros, y1=labels, y2=zeros)
    with pytest.raises(ValueError, match=message):
        cp.ShiftRidgeClassifierCV(ALPHAS, weights=None).fit_chunks(source)


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater:UserWarning")
def test_too_few_of_a_class():
    def fit(source):
        return cp.ShiftRidgeClassifierCV(ALPHAS, weights=None).fit_chunks(source, **FEW)

    ones = np.ones(30, dtype=int)
    with pytest.raises(ValueError, match="at least two classes; got 1 class"):
        fit(chunks(y0=ones, y1=ones, y2=ones))
    few = np.where(np.arange(30) < 2, 2, 1)
    with pytest.warns(UserWarning, match="The least populated class in y has only 2 members"):
        fit(chunks(y0=few, y1=ones, y2=ones))
    many = [np.arange(30) + 30 * i for i in range(3)]
    with pytest.raises(ValueError, match="n_splits=5 cannot be greater than the number of members"):
        fit(chunks(y0=many[0], y1=many[1], y2=many[2]))
    same = {"y0": few, "y2": few}
    with pytest.raises(ValueError, match=r"chunk 1: `y` holds the label .*3.* not there the first"):
        fit(changing(chunks(y1=few, **same), chunks(y1=few + (few == 2), **same)))


@pytest.fixture
def files(pd, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs the cli extra")
    table = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    for i in range(3):
        table[30 * i : 30 * i + 30].to_parquet(tmp_path / f"part{i}.parquet", row_group_size=10)
    return tmp_path


def test_a_file_that_is_damaged_before_or_after_opening_is_named(files):
    source = ParquetChunks(files, label="y")
    path = files / "part2.parquet"
    whole, page = path.read_bytes(), bytearray(path.read_bytes())
    page[4:200] = b"\xff" * 196
    for damaged in (page, page[:200]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"part2\.parquet, row group \d.*cannot be read"):
            cp.ShiftRidgeCV(ALPHAS, weights=None).fit_chunks(source)
    path.write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"part2\.parquet cannot be read as Parquet.*incomplete"):
        ParquetChunks(files, label="y")


def test_missing_values_and_other_columns_in_a_file_are_named(pd, files):
    table = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    table.loc[3, "b"] = None
    table.to_parquet(files / "part3.parquet")
    with pytest.raises(ValueError, match=r"part3\.parquet, row group 0: `X` must be finite"):
        cp.ShiftRidgeCV(ALPHAS, weights=None).fit_chunks(ParquetChunks(files, label="y"))
    table.drop(columns="b").to_parquet(files / "part3.parquet")
    with pytest.raises(ValueError, match=r"part3\.parquet must have the columns \['b'\]"):
        ParquetChunks(files, label="y")
    table.assign(b="text").to_parquet(files / "part3.parquet")
    with pytest.raises(ValueError, match=r"part3\.parquet: the column 'b' must be numeric"):
        ParquetChunks(files, label="y")
