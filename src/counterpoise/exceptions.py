"""The package's own exceptions, which are ValueErrors, and warnings. They say what to do.

Whatever is wrong with an argument raises a ValueError of some kind before any work starts. These
classes tell what the user passed in from a defect of the package.
"""

__all__ = ["InputError", "StoreError", "WeightWarning"]


class InputError(ValueError):
    """What was passed in cannot be used; the message says why and what to do, in one line.

    The command line prints the message without a traceback and ends with exit code 2.

    Examples
    --------
    >>> import counterpoise as cp
    >>> try:
    ...     cp.datasets.gaussian_2d(gamma=-1)
    ... except cp.exceptions.InputError as error:
    ...     print(str(error).split(".")[0])
    `gamma` must be a number above 0 and below inf; got -1
    """


class StoreError(InputError):
    """A directory cannot take or give the results of an experiment; the message says why.

    Raised by `experiments.Store`: the directory holds another configuration, belongs to a running
    process, cannot be written, or a file in it is damaged.
    """


class WeightWarning(UserWarning):
    """Weights do not have mean 1, as a density ratio has over the source.

    Given by `target_risk`, `compare_risks` and `cross_val_risk`; `diagnose` and the searches have
    it among their reasons.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     risk = cp.target_risk(np.arange(9.0), np.full(9, 10.0))
    >>> [warning.category.__name__ for warning in caught]
    ['WeightWarning']
    """
