"""Whether there is a shift, how large, in which columns, and whether weights can repair it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from sklearn.decomposition import PCA

from counterpoise.diagnostics import Diagnostics, diagnose
from counterpoise.diagnostics.balance import standardized_differences
from counterpoise.jobs._work import (
    Data,
    Encoded,
    Request,
    Weights,
    check_weights_name,
    encode,
    estimate_weights,
    some_rows,
)
from counterpoise.jobs.records import Audit, ColumnBalance, Provenance, ShiftMap

__all__ = ["audit", "describe", "judge"]

# Rows of each sample in the map.
_MAP_ROWS = 1000
# Two samples are told apart at this level.
_LEVEL = 0.01
# Area under the curve from which a shift is called strong: two normals 1 standard deviation apart.
_STRONG = 0.76
# A standardised mean difference from which a shift is called strong, usually called large.
_FAR = 0.8
# A standardised mean difference below 0.1 is usually called balanced (doi:10.1002/sim.3697).
_BALANCED = 0.1


def audit(data: Data, request: Request | None = None, /, *, weights: str | None = None) -> Audit:
    """Compare source and target, weight the source, and judge the result.

    Parameters
    ----------
    data : Data
        From :func:`counterpoise.jobs.load` or :func:`counterpoise.jobs.load_example`.
    request : Request, optional
        Seed, jobs, progress.
    weights : str, optional
        Name of a weight estimator, "auto" or "none". Default: "nearest"; "classifier" beyond 10
        encoded features with at least 5000 source rows.

    Returns
    -------
    Audit
    """
    request = request or Request()
    check_weights_name(weights)
    rng = np.random.default_rng(request.seed)
    encoded = encode(data, rng=rng, progress=request.progress)
    request.progress("estimating the weights", 0, 0)
    found = estimate_weights(weights, encoded, jobs=request.jobs, rng=rng)
    diagnostics = judge(data, found, request)
    return describe(data, encoded, found, diagnostics, request.provenance())


def judge(
    data: Data, weights: Weights, request: Request, /, *, losses: np.ndarray | None = None
) -> Diagnostics:
    """Diagnose in the units of the files, so that advice names what a reader knows."""
    # Weights that are all 0 mean disjoint samples, which the estimator has to say itself.
    known = np.any(weights.values > 0)
    return diagnose(
        data.pair.source,
        data.pair.target,
        weights=weights.values if known else weights.name.removeprefix("auto: "),
        losses=losses,
        random_state=request.seed,
        progress=lambda _: request.progress("diagnosing", 0, 0),
    )


def describe(
    data: Data,
    encoded: Encoded,
    weights: Weights,
    diagnostics: Diagnostics,
    provenance: Provenance,
    /,
) -> Audit:
    """Put the record together."""
    balance = _balance(encoded, data.pair.kinds, weights.values)
    shift, shift_words, shifted = _shift(diagnostics, balance)
    return Audit(
        source=data.source,
        target=data.target,
        columns=dict(data.pair.kinds),
        notes=list(data.pair.notes),
        shift=shift,
        shift_words=shift_words,
        shifted=shifted,
        diagnostics=diagnostics,
        weights_name=weights.name,
        weights_words=weights.words,
        weights=weights.values,
        balance=balance,
        shift_map=_map(encoded, weights.values, np.random.default_rng(provenance.seed)),
        provenance=provenance,
    )


def _balance(
    encoded: Encoded, kinds: Mapping[str, str], weights: np.ndarray
) -> list[ColumnBalance]:
    """Per column, the encoded feature whose mean differs most; largest first."""
    before, after = standardized_differences(encoded.source, encoded.target, weights)
    size = np.where(np.isnan(before), -1.0, np.abs(before))
    owners = np.asarray(encoded.encoding.columns, dtype=object)
    found = []
    for column, kind in kinds.items():
        own = np.flatnonzero(owners == column)
        most = int(own[np.argmax(size[own])])
        feature = encoded.encoding.features[most]
        found.append(ColumnBalance(column, kind, feature, float(before[most]), float(after[most])))
    return sorted(found, key=lambda column: -abs(column.before))


def _shift(diagnostics: Diagnostics, balance: list[ColumnBalance]) -> tuple[str, str, list[str]]:
    """How large the shift is, in a word and in sentences, and the columns with most of it."""
    noise = math.sqrt(1 / diagnostics.n_source + 1 / diagnostics.n_target)
    shifted = [c for c in balance if abs(c.before) > max(_BALANCED, 3 * noise)]
    told_apart = diagnostics.auc_p_value < _LEVEL
    curve = f"(area under the curve {diagnostics.auc:.2f}, p = {diagnostics.auc_p_value:.2g})"
    if not shifted and not told_apart:
        words = f"No shift was found: a classifier cannot tell source from target {curve}, "
        return "none", words + "and no column's mean differs.", []
    far = shifted and abs(shifted[0].before) >= _FAR
    size = "strong" if far or (told_apart and diagnostics.auc >= _STRONG) else "mild"
    can = "tells" if told_apart else "cannot tell"
    words = f"There is a {size} shift: a classifier {can} source from target {curve}"
    if not shifted:
        words += ", but no column's mean differs: spreads or relations between columns do."
        return size, words, []
    named = ", ".join(
        f"{c.feature} ({c.before:+.2f}, {c.after:+.2f} after weighting)" for c in shifted[:5]
    )
    more = f" and {len(shifted) - 5} more" if len(shifted) > 5 else ""
    link = "and" if told_apart else "but"
    words += f", {link} means differ, in standard deviations, in {named}{more}."
    return size, words, [c.column for c in shifted]


def _map(encoded: Encoded, weights: np.ndarray, rng: np.random.Generator) -> ShiftMap:
    rows = some_rows(encoded.source, _MAP_ROWS, rng)
    own = encoded.source[rows]
    other = encoded.target[some_rows(encoded.target, _MAP_ROWS, rng)]
    both = np.concatenate([own, other])
    components = min(2, *both.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        pca = PCA(components, svd_solver="full").fit(both)
    explained = [0.0, 0.0]
    explained[:components] = [float(e) for e in np.nan_to_num(pca.explained_variance_ratio_)]

    def place(X: np.ndarray) -> np.ndarray:
        points = np.zeros((len(X), 2))
        points[:, :components] = pca.transform(X)
        return points

    return ShiftMap(place(own), weights[rows], place(other), (explained[0], explained[1]))
