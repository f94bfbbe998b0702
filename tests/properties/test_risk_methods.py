"""Every risk method of the registry, on generated losses, weights and features."""

from dataclasses import dataclass

import numpy as np
import pytest
from fuzzing import assert_close, holds_for, quiet, samples, weights_of
from hypothesis import assume
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import Domains, HeldOut, estimate_risk
from counterpoise.risk.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
IN_UNITS = ("value", "standard_error", "beta")
NUMBERS = (*IN_UNITS, "drift", "n_effective")


@dataclass(frozen=True)
class Case:
    losses: np.ndarray  # (L, n), no two in {0, 1} alone
    weights: np.ndarray
    folds: list[np.ndarray]
    source: np.ndarray
    target: np.ndarray
    target_weights: np.ndarray
    rng: np.random.Generator

    def estimate(self, method, **changed):
        own = {**self.__dict__, **changed}
        domains = Domains(own["source"], own["target"], own["target_weights"])
        held_out = HeldOut(own["losses"], own["weights"], Folds(own["folds"]), domains)
        return estimate_risk(held_out, method)[0]

    @property
    def scale(self):
        """The size of what is added up: cancellation may lose digits of it."""
        weights = max(1.0, self.weights.max())
        return weights * np.abs(self.losses).max() * max(1.0, 1 / self.weights.max())

    def assert_same(self, one, other, *, factor=1.0, rtol=1e-6):
        """Compare numbers; those in the unit of the losses are `factor` times as large."""
        for name in NUMBERS:
            unit = factor if name in IN_UNITS else 1.0
            scale = unit * self.scale if name in IN_UNITS else len(self.weights)
            want = unit * np.asarray(getattr(one, name))
            assert_close(getattr(other, name), want, rtol=rtol, scale=scale)


@st.composite
def cases(draw, candidates=(1, 3)):
    drawn = draw(samples(n=(12, 36), columns=(1, 3)))
    n, rng = len(drawn.X), drawn.rng
    count = draw(st.integers(*candidates))
    size = np.abs(drawn.X).max(axis=0)
    slopes = rng.normal(size=(count, drawn.X.shape[1])) / np.where(size > 0, size, 1.0)
    losses = (slopes @ drawn.X.T - drawn.y) ** 2 + 0.1 * rng.random((count, n))
    folds = draw(st.integers(1, 5))
    places = np.array_split(rng.permutation(n), folds)
    there = rng.exponential(size=len(drawn.Z))
    return Case(losses, draw(weights_of(n)), places, drawn.X, drawn.Z, there, rng)


@every_method
@holds_for(case=cases())
def test_the_order_of_rows_and_folds_does_not_matter(method, case):
    n, m = len(case.weights), len(case.target)
    order, others = case.rng.permutation(n), case.rng.permutation(m)
    place = np.argsort(order)
    # Two folds, or one, are replaced by random ones for cross-fitting, which go by row number.
    assume(isinstance(method, cp.risk.Average) or len(case.folds) >= 3)
    moved = case.estimate(
        method,
        losses=case.losses[:, order],
        weights=case.weights[order],
        folds=[place[fold] for fold in reversed(case.folds)],
        source=case.source[order],
        target=case.target[others],
        target_weights=case.target_weights[others],
    )
    case.assert_same(case.estimate(method), moved)


@every_method
@holds_for(case=cases(), power=st.integers(-20, 20))
def test_the_unit_of_the_loss_is_the_unit_of_the_risk(method, case, power):
    factor = 2.0**power
    one, other = case.estimate(method), case.estimate(method, losses=factor * case.losses)
    case.assert_same(one, other, factor=factor, rtol=1e-7)
    assert_close(other.degrees_of_freedom, one.degrees_of_freedom, rtol=1e-6)
    assert_close(np.stack(other.interval()), factor * np.stack(one.interval()), rtol=1e-6)


@every_method
@holds_for(case=cases(), power=st.integers(-6, 6))
def test_the_units_of_the_features_do_not_matter(method, case, power):
    unit = 2.0 ** (power * case.rng.integers(-1, 2, size=case.source.shape[1]))
    place = unit * case.rng.integers(-3, 4, size=len(unit))
    other = case.estimate(
        method, source=case.source * unit + place, target=case.target * unit + place
    )
    case.assert_same(case.estimate(method), other, rtol=1e-4)


@every_method
@holds_for(case=cases(candidates=(1, 1)))
def test_storage_frames_and_single_precision_do_not_matter_and_nothing_is_written(method, case):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = [f"x{j}" for j in range(case.source.shape[1])]
    index = case.rng.permutation(len(case.weights)) + 100  # a series counts by its order
    given = [case.losses[0], case.weights, case.source, case.target]
    for array in given:
        array.setflags(write=False)

    def estimate(rows, features):
        losses, weights, source, target = (
            kind(a) for kind, a in zip((rows, rows, features, features), given, strict=True)
        )
        return quiet(
            cp.target_risk, losses, weights, method=method, X_source=source, X_target=target
        )

    one = estimate(np.asarray, np.asarray)
    for rows, features in (
        (np.ndarray.tolist, np.asfortranarray),
        (lambda a: np.repeat(a, 2)[::2], lambda a: np.repeat(a, 2, axis=1)[:, ::2]),
        (lambda a: pandas.Series(a, index=index), lambda a: pandas.DataFrame(a, columns=names)),
        (polars.Series, lambda a: polars.DataFrame(a, schema=names)),
    ):
        other = estimate(rows, features)
        assert_close(other.value, one.value, rtol=1e-9, scale=case.scale)
        assert_close(other.standard_error, one.standard_error, rtol=1e-7, scale=case.scale)
    single = estimate(np.float32, np.float32)
    # A choice between penalties may fall the other way where two are nearly as good.
    loose = 1e-4 if isinstance(method, cp.risk.Average) else 0.05
    assert_close(single.value, one.value, rtol=loose, scale=case.scale)
