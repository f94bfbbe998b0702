"""Statistics that add up: chunks, merging in any order, one pass over a stream."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

import counterpoise as cp
from counterpoise.ridge import RidgeAccumulator, RowFolds, cross_validation
from counterpoise.ridge.folds import CountedFolds, block_numbers, fold_rule

ALPHAS = np.logspace(-3, 4, 9)
N = 400
RNG = np.random.default_rng(5)
X = RNG.normal(4.0, 1.0, size=(N, 2))
Y = X[:, 0] + RNG.normal(size=N) - 30.0
W = RNG.exponential(size=N)


def collect(rows, **options):
    rows = list(rows)
    accumulator = RidgeAccumulator(first_row=rows[0], **options)
    return accumulator.update(X[rows], Y[rows], W[rows])


def assert_same_path(got, want, rtol=1e-10):
    assert got.best == want.best
    for a, b in [
        (got.coef, want.coef),
        (got.intercept, want.intercept),
        (got.betas, want.betas),
        (got.risk.value, want.risk.value),
        (got.risk.standard_error, want.risk.standard_error),
    ]:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("method", ["controlled", "weighted", "source", cp.risk.Truncated(cap=2.0)])
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("pooled", [False, True])
def test_one_pass_gives_the_numbers_of_memory(monkeypatch, method, intercept, pooled):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    model = cp.ShiftRidgeCV(
        ALPHAS,
        cv=RowFolds(3),
        weights=W,
        method=method,
        fit_intercept=intercept != "none",
        penalize_intercept=intercept == "penalized",
        aggregate="pooled" if pooled else "fold",
    ).fit(X, Y)
    accumulator = RidgeAccumulator(3, method=method)
    for start in range(0, N, 70):
        rows = slice(start, start + 70)
        accumulator.update(X[rows], Y[rows], W[rows])
    path = accumulator.finish(ALPHAS, intercept=intercept, pooled=pooled)
    assert accumulator.n_rows == N
    np.testing.assert_allclose(path.risk.value, model.risk_curve_.value, rtol=1e-10)
    np.testing.assert_allclose(
        path.risk.standard_error, model.risk_curve_.standard_error, rtol=1e-9
    )
    np.testing.assert_allclose(path.betas, model.fold_betas_, rtol=1e-9)
    np.testing.assert_allclose(path.coef[0], model.coef_, rtol=1e-9)
    np.testing.assert_allclose(path.intercept[0], model.intercept_, rtol=1e-9)


WHOLE = collect(range(N)).finish(ALPHAS)


@settings(max_examples=15, deadline=None)
@given(
    cuts=st.lists(st.integers(1, N - 1), min_size=1, max_size=6, unique=True),
    seed=st.integers(0, 2**16),
    spread=st.sampled_from([0.0, 1.0, 100.0]),
)
def test_any_cut_and_any_order_of_merging_gives_the_same(cuts, seed, spread):
    edges = [0, *sorted(cuts), N]
    rng = np.random.default_rng(seed)
    # Each part may take its sums around another place.
    parts = [
        collect(
            range(a, b), location=(4 + spread * rng.normal(size=2), spread * rng.normal(size=1))
        )
        for a, b in pairwise(edges)
    ]
    while len(parts) > 1:
        i, j = rng.choice(len(parts), 2, replace=False)
        merged = parts[i].merge(parts[j])
        parts = [part for k, part in enumerate(parts) if k not in (i, j)] + [merged]
    assert parts[0].n_rows == N
    # Sums around a place 100 standard deviations away keep four digits fewer.
    assert_same_path(parts[0].finish(ALPHAS), WHOLE, rtol=1e-6 if spread == 100.0 else 1e-9)


def test_merging_leaves_both_as_they_were_and_an_empty_one_adds_nothing():
    one, other = collect(range(150)), collect(range(150, N))
    before = pickle.dumps((one, other))
    assert_same_path(one.merge(other).finish(ALPHAS), WHOLE)
    assert pickle.dumps((one, other)) == before
    empty = RidgeAccumulator()
    assert_same_path(empty.merge(one).merge(other).merge(empty).finish(ALPHAS), WHOLE)
    one.update(X[:0], Y[:0])
    assert pickle.dumps((one, other)) == before


def test_a_pickled_accumulator_goes_on_where_it_stopped():
    accumulator = pickle.loads(pickle.dumps(collect(range(123))))
    accumulator.update(X[123:], Y[123:], W[123:])
    assert_same_path(accumulator.finish(ALPHAS), WHOLE)
    assert "n_rows=400" in repr(accumulator)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:5, :1], Y[:5]), "`X` must have 2 features like the rows before; got 1"),
        ((X[:5, 0], Y[:5]), "`X` must be a 2-D array"),
        ((X[:5], Y[:4]), "`y` must have one entry for each of the 5 rows of X; got 4"),
        ((X[:5], np.ones((5, 2))), r"`y` must have the shape \(n, 1\)"),
        ((X[:5], Y[:5], -W[:5]), "`weights` must not be negative; 5 are"),
        ((X[:5], Y[:5], W[:4]), "`weights` must have one entry for each of the 5 rows"),
        ((X[:5] * np.nan, Y[:5]), "`X` must be finite; 10 of its 10 values"),
        ((X[:5], Y[:5] * np.inf), "`y` must be finite"),
        ((X[:5].astype(str), Y[:5]), "`X` must be numeric; got dtype <U"),
        ((X[:5].astype(object), Y[:5]), "`X` must be numeric; got dtype object"),
    ],
)
def test_a_bad_chunk_is_refused_and_nothing_is_lost(arguments, message):
    accumulator = collect(range(100))
    before = pickle.dumps(accumulator)
    with pytest.raises(ValueError, match=message):
        accumulator.update(*arguments)
    assert pickle.dumps(accumulator) == before
    accumulator.update(X[100:], Y[100:], W[100:])
    assert_same_path(accumulator.finish(ALPHAS), WHOLE)


def test_what_cannot_be_merged_or_finished_is_said():
    one = collect(range(100))
    with pytest.raises(ValueError, match="rows 50 to 99 would count twice"):
        one.merge(collect(range(50, 150)))
    with pytest.raises(ValueError, match=r"same folds: RowFolds\(n_splits=5.*n_splits=4"):
        one.merge(collect(range(100, 150), cv=4))
    with pytest.raises(ValueError, match="same method: Controlled"):
        one.merge(collect(range(100, 150), method="weighted"))
    wide = RidgeAccumulator(first_row=100).update(np.ones((9, 3)), np.ones(9))
    with pytest.raises(ValueError, match="2 features and 1 outputs; got 3 and 1"):
        one.merge(wide)
    with pytest.raises(ValueError, match="no rows have been added"):
        RidgeAccumulator().finish()
    with pytest.raises(ValueError, match="asks for 5 folds with rows in each; got 3 rows"):
        collect(range(3)).finish()
    with pytest.raises(ValueError, match="`intercept` must be one of"):
        one.finish(intercept="no")
    for method in ("truncated", cp.risk.Truncated(quantile=0.9)):
        with pytest.raises(ValueError, match="`method` must be one whose weights can be told row"):
            RidgeAccumulator(method=method)


@pytest.mark.parametrize("n", [7, 100, 1003])
def test_row_folds_are_balanced_and_independent_of_the_chunks(n):
    folds = RowFolds(5, random_state=2)
    tests = [test for _, test in folds.split(np.zeros(n))]
    assert sorted(np.concatenate(tests)) == list(range(n))
    assert np.ptp([len(test) for test in tests]) <= 1
    whole = folds.assign(np.asarray([0]), np.zeros(n, dtype=int))
    pieces = [folds.assign(np.asarray([a]), np.zeros(1, dtype=int)) for a in range(n)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    longer = folds.assign(np.asarray([0]), np.zeros(2 * n, dtype=int))
    np.testing.assert_array_equal(longer[:n], whole)
    other = RowFolds(5, random_state=3).assign(np.asarray([0]), np.zeros(n, dtype=int))
    assert np.any(other != whole)


@pytest.mark.parametrize(("n", "n_classes", "n_splits"), [(17, 1, 3), (100, 3, 5), (101, 4, 7)])
def test_counted_folds_are_those_of_scikit_learn(n, n_classes, n_splits):
    y = np.random.default_rng(n).integers(0, n_classes, size=n)
    _, first, counts = np.unique(y, return_index=True, return_counts=True)
    order = np.argsort(first)
    codes = np.argsort(order)[y]
    folds = fold_rule(n_splits, counts[order], classifier=n_classes > 1)
    assert isinstance(folds, CountedFolds)
    splitter = StratifiedKFold(n_splits) if n_classes > 1 else KFold(n_splits)
    want = np.empty(n, dtype=int)
    for k, (_, test) in enumerate(splitter.split(np.zeros(n), y)):
        want[test] = k
    for size in (1, 13, n):
        got = [
            folds.assign(np.bincount(codes[:a], minlength=n_classes), codes[a : a + size])
            for a in range(0, n, size)
        ]
        np.testing.assert_array_equal(np.concatenate(got), want)


def test_blocks_of_sorted_rows_are_like_independent_draws():
    # Blocks that each took their share of every stretch would differ far less than chance.
    n, count = 20_000, 20
    values = np.linspace(-1, 1, n)
    blocks = block_numbers(np.arange(n), count)
    sums = np.bincount(blocks, weights=values, minlength=count)
    sizes = np.bincount(blocks, minlength=count)
    z = sums / np.sqrt(sizes * np.var(values))
    # 19 degrees of freedom: chi-square between its 0.0005 and 0.9995 quantiles.
    assert 4.9 < np.sum((z - z.mean()) ** 2) < 45.0
    # Sizes are multinomial: chi-square again.
    assert 4.9 < np.sum((sizes - n / count) ** 2 / (n / count)) < 45.0
