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


def test_samples_of_one_size_have_the_principal_components_of_both_together(samples):
    source, target, labels = project(*samples)
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
