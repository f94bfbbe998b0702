"""Monomials of the features, against scikit-learn on the same rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from counterpoise.risk import Domains, HeldOut, Moments


def values_of(moments, source, target):
    """Monomials (n, k) at source and target rows."""
    ones = np.ones(source.shape[0])
    return moments.values(HeldOut.of_sample(ones[None], ones, domains=Domains(source, target)))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_they_are_polynomials_of_standardised_features(rng, degree):
    source, target = rng.normal(size=(100, 3)), rng.normal(0.4, 1.3, size=(70, 3))
    moments = Moments(degree)
    _, _, monomials = moments.basis(Domains(source, target), 100)
    scaler = StandardScaler().fit(target)
    features = PolynomialFeatures(degree, include_bias=False)
    wanted = [features.fit_transform(scaler.transform(X)) for X in (source, target)]
    names = [tuple(np.repeat(np.arange(3), powers)) for powers in features.powers_]
    order = [names.index(factors) for factors in monomials]
    assert sorted(order) == list(range(len(names)))
    for got, want in zip(values_of(moments, source, target), wanted, strict=True):
        np.testing.assert_allclose(got, want[:, order], atol=1e-12)


def test_over_budget_the_leading_components_come_first(rng):
    mixing = rng.normal(size=(6, 6)) * [5, 3, 2, 1, 0.5, 0.2]
    target, source = rng.normal(size=(300, 6)) @ mixing.T, rng.normal(size=(40, 6))
    scaler = StandardScaler().fit(target)
    pca = PCA(whiten=True).fit(scaler.transform(target))
    for got, X in zip(values_of(Moments(2), source, target), (source, target), strict=True):
        assert got.shape[1] == 8
        # PCA divides by n - 1, the scaling here by n.
        want = pca.transform(scaler.transform(X)) * np.sqrt(300 / 299)
        signs = np.sign(np.sum(got[:, :6] * want, axis=0))
        np.testing.assert_allclose(got[:, :6], signs * want, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(got[:, 6], got[:, 0] ** 2)
        np.testing.assert_allclose(got[:, 7], got[:, 0] * got[:, 1])
