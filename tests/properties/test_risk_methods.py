"""Every risk method of the registry, on generated losses, weights and features."""

from dataclasses import dataclass

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from fuzzing import assert_close, holds_for, samples, weights_of
from hypothesis import assume
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import Domains, HeldOut, estimate_risk
from counterpoise.risk.method import Average
from counterpoise.risk.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
averages = [method for method in METHODS.values() if isinstance(method, Average)]
every_average = pytest.mark.parametrize("method", averages, ids=[m.name for m in averages])

# Methods whose estimate moves by c where c is added to every loss.
EXACT_FOR_CONSTANTS = ("source", "normalized", "pareto_smoothed", "doubly_robust")
NUMBERS = ("value", "standard_error", "beta", "n_effective", "tail_error", "constant_error")


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
    assume(not method.needs_rows or len(case.folds) >= 3)
    moved = case.estimate(
        method,
        losses=case.losses[:, order],
        weights=case.weights[order],
        folds=[place[fold] for fold in reversed(case.folds)],
        source=case.source[order],
        target=case.target[others],
        target_weights=case.target_weights[others],
    )
    one = case.estimate(method)
    for name in NUMBERS:
        assert_close(getattr(moved, name), getattr(one, name), rtol=1e-6, scale=_scale(name, case))


def _scale(name, case):
    return len(case.weights) if name == "n_effective" else case.scale


@every_method
@holds_for(case=cases(candidates=(2, 4)))
def test_the_order_of_candidates_does_not_matter(method, case):
    order = case.rng.permutation(len(case.losses))
    one, other = case.estimate(method), case.estimate(method, losses=case.losses[order])
    for name in NUMBERS:
        want = np.broadcast_to(getattr(one, name), len(order))[order]
        assert_close(getattr(other, name), want, rtol=1e-6, scale=_scale(name, case))
    assert_close(np.stack(other.interval()), np.stack(one.interval())[:, order], rtol=1e-5)


@every_average
@holds_for(case=cases(candidates=(2, 4)))
def test_a_batch_is_its_parts(method, case):
    # Adjustments take decisions for all candidates together; averages do not.
    cut = int(case.rng.integers(1, len(case.losses)))
    whole = case.estimate(method)
    parts = [case.estimate(method, losses=own) for own in np.split(case.losses, [cut])]
    for name in ("value", "standard_error", "beta", "tail_error"):
        joined = np.concatenate([np.atleast_1d(getattr(part, name)) for part in parts])
        assert_close(getattr(whole, name), joined, rtol=1e-10, scale=case.scale)


@every_method
@holds_for(case=cases(), power=st.integers(-20, 20))
def test_the_unit_of_the_loss_is_the_unit_of_the_risk(method, case, power):
    factor = 2.0**power
    one, other = case.estimate(method), case.estimate(method, losses=factor * case.losses)
    for name in ("value", "standard_error", "beta", "tail_error", "constant_error"):
        want = factor * np.asarray(getattr(one, name))
        assert_close(getattr(other, name), want, rtol=1e-7, scale=factor * case.scale)
    for name in ("n_effective", "variance_reduction", "degrees_of_freedom"):
        assert_close(getattr(other, name), getattr(one, name), rtol=1e-6)
    assert_close(np.stack(other.interval()), factor * np.stack(one.interval()), rtol=1e-6)


@every_average
@holds_for(case=cases(candidates=(2, 2)), first=st.floats(0.1, 5), second=st.floats(0.1, 5))
def test_averages_are_linear_in_the_loss(method, case, first, second):
    one = case.estimate(method)
    mixed = case.estimate(method, losses=(first * case.losses[0] + second * case.losses[1])[None])
    assume(not np.any(one.constrained) and not np.any(mixed.constrained))
    want = first * one.value[0] + second * one.value[1]
    assert_close(mixed.value[0], want, rtol=1e-7, scale=10 * case.scale)


@pytest.mark.parametrize("name", EXACT_FOR_CONSTANTS)
@holds_for(case=cases(candidates=(1, 1)), shift=st.floats(0.1, 10))
def test_a_constant_added_to_the_loss_is_added_to_the_risk(name, case, shift):
    one = case.estimate(METHODS[name])
    other = case.estimate(METHODS[name], losses=case.losses + shift)
    assume(not np.any(one.constrained) and not np.any(other.constrained))
    assume(all(case.weights[fold].sum() > 0 for fold in case.folds))
    assert_close(other.value, one.value + shift, rtol=1e-6, scale=case.scale + shift)


@every_average
@holds_for(case=cases())
def test_rows_that_come_twice_change_no_average(method, case):
    # Where the weights that a method uses do not depend on the number of rows.
    twice = np.concatenate([case.weights, case.weights])
    used = method.effective_weights(np_xp, case.weights)
    same = np.concatenate([used, used])
    assume(np.array_equal(method.effective_weights(np_xp, twice), same))
    n = len(case.weights)
    one = case.estimate(method)
    other = case.estimate(
        method,
        losses=np.concatenate([case.losses, case.losses], axis=-1),
        weights=twice,
        folds=[np.concatenate([fold, fold + n]) for fold in case.folds],
        source=np.concatenate([case.source, case.source]),
    )
    assert_close(other.value, one.value, rtol=1e-8, scale=case.scale)
    assert_close(other.beta, one.beta, rtol=1e-6, scale=case.scale)
    assert_close(other.n_effective, 2 * np.asarray(one.n_effective), rtol=1e-10)


