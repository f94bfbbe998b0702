"""Every private name of scikit-learn that is used, in one place."""

from sklearn.utils._param_validation import InvalidParameterError as InvalidParameterError

__all__ = ["InvalidParameterError"]
