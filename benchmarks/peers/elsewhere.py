"""Peers that need an environment of their own: ``judgement.py`` calls this file with its Python.

    python elsewhere.py nannyml FOLDER '{"features": [...], "metrics": [...]}'
    python elsewhere.py autogluon FOLDER '{"task": "regression", "seconds": 60}'

Reads ``source.parquet`` and ``target.parquet`` and writes ``found.json``. Neither package is
imported from the environment of counterpoise: their requirements exclude its own.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

LABEL = "the label"
NAMES = {"auc": "roc_auc"}


def nannyml(source: Any, target: Any, features: list[str], metrics: list[str]) -> dict[str, Any]:
    """Return value and bounds of each metric: DLE for numbers, CBPE for two classes."""
    import nannyml as nml

    names = [NAMES.get(metric, metric) for metric in metrics]
    own: dict[str, Any] = {"y_true": "y", "y_pred": "prediction", "chunk_number": 1}
    if "probability" in source:
        kind = "classification_binary"
        model = nml.CBPE(metrics=names, y_pred_proba="probability", problem_type=kind, **own)
    else:
        model = nml.DLE(metrics=names, feature_column_names=features, **own)
    found = model.fit(source).estimate(target).filter(period="analysis").to_df()
    ends = ("value", "lower_confidence_boundary", "upper_confidence_boundary")
    return {
        metric: [float(found[name][end].iloc[0]) for end in ends]
        for metric, name in zip(metrics, names, strict=True)
    }


def autogluon(source: Any, target: Any, task: str, seconds: int) -> dict[str, Any]:
    """Return predictions or probabilities, and the processor time."""
    from autogluon.tabular import TabularPredictor

    start = time.process_time()
    classes = task == "classification"
    kind = None if classes else "regression"
    metric = "log_loss" if classes else "root_mean_squared_error"
    path = str(Path(sys.argv[2], "models"))
    model = TabularPredictor(LABEL, kind, metric, path=path, verbosity=0)
    model.fit(source, time_limit=seconds, num_cpus=1)
    said = model.predict_proba(target) if classes else model.predict(target)
    return {"said": said.to_numpy().tolist(), "seconds": time.process_time() - start}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, folder, asked = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    frames = [pd.read_parquet(folder / f"{side}.parquet") for side in ("source", "target")]
    found = {"nannyml": nannyml, "autogluon": autogluon}[what](*frames, **asked)
    (folder / "found.json").write_text(json.dumps(found))
