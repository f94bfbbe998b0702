"""Fixtures shared by all tests."""

from __future__ import annotations

import importlib

import numpy as np
import pytest


def _namespaces() -> list:
    params = [pytest.param("numpy", id="numpy")]
    for name in ("array_api_strict", "torch"):
        reason = f"{name} is not installed"
        available = importlib.util.find_spec(name) is not None
        params.append(
            pytest.param(name, id=name, marks=pytest.mark.skipif(not available, reason=reason))
        )
    return params


@pytest.fixture(params=_namespaces())
def xp(request):
    """Each array library in turn, as its array API namespace."""
    module = importlib.import_module(request.param)
    return importlib.import_module("array_api_compat").array_namespace(module.asarray([0.0]))


@pytest.fixture
def pd():
    """Give pandas, which comes with the cli extra."""
    return pytest.importorskip("pandas", reason="data frames need the cli extra")


@pytest.fixture
def no_page(monkeypatch):
    """Leave out the slow part of saving where it is not looked at."""
    pytest.importorskip("skops", reason="models are saved with the cli extra")
    for job in ("saving", "watching"):
        monkeypatch.setattr(f"counterpoise.jobs.{job}.shown_page", lambda result: "page")


@pytest.fixture
def rng():
    return np.random.default_rng(20190601)


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of Dask."""
    distributed = pytest.importorskip("distributed", reason="the cluster needs the dask extra")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster
