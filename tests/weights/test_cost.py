"""The cost that is said before a fit is the work that the fit then does."""

import warnings

import numpy as np
import pytest

from counterpoise.exceptions import CostWarning
from counterpoise.weights import (
    KLIEP,
    KMM,
    ULSIF,
    ClassifierRatio,
    FitCost,
    GaussianRatio,
    KernelDensityRatio,
    NearestNeighborRatio,
    _kernels,
    cost,
    names,
)

N, M, D = 400, 900, 5
ESTIMATORS = [
    KernelDensityRatio(),
    KernelDensityRatio(width="cv"),
    KLIEP(),
    KLIEP(width="median", n_centers=50),
    ULSIF(),
    ULSIF(width=[0.5, 1.0], n_centers=64),
    KMM(rank=None),
    KMM(rank=40, width=1.5),
]


@pytest.fixture
def counted(monkeypatch):
    """Pairs of rows whose distance is computed, in a list."""
    pairs = []
    plain = _kernels._product_form

    def counting(A, B, sign):
        pairs.append(A.shape[-2] * B.shape[-2])
        return plain(A, B, sign)

    monkeypatch.setattr(_kernels, "_product_form", counting)
    return pairs


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_count_of_kernel_values_is_exact(estimator, counted):
    rng = np.random.default_rng(0)
    X_source, X_target = rng.normal(-0.3, 1, (N, D)), rng.normal(size=(M, D))
    estimator.fit(X_source, X_target)
    assert estimator.fit_cost(N, M, D).kernels == sum(counted)


def test_the_count_knows_that_large_samples_are_passed_twice(counted, monkeypatch):
    # Small working blocks stand for large samples.
    monkeypatch.setattr(_kernels, "CPU_BLOCK", 2**9)
    monkeypatch.setattr("counterpoise.weights.ulsif.CPU_BLOCK", 2**9)
    rng = np.random.default_rng(0)
    ULSIF(width=1.0).fit(rng.normal(size=(N, D)), rng.normal(size=(M, D)))
    assert ULSIF(width=1.0).fit_cost(N, M, D).kernels == sum(counted)


@pytest.mark.parametrize("name", names.NAMES)
def test_the_count_grows_with_the_data(name):
    estimator = names.NAMES[name]()
    small = estimator.fit_cost(2000, 5000, 20)
    assert small.operations + small.reads > 0
    assert small.memory > 0
    for larger in ((4000, 5000, 20), (2000, 10_000, 20), (2000, 5000, 40)):
        more = estimator.fit_cost(*larger)
        assert more.operations + more.reads > small.operations + small.reads
        assert more.memory >= small.memory


def test_products_are_counted_by_hand():
    # Distances: 2 (D + 2) for each pair. Nearest rows with many features: every pair.
    density = KernelDensityRatio().fit_cost(10, 20, 4)
    assert density.operations == 12 * (10 * 30 + 10 * 20)
    # Both samples twice, in double precision.
    assert density.memory == 8 * 2 * (10 + 20) * 4
    pairs = NearestNeighborRatio().fit_cost(3000, 5000, 20).operations / (2 * 26)
    assert pairs == 3000 * 5000
    # With few, a tree of log2(n) levels and two leaves of 32 rows.
    pairs = NearestNeighborRatio().fit_cost(2**12, 5000, 3).operations / (2 * 9)
    assert pairs == (64 + 12) * 5000
    # Four steps, each with a system of 10 centres and five reads; twelve reads before.
    kliep = KLIEP(width=1.0, n_centers=10).fit_cost(30, 40, 4)
    kernels = (2 * 30 + 40) * 10 + 30 * 40
    assert kliep.operations == 4 * (40 * 10) * 10 + 2 * 6 * kernels
    assert kliep.reads == (5 * 4 + 12) * 40 * 10
    assert ClassifierRatio(cv=4).fit_cost(9, 9, 2).reads == (
        5 * ClassifierRatio().fit_cost(9, 9, 2).reads
    )
    # Second moments of both samples are 2 D^2 for each row.
    gaussian = [GaussianRatio().fit_cost(50, m, 30).operations for m in (10_000, 20_000)]
    assert gaussian[1] - gaussian[0] == 2 * 30**2 * 10_000
    # A source row has its log ratio too, 2 D^2 more.
    gaussian = [GaussianRatio().fit_cost(n, 50, 30).operations for n in (1_000, 2_000)]
    assert gaussian[1] - gaussian[0] == 4 * 30**2 * 1_000


def test_seconds_come_from_rates_measured_here(monkeypatch):
    monkeypatch.setattr(cost, "_rates", lambda: (1e-8, 1e-10, 1e-9))
    assert FitCost(1e9, 1e10, reads=2e9).seconds == pytest.approx(13.0)
    monkeypatch.undo()
    assert all(rate > 0 for rate in cost._rates())


def test_the_cheaper_choice_is_another():
    assert KLIEP(width="cv")._cheaper().width == "median"
    assert KLIEP(width="median")._cheaper() is None
    assert KLIEP(width=2.0)._cheaper() is None


def test_rates_are_times_over_what_was_done(monkeypatch):
    """A product (512, 260) (260, 512) is 2 x 260 x 512^2 operations, a read one of 2^21 numbers."""
    monkeypatch.setattr(cost, "_least", lambda function: 1.0)
    cost._rates.cache_clear()
    kernel, operation, read = cost._rates()
    cost._rates.cache_clear()
    assert operation == pytest.approx(1 / (2 * 260 * 512**2))
    assert read == pytest.approx(1 / 2**21)
    # A distance in 4 dimensions is a product of 6 columns.
    assert kernel == pytest.approx(1 / 512**2 - 12 * operation)


@pytest.mark.parametrize(
    ("work", "large"),
    [
        (FitCost(1e10, 0.0, 0.0), True),
        (FitCost(0.0, 1e12, 0.0), True),
        (FitCost(1e9, 1e11, 2.0**29), False),
        (FitCost(0.0, 0.0, 2.0**31), True),
        (FitCost(), False),
    ],
)
def test_a_minute_or_a_gib_is_large(work, large, monkeypatch):
    monkeypatch.setattr(cost, "_rates", lambda: (1e-8, 1e-10, 1e-9))
    assert work.is_large is large


def test_little_work_does_not_measure_the_machine(monkeypatch):
    def fail():
        raise AssertionError("measured")

    monkeypatch.setattr(cost, "_rates", fail)
    rng = np.random.default_rng(0)
    ULSIF().fit(rng.normal(size=(50, 2)), rng.normal(size=(60, 2)))


@pytest.mark.parametrize(
    ("estimator", "cheaper"),
    [
        (KernelDensityRatio(standardize=True), "ULSIF(standardize=True), about"),
        (KLIEP(), "KLIEP(width='median'), about"),
        (KMM(rank=None), "KMM(), about"),
        (KMM(), "random part of the rows"),
    ],
)
def test_the_warning_comes_before_the_work_and_names_a_cheaper_choice(
    estimator, cheaper, monkeypatch
):
    monkeypatch.setattr(cost, "_rates", lambda: (1.0, 1e-3, 1e-3))
    monkeypatch.setattr(cost, "_LITTLE", 0.0)
    monkeypatch.setattr(type(estimator), "_fit", lambda *_: pytest.fail("the work has begun"))
    X = np.random.default_rng(0).normal(size=(20_000, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CostWarning) as caught:
            estimator.fit(X, X)
    text = str(caught.value)
    assert "is about to compute" in text
    assert "20,000 source and 20,000 target rows with 5 features" in text
    assert "kernel values" in text
    assert cheaper in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(30.0, "30 s"), (119.0, "119 s"), (150.0, "2.5 minutes")]
)
def test_durations_in_words(seconds, words, monkeypatch):
    monkeypatch.setattr(cost, "_rates", lambda: (1.0, 0.0, 0.0))
    assert FitCost(seconds).duration == words
    assert FitCost(7200.0).duration == "2.0 hours"
