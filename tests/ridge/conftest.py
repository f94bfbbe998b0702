"""Both ways of the ridge path: few rows are judged one by one, many are summed in blocks."""

import numpy as np
import pytest

from counterpoise.ridge import cross_validation

NUMBERS = ("value", "standard_error", "drift", "degrees_of_freedom", "n_effective", "beta")


@pytest.fixture
def many(monkeypatch):
    """As for many rows (fewer rows than features always take the dual)."""
    monkeypatch.setattr(cross_validation, "few_rows", lambda n, D, L: n < D)


@pytest.fixture(params=["rows", "blocks"])
def route(request):
    if request.param == "blocks":
        request.getfixturevalue("many")
    return request.param


@pytest.fixture(scope="session")
def same_risk():
    """Assert that two estimates are the same in every number and both intervals."""

    def check(got, want, rtol=1e-8):
        for name in NUMBERS:
            a, b = getattr(got, name), getattr(want, name)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-10, err_msg=name)
        for drift in (True, False):
            ends = [risk.interval(drift=drift) for risk in (got, want)]
            np.testing.assert_allclose(*ends, rtol=rtol)
        np.testing.assert_allclose(
            got.variance_reduction,
            want.variance_reduction,
            atol=rtol * (1 + np.max(np.abs(want.variance_reduction))),
        )
        assert got.method == want.method

    return check


@pytest.fixture(scope="session")
def same_fit(same_risk):
    """Assert that two fitted models are the same."""

    def check(got, want, rtol=1e-8):
        same_risk(got.risk_curve_, want.risk_curve_, rtol)
        assert got.alpha_ == want.alpha_
        assert got.n_features_in_ == want.n_features_in_
        for name in ("fold_betas_", "coef_", "intercept_"):
            a, b = getattr(got, name), getattr(want, name)
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12, err_msg=name)

    return check
