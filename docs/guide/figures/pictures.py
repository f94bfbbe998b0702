"""One function per display, on the problem of the paper; for the guide to pictures."""

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import counterpoise as cp
from counterpoise import present

problem = cp.datasets.gaussian_2d(gamma=0.6)
X, y, X_target, _ = problem.sample(300, 1000, random_state=4)
model = cp.ShiftRidgeClassifierCV(alphas=np.logspace(-1, 5, 25)).fit(X, y, X_target=X_target)


def curve():
    fits = [Ridge(alpha=a).fit(X, y, sample_weight=model.weights_) for a in model.alphas_]
    truth = problem.linear_risk([f.coef_ for f in fits], [f.intercept_ for f in fits])
    present.RiskCurveDisplay.from_estimator(model, X, y, truth=truth)


def candidates():
    few = cp.ShiftRidgeClassifierCV(alphas=[0.1, 1, 10, 100, 1000, 10000], weights=model.weights_)
    present.CandidatesDisplay.from_estimator(few.fit(X, y), X, y)


def blend():
    families = [
        ("logistic", LogisticRegression(), {"C": [0.001, 0.1, 10.0]}),
        ("neighbours", KNeighborsClassifier(), {"n_neighbors": [5, 20, 60]}),
    ]
    search = cp.ShiftGridSearchCV(families, weights=model.weights_, refit="blend")
    present.BlendDisplay.from_estimator(search.fit(X, y, X_target=X_target))


def variance():
    few = cp.ShiftRidgeClassifierCV(alphas=[1, 100, 10000], weights=model.weights_).fit(X, y)
    methods = ["normalized", "truncated", "controlled"]
    present.VarianceReductionDisplay.from_estimator(few, X, y, methods=methods)


def weights():
    present.WeightsDisplay.from_estimator(model)


def balance():
    rng = np.random.default_rng(0)
    names = ["age", "income", "distance", "visits", "blood pressure", "region=north"]
    source = rng.normal(size=(400, 6))
    target = rng.normal([0.9, -0.5, 0.4, 0.1, 0.0, -0.05], 1.0, size=(1000, 6))
    ratio = cp.weights.GaussianRatio().fit(source, target)
    found = cp.diagnose(source, target, weights=ratio.weights_)
    present.BalanceDisplay(names, found.balance_before, found.balance_after).plot()


def shift_map():
    present.ShiftMapDisplay.from_estimator(model, X, X_target)
