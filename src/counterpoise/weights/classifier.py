"""Density ratios from the odds of a classifier that tells target rows from source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._arrays import Array, array_namespace, is_array, to_numpy
from counterpoise._validation import (
    check_number,
    check_same_columns,
    check_same_width,
)
from counterpoise.encoding import TableEncoder
from counterpoise.encoding.rows import as_table, result_like, row_order, stack_tables, take
from counterpoise.weights.base import DensityRatio, warn_no_overlap
from counterpoise.weights.cost import FitCost

__all__ = ["ClassifierRatio", "odds_ratio"]

# Penalty of the default logistic regression, on features of unit size. Weaker penalties lose
# held-out score on small samples and gain next to none on large ones.
_PENALTY = 0.1
# Area under the curve, on held-out rows, of two normal samples four standard deviations apart.
_NO_OVERLAP = 0.998
# Folds of a classifier that was passed.
_FOLDS = 5
# Iterations that the default classifier usually takes.
_ITERATIONS = 30


class ClassifierRatio(DensityRatio):
    """Odds of a classifier for "target" against "source", times n_source / n_target.

    By Bayes' rule p_target(x) / p_source(x) = P(target | x) / P(source | x) n_source / n_target,
    with the probabilities among the pooled rows: a density ratio is a classification problem.
    Whatever a classifier can read is allowed: data frames with text, categories, dates and missing
    values, or any pipeline.

    The weights are as good as the probabilities. The default classifier is smooth, and gives the
    rows that it was fitted to their probabilities: folds would fit another model to each part of
    the rows, which made the error of weighted means several times as large on real tables
    (``benchmarks/weight_study.py``). A classifier that can learn rows by heart (forests, boosting)
    must be judged on others: of a classifier that you pass, each source row gets its probability
    from a fit without it (`cv`). Classifiers with good ranking and poor probabilities (boosting,
    naive Bayes, support vector machines) should be wrapped in scikit-learn's
    `CalibratedClassifierCV`. Classes must not be reweighted (``class_weight``): the factor
    n_source / n_target accounts for their sizes. In a region with no overlap the form of the
    classifier alone decides the odds.

    Cost: one fit, and `cv` more where there are folds. Each fit of the default is O((n + m) D) per
    iteration; its memory is a few copies of the encoded features.

    Parameters
    ----------
    classifier : scikit-learn classifier or pipeline, default=None
        Must have `predict_proba`. None: a logistic regression (C = 0.1) on the features and their
        squares, scaled to unit variance; missing numbers are replaced by the median and flagged,
        other columns are one-hot encoded with rare categories pooled. Pass a pipeline with
        `PolynomialFeatures` where interactions matter.
    cv : int, None or "auto", default="auto"
        Folds of the cross-fitting, stratified by domain; not more than there are rows in the
        smaller sample. None (or a sample of one row): the probabilities are in-sample. "auto":
        None for the default classifier, 5 for one that you pass.
    normalize : bool, default=False
        Divide the weights by their mean over the source points, which is about 1.
    standardize : bool, default=False
        Scale the features by the target's mean and standard deviation first; for numeric data
        without missing values. The default classifier scales by itself.
    random_state : int, RandomState or None, default=0
        Shuffles the rows into folds. The classifier keeps its own `random_state`.
    n_jobs : int or None, default=None
        Folds fitted at the same time.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The ratio at the source points; where there are folds, from fits that have not seen them.
    classifier_ : estimator
        Fitted on all rows (sorted); `predict` uses it.
    separation_ : float
        Area under the ROC curve of telling target from source rows with those probabilities: 0.5
        where no shift is seen, near 1 (a warning says so) where the samples hardly overlap. Where
        in-sample probabilities say that and cv="auto", it is that of five folds.
    probability_bound_ : float
        1 / (2 (n_source + n_target)): probabilities are clipped to between this and 1 minus
        this. No sample of that size can show that they are closer to 0 or 1.

    Notes
    -----
    Rows are sorted before they are split and fitted, so the result does not depend on their order
    (identical rows may be in different folds, and then differ a little in weight).

    References
    ----------
    Bickel, Brückner, Scheffer (2009), https://jmlr.org/papers/v10/bickel09a.html. Menon, Ong
    (2016), https://proceedings.mlr.press/v48/menon16.html.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import ClassifierRatio
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (5000, 1)), rng.normal(0, 1, (9000, 1))
    >>> ratio = ClassifierRatio().fit(X_source, X_target)
    >>> ratio.predict([[-0.5]]).round(1)  # halfway, the densities are equal
    array([1.])
    """

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: int | str | None = "auto",
        normalize: bool = False,
        standardize: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.normalize = normalize
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit_cost(self, n_source: int, n_target: int, n_features: int) -> FitCost:
        """Count the work of a fit; see `FitCost`. Zero for a classifier that you pass."""
        if self.classifier is not None:
            return FitCost()
        # Features and their squares: two passes over them for each iteration, and the encoding.
        entries = 2.0 * n_features * (n_source + n_target)
        fits = 1 + (self.cv if isinstance(self.cv, int) else 0)
        return FitCost(0.0, 0.0, 3 * 8.0 * entries, (2.0 * _ITERATIONS + 20.0) * fits * entries)

    def _check_fit(self, X_source: Any, X_target: Any) -> tuple[Any, Any]:
        if self.standardize:
            return super()._check_fit(X_source, X_target)
        check_same_columns(X_source, X_target)
        X_source, X_target = as_table(X_source, "X_source"), as_table(X_target, "X_target")
        check_same_width(X_target, X_source.shape[1], "X_target", "X_source")
        return X_source, X_target

    def _check_predict(self, X: Any) -> Any:
        if self.standardize:
            return super()._check_predict(X)
        self._check_names(X)
        X = as_table(X, "X")
        check_same_width(X, self.n_features_in_, "X", "X_source")
        return X

    def _fit(self, X_source: Any, X_target: Any) -> Array:
        source, target = (to_numpy(X) if is_array(X) else X for X in (X_source, X_target))
        n, m = source.shape[0], target.shape[0]
        model = self._model()
        self.probability_bound_ = 0.5 / (n + m)
        order = row_order(source)
        X = stack_tables(take(source, order), take(target, row_order(target)))
        is_target = np.repeat([0, 1], [n, m])
        everything = np.arange(n + m)
        folds = self._folds(is_target)
        fits = self._odds(model, X, is_target, [(everything, everything), *folds])
        self.classifier_, self.prior_ratio_ = fits[0][0], n / m
        pooled = np.empty(n + m)
        # Where there are folds, they overwrite what the fit to all rows says of its own rows.
        for (_, test), (_, odds) in zip([(everything, everything), *folds], fits, strict=True):
            pooled[test] = odds
        self.separation_ = self._separation(model, X, is_target, pooled, in_sample=not folds)
        ratio = np.empty(n)
        ratio[order] = pooled[:n]
        return result_like(ratio, X_source)

    def _odds(
        self, model: Any, X: Any, is_target: np.ndarray, splits: list[tuple[Any, Any]]
    ) -> list[tuple[Any, np.ndarray]]:
        """For each split, the model fitted to its training rows and the ratio at its test rows."""
        fits = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_and_predict)(model, X, is_target, *split) for split in splits
        )
        found = []
        for (train, _), (fitted, probability) in zip(splits, fits, strict=True):
            n_train = np.bincount(is_target[train])
            prior = n_train[0] / n_train[1]
            found.append((fitted, odds_ratio(probability, prior, bound=self.probability_bound_)))
        return found

    def _separation(
        self, model: Any, X: Any, is_target: np.ndarray, pooled: np.ndarray, *, in_sample: bool
    ) -> float:
        """Area under the curve; of held-out rows where an in-sample one says "no overlap"."""
        found = float(roc_auc_score(is_target, pooled))
        if in_sample and self._is_auto and found > _NO_OVERLAP:
            splits = self._split(is_target, _FOLDS)
            if splits:
                held_out = np.empty(len(pooled))
                for (_, test), (_, odds) in zip(
                    splits, self._odds(model, X, is_target, splits), strict=True
                ):
                    held_out[test] = odds
                found = float(roc_auc_score(is_target, held_out))
        return found

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "auto"

    def _ratio(self, X: Any) -> Array:
        table = to_numpy(X) if is_array(X) else X
        probability = _probability(self.classifier_, table)
        ratio = odds_ratio(probability, self.prior_ratio_, bound=self.probability_bound_)
        return result_like(ratio, X)

    def _model(self) -> Any:
        model = self.classifier
        if model is None:
            model = make_pipeline(
                TableEncoder(squares=True), LogisticRegression(C=_PENALTY, max_iter=1000)
            )
        _refuse_class_weights(model)
        if not hasattr(model, "predict_proba"):
            raise ValueError(
                f"`classifier` must have predict_proba; {type(model).__name__} does not (as it is "
                "set). Wrap it in scikit-learn's CalibratedClassifierCV."
            )
        return model

    def _folds(self, is_target: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows to train on and rows to predict, for each fold; no folds for in-sample."""
        cv: Any = self.cv
        if self._is_auto:
            cv = None if self.classifier is None else _FOLDS
        if cv is None:
            return []
        remedy = 'Pass None for no folds, or "auto".'
        check_number(cv, "cv", low=2, closed="low", integer=True, remedy=remedy)
        return self._split(is_target, cv)

    def _split(self, is_target: np.ndarray, cv: int) -> list[tuple[np.ndarray, np.ndarray]]:
        n_folds = min(cv, int(np.min(np.bincount(is_target))))
        if n_folds < 2:
            return []
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        return list(folds.split(is_target, is_target))

    def _warn_without_overlap(self, X_source: Any, X_target: Any, ratio: Array) -> None:
        """Warn if the classifier separates held-out rows of the two samples."""
        smaller = min(X_source.shape[0], X_target.shape[0])
        if self.cv is not None and smaller > 1 and self.separation_ > _NO_OVERLAP:
            warn_no_overlap(
                "the classifier tells rows of one from rows of the other almost without error "
                f"(area under the curve {self.separation_:.4f})"
            )


