"""Two coordinates of both samples, against scikit-learn's principal components."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from counterpoise.diagnostics.projection import project


@pytest.fixture
def samples(rng):
    mix = rng.normal(size=(4, 4))
    return rng.normal(size=(60, 4)) @ mix, rng.normal(1.0, 0.7, size=(60, 4)) @ mix


@pytest.mark.parametrize("times", [1, 3])
def test_both_samples_count_alike_in_the_principal_components(samples, times):
    rows = samples[1][: 60 // times]
    source, target, labels = project(samples[0], rows)
    both = StandardScaler().fit_transform(np.concatenate([samples[0], *times * [rows]]))
    pca = PCA(2).fit(both)
    got = np.concatenate([source, *times * [target]])
    np.testing.assert_allclose(got, pca.transform(both), atol=1e-10)
    shares = pca.explained_variance_ratio_
    assert labels == tuple(
        f"{word} principal component ({share:.0%})"
        for word, share in zip(("first", "second"), shares, strict=True)
    )


def test_two_features_stay_as_they_are_and_one_is_spread(samples):
    two = [X[:, :2] for X in samples]
    for got, want in zip(project(*two), two, strict=False):
        np.testing.assert_array_equal(got, want)
    source, target, labels = project(*(X[:, :1] for X in samples))
    np.testing.assert_array_equal(source[:, 0], samples[0][:, 0])
    np.testing.assert_array_equal(target[:, 0], samples[1][:, 0])
    assert min(source[:, 1].min(), target[:, 1].min()) >= 0
    assert max(source[:, 1].max(), target[:, 1].max()) <= 1
    assert labels[1] == "(spread at random)"