@holds_for(case=cases())
def test_a_row_that_comes_twice_is_a_row_of_twice_the_weight(case):
    # For the self-normalised mean; others count rows as well.
    assume(all(case.weights[fold].sum() > 0 for fold in case.folds))
    row = int(case.rng.integers(len(case.weights)))
    fold = next(i for i, places in enumerate(case.folds) if row in places)
    heavier = case.weights.copy()
    heavier[row] *= 2
    n = len(heavier)
    folds = [np.append(f, n) if i == fold else f for i, f in enumerate(case.folds)]
    twice = case.estimate(
        METHODS["normalized"],
        losses=np.append(case.losses, case.losses[:, row : row + 1], axis=-1),
        weights=np.append(case.weights, case.weights[row]),
        folds=folds,
        source=np.append(case.source, case.source[row : row + 1], axis=0),
    )
    # Folds count by their rows: compare within the fold.
    alone = {"folds": [np.arange(len(case.folds[fold]))]}
    inside = case.estimate(
        METHODS["normalized"],
        losses=case.losses[:, case.folds[fold]],
        weights=heavier[case.folds[fold]],
        source=case.source[case.folds[fold]],
        **alone,
    )
    rest = [i for i in range(len(case.folds)) if i != fold]
    total = (len(case.folds[fold]) + 1) * np.asarray(inside.value)
    for i in rest:
        own = case.folds[i]
        part = case.estimate(
            METHODS["normalized"],
            losses=case.losses[:, own],
            weights=case.weights[own],
            source=case.source[own],
            folds=[np.arange(len(own))],
        )
        total = total + len(own) * np.asarray(part.value)
    assert_close(twice.value, total / (n + 1), rtol=1e-10, scale=case.scale)


@every_method
@holds_for(case=cases(), power=st.integers(-6, 6))
def test_the_units_of_the_features_do_not_matter(method, case, power):
    unit = 2.0 ** (power * case.rng.integers(-1, 2, size=case.source.shape[1]))
    place = unit * case.rng.integers(-3, 4, size=len(unit))
    other = case.estimate(
        method, source=case.source * unit + place, target=case.target * unit + place
    )
    one = case.estimate(method)
    assert_close(other.value, one.value, rtol=1e-5, scale=case.scale)
    assert_close(other.standard_error, one.standard_error, rtol=1e-4, scale=case.scale)


@every_method
@holds_for(case=cases())
def test_storage_does_not_matter_and_nothing_is_written(method, case):
    given = [case.losses, case.weights, case.source, case.target]

    def estimate(kind):
        losses, weights, source, target = (kind(a) for a in given)
        return cp.target_risk(losses, weights, method=method, X_source=source, X_target=target)

    def strided(a):
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]))
        wide[..., ::2] = a
        return wide[..., ::2]

    def read_only(a):
        a = a.copy()
        a.setflags(write=False)
        return a

    one = estimate(read_only)
    for kind in (np.asfortranarray, strided, np.ndarray.tolist):
        other = estimate(kind)
        assert_close(other.value, one.value, rtol=1e-9, scale=case.scale)
        assert_close(other.standard_error, one.standard_error, rtol=1e-7, scale=case.scale)


@every_method
@holds_for(case=cases(candidates=(1, 1)))
def test_frames_and_series_are_arrays(method, case):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    one = cp.target_risk(
        case.losses[0], case.weights, method=method, X_source=case.source, X_target=case.target
    )
    names = [f"x{j}" for j in range(case.source.shape[1])]
    index = case.rng.permutation(len(case.weights)) + 100  # a series counts by its order
    for library, options in ((pandas, {"index": index}), (polars, {})):
        frames = [
            library.DataFrame(X, columns=names)
            if library is pandas
            else library.DataFrame(X, schema=names)
            for X in (case.source, case.target)
        ]
        other = cp.target_risk(
            library.Series(case.losses[0], **options),
            library.Series(case.weights, **options),
            method=method,
            X_source=frames[0],
            X_target=frames[1],
        )
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.standard_error == pytest.approx(one.standard_error, rel=1e-7)


@every_method
@holds_for(case=cases())
def test_single_precision_is_close(method, case):
    features = {"X_source": case.source, "X_target": case.target}
    one = cp.target_risk(case.losses, case.weights, method=method, **features)
    single = cp.target_risk(
        case.losses.astype(np.float32),
        case.weights.astype(np.float32),
        method=method,
        **{name: X.astype(np.float32) for name, X in features.items()},
    )
    # A choice between penalties may fall the other way where two are nearly as good.
    loose = 0.05 if method.needs_rows else 1e-4
    assert_close(single.value, one.value, rtol=loose, scale=case.scale)


@every_average
@holds_for(case=cases(), cost=4)
def test_chunks_on_dask_are_memory(method, case):
    dask_array = pytest.importorskip("dask.array")
    cuts = np.sort(case.rng.choice(np.arange(1, len(case.weights)), size=2, replace=False))
    sizes = tuple(np.diff([0, *cuts, len(case.weights)]).tolist())
    losses = dask_array.from_array(case.losses, chunks=(1, sizes))
    weights = dask_array.from_array(case.weights, chunks=(sizes,))
    if method.name == "pareto_smoothed":  # sorts all weights
        with pytest.raises(ValueError, match="Dask"):
            cp.target_risk(losses, weights, method=method)
        return
    other = cp.target_risk(losses, weights, method=method)
    one = cp.target_risk(case.losses, case.weights, method=method)
    assert_close(other.value, one.value, rtol=1e-9, scale=case.scale)
