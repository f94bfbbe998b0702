"""A model of the loss, averaged over the target, and what it can see of a model's predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise._arrays import Namespace
from counterpoise.metrics import Predicted
from counterpoise.risk.averages import Adjustment, Controlled, Prepared
from counterpoise.risk.estimation import source_risk
from counterpoise.risk.held_out import Domains, HeldOut, target_rows

# Trees of a forest, and the rows that each draws, at most.
_TREES, _TREE_ROWS = 60, 2000
_FOLDS = 5
_PENALTIES = np.logspace(-1, 5, 13)


@dataclass(frozen=True)
class Modelled(Adjustment):
    """Mean over the target of a random forest's model of the loss.

    R = mean over the target of f(x), with a forest f that averages the losses of similar source
    rows. It needs no weights, so that no few rows decide. The errors are those of
    :class:`Controlled`, in proportion to the value.

    Right if the loss depends on the features in the same way in both domains and the forest has
    learned how. It cannot extrapolate: beyond the source, the loss is that of the nearest rows.
    Where losses are negative, or either estimate is not positive, it is the controlled one.
    """

    name: ClassVar[str] = "modelled"
    needs_features: ClassVar[bool] = True

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Scale the losses so that their controlled mean is the modelled one."""
        domains, losses = held_out.domains, held_out.losses
        assert domains is not None  # see `Method.check_features`
        folds = source_risk(replace(held_out, domains=None, labelled=None), Controlled())[1]
        shares = [len(fold) for fold in held_out.folds]
        controlled = np.average(folds.values, axis=-1, weights=shares)
        usable = (controlled > 0) & np.all(losses >= 0, axis=-1)
        scale = np.ones(len(losses))
        for i in np.flatnonzero(usable):
            modelled = _mean_at(domains.source, losses[i], domains.target)
            scale[i] = modelled / controlled[i] if modelled > 0 else 1.0
        return Prepared(losses * scale[:, None], held_out.weights, Controlled())


def with_predictions(held_out: HeldOut, predicted: Predicted, there: np.ndarray, /) -> HeldOut:
    """Add features that tell where a model of numbers errs; `there` it predicts in the target.

    They are its prediction, and how far that is from those of a forest and of a ridge regression
    for the same label. Models of source rows have not seen their group.
    """
    domains, y, prediction = held_out.domains, predicted.y, predicted.prediction
    assert domains is not None
    units, there = held_out.folds.groups, there[target_rows(len(there))]
    units = np.arange(len(y)) if units is None else units
    count, X, X_target = min(_FOLDS, len(np.unique(units))), domains.source, domains.target
    here, over_there = [X, prediction], [X_target, there]
    if count > 1:
        splits = list(GroupKFold(count).split(X, groups=units))
        for model in (_forest(len(y), 1 / 3), make_pipeline(StandardScaler(), RidgeCV(_PENALTIES))):
            said = cross_val_predict(model, X, y, cv=splits)
            here.append(np.abs(said - prediction))
            over_there.append(np.abs(model.fit(X, y).predict(X_target) - there))
    columns = np.column_stack(here), np.column_stack(over_there)
    return replace(held_out, domains=Domains(*columns, domains.target_weights))


def _mean_at(source: np.ndarray, losses: np.ndarray, target: np.ndarray) -> float:
    """Return the mean loss over the target; 0 where no loss is positive."""
    mean = np.mean(losses)
    if not mean > 0:
        return 0.0
    # In an order that is that of the rows' content: the forest draws rows by their number.
    order = np.lexsort((losses, *source.T))
    # Single precision: rounding in another unit of the loss must not decide between equal splits.
    model = _forest(len(losses)).fit(source[order], (losses[order] / mean).astype(np.float32))
    return float(mean * np.mean(model.predict(target)))


def _forest(n: int, max_features: float = 1.0) -> Any:
    """Return a forest for n rows; trees of many rows get 2000 of them each."""
    share = None if n <= _TREE_ROWS else _TREE_ROWS / n
    trees: Any = {"max_features": max_features, "max_samples": share, "min_samples_leaf": 5}
    return make_pipeline(StandardScaler(), RandomForestRegressor(_TREES, random_state=0, **trees))
