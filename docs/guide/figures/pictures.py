"""One function per display, on the problem of the paper; for the guide to pictures."""

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
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


def groups():
    grid = {"C": [0.01, 0.1, 1.0]}
    search = cp.ShiftGridSearchCV(LogisticRegression(), grid, random_state=0)
    search.fit(X, y, X_target=X_target)
    edges, names = [-1.0, 0.0], np.array(["x1 below -1", "x1 from -1 to 0", "x1 above 0"])
    own, target = (names[np.digitize(rows[:, 0], edges)] for rows in (X, X_target))
    found = search.risk_by_group(own, target)
    present.GroupRisksDisplay(found, risk_name="log loss in the target").plot()


def sensitivity():
    losses = (cross_val_predict(Ridge(model.alpha_), X, y) - y) ** 2
    found = cp.risk.sensitivity(losses, model.weights_, np.linspace(1, 3, 21))
    center = np.average(y, weights=model.weights_)
    constant = np.average((y - center) ** 2, weights=model.weights_)
    tipping, name = found.tipping(constant), "mean squared error"
    present.SensitivityDisplay(
        found.gammas, found.low, found.high, tipping=tipping, risk_name=name
    ).plot()
