"""The paper's synthetic experiment: two normal features, labels from a product of probits.

The labels have a latent form that makes drawing cheap. With z ~ N(0, I) and t = slope x + z,
y = +1 exactly where both t1 < 0 and t2 < 0, because P(z_j < -slope x_j) = Phi(-slope x_j). Every
(x_j, t_j) is bivariate normal, so the class rates and the features given the class are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from counterpoise._arrays import Array, array_namespace, as_scalar, to_numpy
from counterpoise._random import normal_quantile, permutations
from counterpoise._validation import check_choice, check_matrix, check_number
from counterpoise.datasets.problem import SampledProblem, normal_density, probit_moments

# Of the features; only the first one of the source is not 0.
_MEANS = {"source": (-1.0, 0.0), "target": (0.0, 0.0)}
_SLOPES = {"paper": 1.0, "released": 2.0}


def gaussian_2d(gamma: float = 0.7, *, protocol: str = "paper") -> Gaussian2D:
    """Return the synthetic problem of the paper's experiments (Section 5).

    Target x ~ N(0, I), source x ~ N((-1, 0), gamma I). Here `gamma` is a **variance** (in
    `gaussian_1d` it is a standard deviation). The paper and the scripts that its authors released
    differ in the labels:

    "paper"
        P(y = +1 | x) = Phi(-x1) Phi(-x2), labels drawn from it: covariate shift holds exactly.
    "released"
        Candidates get labels from Phi(-2 x1) Phi(-2 x2) and are kept until each class has half
        of the points. That changes the problem: each domain is a balanced mixture of its two
        class-conditional densities, no longer normal, and the posterior after balancing differs
        between the domains, because their classes were thinned differently. Even the exact ratio
        of the densities then does not make the weighted risk equal the target risk.

    Parameters
    ----------
    gamma : float, default=0.7
        Variance of each source feature, positive. The weights have finite variance only for
        gamma > 1/2.
    protocol : {"paper", "released"}, default="paper"

    Returns
    -------
    Gaussian2D
        With `sample` to draw data; the functions `weights`, `source_density`, `target_density` and
        `posterior` of points; and the truth about linear predictors, `linear_risk` and
        `best_linear`.

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514.

    Examples
    --------
    >>> from counterpoise.datasets import gaussian_2d
    >>> problem = gaussian_2d(gamma=0.7)
    >>> X_source, y_source, X_target, y_target = problem.sample(repetitions=100, random_state=0)
    >>> X_source.shape, y_target.shape
    ((100, 50, 2), (100, 1000))
    >>> coef, intercept, risk = problem.best_linear()
    >>> round(intercept, 2), round(risk, 4)
    (-0.5, 0.5908)
    >>> round(problem.linear_risk([-0.5, -0.5], 0.0), 3)
    0.936
    """
    remedy = "It is the variance of the source's features, such as 0.7."
    check_number(gamma, "gamma", low=0, high=math.inf, remedy=remedy)
    check_choice(protocol, "protocol", tuple(_SLOPES))
    return Gaussian2D(float(gamma), protocol, _SLOPES[protocol])


class BestLinear(NamedTuple):
    """The linear predictor x'coef + intercept of least squared loss in the target."""

    coef: np.ndarray
    intercept: float
    risk: float


