"""The tables that the guide's code blocks use: biased rows of scikit-learn's breast cancer data.

200 labelled tumours are the source, the others the target. Which tumours were selected depends on
the columns alone.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp

tumours = load_breast_cancer(as_frame=True).frame
tumours = tumours[[name for name in tumours if name.startswith("mean") or name == "target"]]
tumours.columns = [name.removeprefix("mean ").replace("target", "benign") for name in tumours]
_sample = cp.datasets.biased_sample(tumours.drop(columns="benign"), 200, random_state=0)
source, truth = tumours.iloc[_sample.rows], tumours.drop(index=_sample.rows)
target = truth.drop(columns="benign")
X, y, X_target = source.drop(columns="benign"), source["benign"].to_numpy(), target
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
# Labels of 30 random target rows, NaN for the others.
labelled = np.random.default_rng(1).choice(len(truth), 30, replace=False)
y_target = np.full(len(truth), np.nan)
y_target[labelled] = truth["benign"].to_numpy()[labelled]
