"""What the two simulated problems share: how they draw samples, and moments of normal features."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from counterpoise._random import as_generator
from counterpoise._validation import check_number


class DomainSample(NamedTuple):
    """Labelled samples of both domains.

    A method may use the target's labels only to be judged, never to learn. Data sets drawn
    together have a leading axis of length `repetitions`.

    Attributes
    ----------
    X_source : array of shape (..., n_source, n_features)
    y_source : array of shape (..., n_source)
        Labels -1.0 and +1.0.
    X_target : array of shape (..., n_target, n_features)
    y_target : array of shape (..., n_target)
    """

    X_source: np.ndarray
    y_source: np.ndarray
    X_target: np.ndarray
    y_target: np.ndarray


class SampledProblem:
    """A problem that draws labelled samples of both domains."""

    def sample(
        self,
        n_source: int = 50,
        n_target: int = 1000,
        *,
        repetitions: int | None = None,
        random_state: Any = None,
    ) -> DomainSample:
        """Draw labelled samples of both domains.

        In the released protocol of the 2-D problem each class gets exactly half of every sample,
        in random order; of an odd number of points, the one left over has either class with
        probability 1/2. The points have the law of rejection sampling but are drawn directly.

        Parameters
        ----------
        n_source, n_target : int
            Points per data set.
        repetitions : int, optional
            Number of data sets, as a leading axis; None draws one without it.
        random_state : int, numpy Generator or None
            The same seed and sizes give the same numbers.

        Returns
        -------
        DomainSample
            With X of shape (..., n, n_features) and labels -1.0, +1.0.
        """
        sizes = {"n_source": n_source, "n_target": n_target}
        sizes |= {} if repetitions is None else {"repetitions": repetitions}
        for name, size in sizes.items():
            check_number(size, name, low=1, closed="low", integer=True)
        batch = () if repetitions is None else (int(repetitions),)
        rng = as_generator(random_state)
        source = self._draw(rng, (*batch, int(n_source)), "source")
        return DomainSample(*source, *self._draw(rng, (*batch, int(n_target)), "target"))

    def source_density(self, X: ArrayLike) -> Any:
        """Return the density of the source's features at points."""
        return self._density(X, "source")

    def target_density(self, X: ArrayLike) -> Any:
        """Return the density of the target's features at points."""
        return self._density(X, "target")

    def _density(self, X: ArrayLike, domain: str) -> Any:
        raise NotImplementedError

    def _draw(self, rng: Any, shape: tuple[int, ...], domain: str) -> tuple[Any, Any]:
        """Return X (*shape, n_features) and y (shape) of a domain."""
        raise NotImplementedError


def normal_density(x: Any, mean: Any, variance: Any, /) -> Any:
    """Return the density of N(mean, variance) at x, elementwise."""
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * math.pi * variance)


def normal_moments(mean: Any, variance: Any, /, *, order: int) -> list[Any]:
    """Return E[x^k] for k = 0 ... order under x ~ N(mean, variance).

    By Stein's identity, E[x^(k+1)] = mean E[x^k] + variance k E[x^(k-1)].
    """
    moments = [np.ones_like(mean * variance), mean * np.ones_like(variance)]
    for k in range(1, order):
        moments.append(mean * moments[k] + variance * k * moments[k - 1])
    return moments[: order + 1]


def probit_moments(mean: Any, variance: Any, /, *, slope: float, order: int) -> list[Any]:
    """Return E[x^k Phi(slope x)] for k = 0 ... order under x ~ N(mean, variance).

    The mass is E[Phi(slope x)] = Phi(slope mean / sqrt(1 + slope^2 variance)); by Stein's
    identity, with f(x) = x^k Phi(slope x), E[x f(x)] = mean E[f(x)] + variance E[f'(x)], which
    climbs from k to k + 1. The derivative brings in E[x^k phi(slope x)]: a normal density times
    a normal density is again one, with mean and variance divided by 1 + slope^2 variance.
    """
    spread = 1 + slope**2 * variance
    height = normal_density(slope * mean, 0.0, spread)
    bumps = normal_moments(mean / spread, variance / spread, order=order)
    moments = [ndtr(slope * mean / np.sqrt(spread))]
    for k in range(order):
        lower = k * moments[k - 1] if k else 0.0
        moments.append(mean * moments[k] + variance * (lower + slope * height * bumps[k]))
    return moments
