"""Two coordinates of both samples, against scikit-learn's principal components."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from counterpoise.diagnostics.projection import project_encoded

NAMES = np.array(["a", "b", "c", "d"])


@pytest.fixture
def samples(rng):
    mix = rng.normal(size=(4, 4))
    return rng.normal(size=(60, 4)) @ mix, rng.normal(1.0, 0.7, size=(60, 4)) @ mix


@pytest.mark.parametrize("many", [2000, 30])
def test_samples_of_one_size_have_the_principal_components_of_both_together(
    samples, many, monkeypatch
):
    # Of few columns all rows are looked at, however many there are.
    monkeypatch.setattr("counterpoise.diagnostics.projection._MANY", many)
    source, target, labels = project_encoded(*samples, NAMES)
    both = StandardScaler().fit_transform(np.concatenate(samples))
    pca = PCA(2).fit(both)
    want = pca.transform(both)
    got = np.concatenate([source, target])
    signs = np.sign(np.sum(got * want, axis=0))
    np.testing.assert_allclose(got, want * signs, atol=1e-10)
    shares = pca.explained_variance_ratio_
    assert labels == tuple(
        f"{word} principal component ({share:.0%})"
        for word, share in zip(("first", "second"), shares, strict=True)
    )


def test_more_columns_than_rows(rng):
    X, Z = rng.normal(size=(9, 40)), rng.normal(0.5, 1, size=(9, 40))
    source, target, _ = project_encoded(X, Z, np.array([f"c{i}" for i in range(40)]))
    both = StandardScaler().fit_transform(np.concatenate([X, Z]))
    want = PCA(2).fit_transform(both)
    np.testing.assert_allclose(np.abs(np.concatenate([source, target])), np.abs(want), atol=1e-8)


def test_of_many_columns_some_rows_are_looked_at(rng, monkeypatch):
    monkeypatch.setattr("counterpoise.diagnostics.projection._MANY", 30)
    names = np.array([f"c{i}" for i in range(40)])
    for _ in range(5):
        common = rng.normal(size=345)
        both = common[:, None] + 2 * rng.normal(size=(345, 40))
        source, target, _ = project_encoded(both[:300], both[300:], names)
        assert source.shape == (300, 2)
        assert target.shape == (45, 2)
        # All rows find what the columns have in common with a correlation of 0.95 (the least of 30
        # draws is 0.93), thirty rows with 0.95 (0.92), two rows with 0.81 (0.00).
        assert abs(np.corrcoef(common, [*source[:, 0], *target[:, 0]])[0, 1]) > 0.88


def test_a_larger_sample_counts_no_more(samples):
    source, target = samples
    once = project_encoded(source, target, NAMES)
    often = project_encoded(source, np.tile(target, (5, 1)), NAMES)
    np.testing.assert_allclose(often[0], once[0], atol=1e-10)
    np.testing.assert_allclose(often[1][:60], once[1], atol=1e-10)


def test_one_and_two_columns_are_shown_as_they_are(samples):
    source, target = samples
    two = project_encoded(source[:, :2], target[:, :2], NAMES[:2])
    np.testing.assert_array_equal(two[0], source[:, :2])
    assert two[2] == ("a", "b")
    one = project_encoded(source[:, :1], target[:, :1], NAMES[:1])
    np.testing.assert_array_equal(one[1][:, 0], target[:, 0])
    assert one[2] == ("a", "(spread at random)")
