"""Whether there is a shift, how large, in which columns, and whether weights can repair it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from counterpoise.diagnostics import Diagnostics, diagnose_encoded
from counterpoise.diagnostics.projection import project_encoded
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.loading import Data, encode
from counterpoise.jobs.records import Audit, ColumnBalance, Provenance, ShiftMap
from counterpoise.jobs.request import Request
from counterpoise.jobs.suggest import suggest_labels
from counterpoise.jobs.weighting import Weights, check_weights_name, estimate_weights
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["audit", "describe"]

# Rows of each sample in the map.
_MAP_ROWS = 1000


def audit(
    data: Data,
    request: Request | None = None,
    /,
    *,
    weights: str = DEFAULT_WEIGHTS,
    suggest: int | None = None,
) -> Audit:
    """Compare source and target, weight the source, and diagnose the weights.

    Parameters
    ----------
    data : Data
        From :func:`counterpoise.jobs.load` or :func:`counterpoise.jobs.load_example`.
    request : Request, optional
        Seed, jobs, progress.
    weights : str, default="auto"
        Name of a weight estimator, "auto" (kernel mean matching, or what replaces it where its
        weights collapse) or "none".
    suggest : int, optional
        Number of target rows to suggest for labelling; the data must have been read with labels.

    Returns
    -------
    Audit
    """
    request = request or Request()
    check_weights_name(weights)
    rng = np.random.default_rng(request.seed)
    encoded = encode(data, request)
    found = estimate_weights(weights, encoded, rng=rng, progress=request.progress)
    request.progress("diagnosing", 0, 0)
    diagnostics = diagnose_encoded(
        encoded, found.weights_, random_state=request.seed, used=(found.name,)
    )
    rows = None
    if suggest is not None:
        rows = suggest_labels(data, encoded, found, suggest, request)
    return replace(
        describe(data, encoded, found, diagnostics, request.provenance()), suggested=rows
    )


def describe(
    data: Data,
    encoded: EncodedPair,
    weights: Weights,
    diagnostics: Diagnostics,
    provenance: Provenance,
    /,
) -> Audit:
    """Put the record together."""
    return Audit(
        source=data.source,
        target=data.target,
        columns=dict(data.pair.kinds),
        notes=list(data.pair.notes),
        diagnostics=diagnostics,
        weights_name=weights.name,
        weights_words=weights.words,
        weights=weights.weights_,
        balance=_balance(diagnostics, data.pair.kinds),
        shift_map=_map(encoded, weights.weights_, np.random.default_rng(provenance.seed)),
        provenance=provenance,
    )


def _balance(found: Diagnostics, kinds: Mapping[str, str]) -> list[ColumnBalance]:
    """Return, per column, the encoded feature whose mean differs most; largest first."""
    before, after = found.balance_before, found.balance_after
    size = np.where(np.isnan(before), -1.0, np.abs(before))
    owners = np.asarray(found.feature_columns, dtype=object)
    balance = []
    for column, kind in kinds.items():
        own = np.flatnonzero(owners == column)
        most = int(own[np.argmax(size[own])])
        differences = float(before[most]), float(after[most])
        balance.append(ColumnBalance(column, kind, found.features[most], *differences))
    return sorted(balance, key=lambda column: -abs(column.before))


def _map(encoded: EncodedPair, weights: np.ndarray, rng: np.random.Generator) -> ShiftMap:
    rows = some_rows(len(encoded.source), _MAP_ROWS, rng)
    others = some_rows(len(encoded.target), _MAP_ROWS, rng)
    own, other, labels = project_encoded(
        encoded.independent(encoded.source[rows]),
        encoded.independent(encoded.target[others]),
        encoded.encoder.get_feature_names_out()[encoded.encoder.independent_],
    )
    return ShiftMap(own, weights[rows], other, labels)
