"""Every private name of scikit-learn that is used, in one place.

scikit-learn may move them in any release; the tests run against the oldest and the newest version
that is supported.
"""

from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "BaseSearchCV",
    "InvalidParameterError",
    "check_method_params",
    "num_samples",
    "ovr_decision_function",
    "safe_indexing",
    "safe_split",
]