def odds_ratio(probability: Array, prior_ratio: float, /, *, bound: float) -> Array:
    """Return p / (1 - p) times `prior_ratio`, n_source / n_target where p was learnt.

    Probabilities p of the target are clipped to [bound, 1 - bound] first.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights.classifier import odds_ratio
    >>> odds_ratio(np.asarray([0.5, 0.8]), 2.0, bound=1e-6)
    array([2., 8.])
    """
    probability = array_namespace(probability).clip(probability, bound, 1 - bound)
    return probability / (1 - probability) * prior_ratio


def _fit_and_predict(
    model: Any, X: Any, is_target: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[Any, np.ndarray]:
    fitted = clone(model).fit(take(X, train), is_target[train])
    return fitted, _probability(fitted, take(X, test))


def _probability(fitted: Any, X: Any) -> np.ndarray:
    """Probability of the target, in whichever column the classifier keeps it."""
    column = list(fitted.classes_).index(1)
    return np.asarray(fitted.predict_proba(X)[:, column], dtype=np.float64)


def _refuse_class_weights(model: Any) -> None:
    if not hasattr(model, "fit") or isinstance(model, type):
        raise ValueError(
            f"`classifier` must be a scikit-learn classifier or pipeline, or None; got {model!r}."
        )
    for name, value in model.get_params().items():
        if name.split("__")[-1] == "class_weight" and value is not None:
            raise ValueError(
                f"`classifier` must not reweight the classes, but has {name}={value!r}: the odds "
                "are turned into a density ratio by the sizes of the samples. Set it to None."
            )