@dataclass(frozen=True, eq=False)
class Gaussian2D(SampledProblem):
    """The synthetic problem: two normal features, labels from a product of two probits.

    Made by `gaussian_2d`, which states the problem and its two protocols. In the released
    protocol, `source_density`, `target_density`, `weights` and the risks are those of the data
    as sampled, after the classes were balanced.

    Notes
    -----
    With rule r(x) = Phi(-s x1) Phi(-s x2) and its mean r_D over the normal of domain D, the
    released protocol has density N_D(x) (r / (2 r_D) + (1 - r) / (2 (1 - r_D))). The means are
    products of E[Phi(-s x)] = Phi(-s m / sqrt(1 + s^2 v)) over x ~ N(m, v).
    """

    gamma: float
    protocol: str
    _slope: float

    def posterior(self, X: ArrayLike, *, domain: str | None = None) -> Any:
        """Return P(y = +1 | x) at X (..., n, 2), as (..., n).

        By default the rule Phi(-s x1) Phi(-s x2) that both domains draw labels from. With a
        domain ("source" or "target"), the posterior in its samples: the same in the paper's
        protocol, and different between the domains once the classes are balanced.
        """
        rule = self._rule(_check_points(X))
        if domain is None:
            return rule
        positive, negative = self._class_factors(domain)
        return positive * rule / (positive * rule + negative * (1 - rule))

    def weights(self, X: ArrayLike) -> Any:
        """Return target over source density of the features at X (..., n, 2), as (..., n).

        The ratio of the normal densities has one exponential, so that it is right where both
        underflow; it is infinite where it exceeds the largest float. The class factors of the
        released protocol are bounded and multiply it.
        """
        X = _check_points(X)
        squares = [np.sum((X - np.asarray(_MEANS[d])) ** 2, axis=-1) for d in _MEANS]
        with np.errstate(over="ignore"):
            ratio = self.gamma * np.exp(0.5 * squares[0] / self.gamma - 0.5 * squares[1])
        return ratio * (self._tilt(X, "target") / self._tilt(X, "source"))

    def linear_risk(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> Any:
        """Return the true mean squared loss over the target of x'coef + intercept.

        In closed form, as the least risk plus a quadratic form in the distance to the best linear
        predictor: thousands of solutions cost one matrix product, and none loses digits near the
        optimum. `coef` has shape (..., 2) and `intercept` shape (...), as the result.
        """
        coef, level = (np.asarray(to_numpy(a), dtype=float) for a in (coef, intercept))
        if coef.shape[-1:] != (2,) or level.shape not in ((), coef.shape[:-1]):
            raise ValueError(
                "`coef` must have shape (..., 2), one value per feature, and `intercept` be a "
                f"number or have shape (...); got {coef.shape} and {level.shape}. "
                "Drop axes of length 1."
            )
        best = self.best_linear()
        level = np.broadcast_to(level - best.intercept, coef.shape[:-1])
        shift = np.concatenate([coef - best.coef, level[..., None]], axis=-1)
        excess = np.sum((shift @ self._target_moments[0]) * shift, axis=-1)
        return as_scalar(best.risk + excess)

    def best_linear(self) -> BestLinear:
        """Return coef (2,), intercept and risk of the best linear predictor in the target.

        The best for squared loss; no ridge solution can have a smaller target risk.
        """
        gram, cross = self._target_moments
        solution = np.linalg.solve(gram, cross)
        return BestLinear(solution[:2], float(solution[2]), float(1 - cross @ solution))

    def _draw(self, rng: Any, shape: tuple[int, ...], domain: str) -> tuple[Any, Any]:
        """Return X (..., n, 2) and y (..., n), with labels from the rule in the paper's protocol.

        y = +1 where both slope x_j < z_j: two more normal numbers per point cost less than the two
        distribution functions of the rule.
        """
        if self.protocol == "released":
            return self._draw_balanced(rng, shape, domain)
        X = rng.standard_normal((*shape, 2))
        xp = array_namespace(X)
        X *= math.sqrt(self._variance(domain))
        if domain == "source":
            X[..., 0] += _MEANS[domain][0]
        latent = rng.standard_normal((*shape, 2))
        latent /= self._slope
        latent -= X  # of the sign of z - slope x
        least = xp.minimum(latent[..., 0], latent[..., 1])
        return X, xp.copysign(xp.ones_like(least[..., :1]), least)

    def _draw_balanced(self, rng: Any, shape: tuple[int, ...], domain: str) -> tuple[Any, Any]:
        """Return X (..., n, 2) and y (..., n) with half of the points in each class.

        Labels first, then the signs of t given the label, t given its sign (a normal cut at 0),
        and x given t (normal again). Every step is exact.
        """
        n, variance, slope = shape[-1], self._variance(domain), self._slope
        # For odd n, one label too many, in random order, leaves a fair choice for the odd one.
        y = permutations(rng, np.repeat([1.0, -1.0], (n + 1) // 2), shape[:-1])[..., :n]
        rates = self._rates_below(domain)
        spread = 1 + slope**2 * variance
        X = rng.standard_normal((*shape, 2))
        X *= math.sqrt(variance / spread)
        for j, below in enumerate(_signs_below(rng, y, rates)):
            # t = slope mean + sqrt(spread) u, so E[x | t] = mean + slope variance / sqrt(spread) u.
            u = _cut_normal(rng, below, rates[j])
            u *= slope * variance / math.sqrt(spread)
            X[..., j] += u
        if domain == "source":
            X[..., 0] += _MEANS[domain][0]
        return X, y

    def _variance(self, domain: str) -> float:
        return self.gamma if domain == "source" else 1.0

    def _rates_below(self, domain: str) -> list[float]:
        """P(t_j < 0) for each feature, with t_j = slope x_j + z_j."""
        spread = math.sqrt(1 + self._slope**2 * self._variance(domain))
        return [float(ndtr(-self._slope * m / spread)) for m in _MEANS[domain]]

    def _rule(self, X: np.ndarray) -> Any:
        return ndtr(-self._slope * X[..., 0]) * ndtr(-self._slope * X[..., 1])

    def _class_factors(self, domain: str) -> tuple[float, float]:
        """Factors by which sampling changes the share of each class: 1 unless balanced."""
        check_choice(domain, "domain", tuple(_MEANS))
        if self.protocol == "paper":
            return 1.0, 1.0
        rate = math.prod(self._rates_below(domain))
        return 0.5 / rate, 0.5 / (1 - rate)

    def _tilt(self, X: np.ndarray, domain: str) -> Any:
        """Density of the features as sampled over that of the candidates, both at X."""
        if self.protocol == "paper":
            return 1.0
        rule = self._rule(X)
        positive, negative = self._class_factors(domain)
        return positive * rule + negative * (1 - rule)

    def _density(self, X: ArrayLike, domain: str) -> Any:
        X = _check_points(X)
        factors = normal_density(X, np.asarray(_MEANS[domain]), self._variance(domain))
        return factors[..., 0] * factors[..., 1] * self._tilt(X, domain)

    @cached_property
    def _target_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """E[a a'] (3, 3) and E[a y] (3,) over the target, with a = (x1, x2, 1)."""
        m0, m1, m2 = probit_moments(0.0, 1.0, slope=-self._slope, order=2)
        positive, negative = self._class_factors("target")
        under_rule = np.asarray(
            [[m2 * m0, m1 * m1, m1 * m0], [m1 * m1, m2 * m0, m1 * m0], [m1 * m0, m1 * m0, m0 * m0]]
        )
        of_positive = positive * under_rule
        of_negative = negative * (np.eye(3) - under_rule)
        return of_positive + of_negative, (of_positive - of_negative)[:, 2]


def _check_points(X: Any) -> np.ndarray:
    points: np.ndarray = check_matrix(to_numpy(X), "X", batch=True)
    if points.shape[-1] != 2:
        raise ValueError(
            f"`X` must have 2 features; got shape {tuple(points.shape)}. "
            "Pass points as rows, shape (..., n, 2)."
        )
    return points


def _signs_below(rng: Any, y: Array, rates: list[float]) -> tuple[Array, Array]:
    """Where t1 < 0 and where t2 < 0, given the label: both for +1, at most one for -1."""
    first, second = rates
    positive = y > 0
    draw = rng.random(y.shape)
    draw *= 1 - first * second
    only_first = draw < first * (1 - second)
    only_second = draw >= 1 - second  # the last (1 - first) * second of the range
    return positive | only_first, positive | only_second


def _cut_normal(rng: Any, below: Array, rate: float) -> Array:
    """Draw standard normals that fall in the lower `rate` of the mass, or above it."""
    xp = array_namespace(below)
    if rate == 0.5:  # half normals, without the quantile function
        size = xp.abs(rng.standard_normal(below.shape))
        return xp.where(below, -size, size)
    # 1 - random() lies in (0, 1]: the quantile stays finite.
    share = 1 - rng.random(below.shape)
    quantile = normal_quantile(xp.where(below, rate * share, (1 - rate) * share))
    return xp.where(below, quantile, -quantile)
