"""One function per display and theme, on the tables of the guide: ``candidates_light`` and so on."""

from functools import partial

import numpy as np
from guide_data import X, X_target, model, y

import counterpoise as cp
from counterpoise import present

search = cp.ShiftGridSearchCV(model, {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0]})
search.fit(X, y, X_target=X_target)


def candidates(theme):
    present.ForestDisplay.from_estimator(search, theme=theme)


def groups(theme):
    textures = (np.where(table["texture"] < 18, "smooth", "rough") for table in (X, X_target))
    found = search.risk_by_group(*textures)
    present.ForestDisplay.from_groups(found, theme=theme, risk_name="log loss in the target")


def balance(theme):
    present.BalanceDisplay.from_diagnostics(search.diagnostics_, theme=theme)


def shift_map(theme):
    present.ShiftMapDisplay.from_samples(X, X_target, weights=search.weights_, theme=theme)


for draw in (candidates, groups, balance, shift_map):
    for theme in ("light", "dark"):
        globals()[f"{draw.__name__}_{theme}"] = partial(draw, theme)
