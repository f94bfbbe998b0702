"""Both ways of the ridge path: few rows are judged one by one, many are summed in blocks."""

import pytest

from counterpoise.ridge import cross_validation


@pytest.fixture
def many(monkeypatch):
    """As for many rows (fewer rows than features always take the dual)."""
    monkeypatch.setattr(cross_validation, "few_rows", lambda n, D, L: n < D)


@pytest.fixture(params=["rows", "blocks"])
def route(request):
    if request.param == "blocks":
        request.getfixturevalue("many")
    return request.param
