"""One function per display, on the tables of the guide."""

import numpy as np
from guide_data import X, X_target, model, y

import counterpoise as cp
from counterpoise import present

search = cp.ShiftGridSearchCV(model, {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0]})
search.fit(X, y, X_target=X_target)


def candidates():
    present.ForestDisplay.from_estimator(search)


def groups():
    sizes = (np.where(table["radius"] < 14, "small", "large") for table in (X, X_target))
    found = search.risk_by_group(*sizes)
    present.ForestDisplay.from_groups(found, risk_name="log loss in the target")


def balance():
    present.BalanceDisplay.from_diagnostics(search.diagnostics_)


def shift_map():
    present.ShiftMapDisplay.from_samples(X, X_target, weights=search.weights_)
