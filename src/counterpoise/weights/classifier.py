"""Density ratios from the odds of a classifier that tells target rows from source rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from counterpoise._arrays import Array, is_array, to_numpy
from counterpoise._validation import check_number, check_same_width, match_columns
from counterpoise.encoding import TableEncoder
from counterpoise.encoding.rows import as_table, result_like, row_order, stack_tables, take
from counterpoise.weights.base import DensityRatio, warn_no_overlap

# Penalty of the default logistic regression, on features of unit size. Weaker penalties lose
# held-out score on small samples and gain next to none on large ones.
_PENALTY = 0.1
# Area under the curve, on held-out rows, of two normal samples four standard deviations apart.
_NO_OVERLAP = 0.998
# Folds of a classifier that was passed.
_FOLDS = 5


class ClassifierRatio(DensityRatio):
    """Odds of a classifier for "target" against "source", times n_source / n_target.

    By Bayes' rule p_target(x) / p_source(x) = P(target | x) / P(source | x) n_source / n_target,
    with the probabilities among the pooled rows: a density ratio is a classification problem.
    Whatever a classifier can read is allowed: data frames with text, categories, dates and missing
    values, or any pipeline.

    The weights are as good as the probabilities. The default classifier is smooth, and gives the
    rows that it was fitted to their probabilities: folds made the error of weighted means several
    times as large on real tables. A classifier that can learn rows by heart (forests, boosting)
    must be judged on others: of a classifier that you pass, each source row gets its probability
    from a fit without it (`cv`). Classifiers with good ranking and poor probabilities (boosting,
    naive Bayes, support vector machines) should be wrapped in scikit-learn's
    `CalibratedClassifierCV`. Classes must not be reweighted (``class_weight``). In a region with no
    overlap the form of the classifier alone decides the odds.

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
        1 / (2 (n_source + n_target)): no sample of that size can show a probability to be closer to
        0 or 1, and they are clipped there.

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
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.normalize = normalize
        self.standardize = standardize
        self.random_state = random_state

    def _check_fit(self, X_source: Any, X_target: Any) -> tuple[Any, Any]:
        if self.standardize:
            return super()._check_fit(X_source, X_target)
        X_target = match_columns(X_source, X_target)
        X_source, X_target = as_table(X_source, "X_source"), as_table(X_target, "X_target")
        check_same_width(X_target, X_source.shape[1], "X_target", "X_source")
        return X_source, X_target

    def _as_rows(self, X: Any) -> Any:
        return super()._as_rows(X) if self.standardize else as_table(X, "X")

    def _fit(self, X_source: Any, X_target: Any) -> Array:
        source, target = (to_numpy(X) if is_array(X) else X for X in (X_source, X_target))
        n, m = source.shape[0], target.shape[0]
        model = self._model()
        self.probability_bound_, self.prior_ratio_ = 0.5 / (n + m), n / m
        order = row_order(source)
        X = stack_tables(take(source, order), take(target, row_order(target)))
        is_target = np.repeat([0, 1], [n, m])
        self.classifier_ = clone(model).fit(X, is_target)
        is_auto = isinstance(self.cv, str) and self.cv == "auto"
        n_folds = self._n_folds(min(n, m), is_auto)
        if n_folds > 1:
            odds = self._held_out_odds(model, X, is_target, n_folds)
        else:
            odds = self._odds(self.classifier_, X, self.prior_ratio_)
        self.separation_ = float(roc_auc_score(is_target, odds))
        # In-sample, a classifier may separate samples that overlap.
        if is_auto and n_folds < 2 and min(n, m) > 1 and self.separation_ > _NO_OVERLAP:
            held_out = self._held_out_odds(model, X, is_target, min(_FOLDS, n, m))
            self.separation_ = float(roc_auc_score(is_target, held_out))
        ratio = np.empty(n)
        ratio[order] = odds[:n]
        return result_like(ratio, X_source)

    def _held_out_odds(self, model: Any, X: Any, is_target: np.ndarray, n_folds: int) -> np.ndarray:
        """Return the ratio at every row from a fit to the other folds."""
        odds = np.empty(len(is_target))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        for train, test in folds.split(is_target, is_target):
            fitted = clone(model).fit(take(X, train), is_target[train])
            n_source, n_target = np.bincount(is_target[train])
            odds[test] = self._odds(fitted, take(X, test), n_source / n_target)
        return odds

    def _odds(self, fitted: Any, X: Any, prior_ratio: float) -> np.ndarray:
        column = list(fitted.classes_).index(1)  # wherever the classifier keeps the target
        probability = np.asarray(fitted.predict_proba(X)[:, column], dtype=np.float64)
        bound = self.probability_bound_
        probability = np.clip(probability, bound, 1 - bound)
        return probability / (1 - probability) * prior_ratio

    def _ratio(self, X: Any) -> Array:
        table = to_numpy(X) if is_array(X) else X
        return result_like(self._odds(self.classifier_, table, self.prior_ratio_), X)

    def _model(self) -> Any:
        model = self.classifier
        if model is None:
            model = make_pipeline(
                TableEncoder(squares=True), LogisticRegression(C=_PENALTY, max_iter=1000)
            )
        if not hasattr(model, "fit") or isinstance(model, type):
            raise ValueError(
                "`classifier` must be a scikit-learn classifier or pipeline, or None; got "
                f"{model!r}."
            )
        for name, value in model.get_params().items():
            if name.split("__")[-1] == "class_weight" and value is not None:
                raise ValueError(
                    f"`classifier` must not reweight the classes, but has {name}={value!r}: the "
                    "odds are turned into a density ratio by the sizes of the samples. Set it to "
                    "None."
                )
        if not hasattr(model, "predict_proba"):
            raise ValueError(
                f"`classifier` must have predict_proba; {type(model).__name__} does not (as it is "
                "set). Wrap it in scikit-learn's CalibratedClassifierCV."
            )
        return model

    def _n_folds(self, most: int, is_auto: bool) -> int:
        """Return how many folds there are; below 2, probabilities are in-sample."""
        cv: Any = self.cv
        if is_auto:
            cv = None if self.classifier is None else _FOLDS
        if cv is None:
            return 0
        remedy = 'Pass None for no folds, or "auto".'
        check_number(cv, "cv", low=2, closed="low", integer=True, remedy=remedy)
        return int(min(cv, most))

    def _warn_without_overlap(self, X_source: Any, X_target: Any, ratio: Array) -> None:
        """Warn if the classifier separates held-out rows of the two samples."""
        smaller = min(X_source.shape[0], X_target.shape[0])
        if self.cv is not None and smaller > 1 and self.separation_ > _NO_OVERLAP:
            warn_no_overlap(
                "the classifier tells rows of one from rows of the other almost without error "
                f"(area under the curve {self.separation_:.4f})"
            )
