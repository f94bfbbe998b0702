"""The paper's example setting: one feature, probit labels, a fixed linear predictor.

Everything that the theory speaks of has a closed form here, so it serves as the ground truth for
estimators of risk, of beta and of their errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from counterpoise._arrays import array_namespace, as_float, as_scalar
from counterpoise._validation import check_choice, check_number
from counterpoise.datasets.problem import (
    SampledProblem,
    normal_density,
    normal_moments,
    probit_moments,
)

_SOURCE_MEAN = -1.0
# Minimises the target risk 1 + theta^2 - 2 theta / sqrt(pi).
_BEST_THETA = 1 / math.sqrt(math.pi)


def gaussian_1d(gamma: ArrayLike = 0.8, *, theta: float = _BEST_THETA) -> Gaussian1D:
    """Return the example setting of the paper (Sections 2 to 4) with its closed forms.

    Target x ~ N(0, 1), source x ~ N(-1, gamma^2), P(y = +1 | x) = Phi(x) in both domains, and
    the squared loss (x theta - y)^2 of a fixed linear predictor.

    Here `gamma` is a **standard deviation** (in `gaussian_2d` it is a variance). The weights
    have finite variance only for gamma > 1/sqrt(2) = 0.707: below, the source is too narrow for
    the variance of a weighted risk to exist.

    Parameters
    ----------
    gamma : float or array of shape (g,), default=0.8
        Standard deviation of the source, positive. With an array, every quantity of the problem
        comes as a curve over gamma; sampling needs a number.
    theta : float, default=1/sqrt(pi)
        Slope of the predictor. The default is the best one in the target.

    Returns
    -------
    Gaussian1D
        With `sample` to draw data; the functions `weights`, `source_density`, `target_density`,
        `posterior` and `exceedance` of points; and the closed forms `target_risk`,
        `target_variance`, `weight_variance`, `weighted_variance`, `controlled_variance`, `beta`
        and `correlation`, as attributes.

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.datasets import gaussian_1d
    >>> problem = gaussian_1d(gamma=0.8)
    >>> round(problem.weight_variance, 3), round(problem.target_risk, 3)
    (42.018, 0.682)
    >>> round(gaussian_1d(gamma=0.7).exceedance(10.0), 5)
    0.00808
    >>> curves = gaussian_1d(gamma=np.array([0.75, 1.0, 1.25]))
    >>> np.round(curves.controlled_variance / curves.weighted_variance, 3)
    array([0.283, 0.78 , 0.7  ])
    """
    check_number(theta, "theta", low=-math.inf, high=math.inf)
    values = np.array(gamma, dtype=float)
    if values.size == 0 or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(
            f"`gamma` must be positive and finite; got {gamma!r}. It is the source's standard "
            "deviation: pass a number such as 0.8, or an array of them."
        )
    values.setflags(write=False)  # the closed forms are computed once
    risk, square = _loss_moments(0.0, 1.0, float(theta))
    over_source = _moments_over_source(values, float(theta), float(risk))
    return Gaussian1D(
        as_scalar(values), float(theta), float(risk), float(square - risk**2), *over_source
    )


@dataclass(frozen=True, eq=False)
class Gaussian1D(SampledProblem):
    """The example setting: one normal feature, probit labels and squared loss (x theta - y)^2.

    Made by `gaussian_1d`, which states the problem. Methods are functions of points x, taken
    elementwise (pass ``X[..., 0]`` of a sample) and broadcast against `gamma`; attributes are
    functions of gamma alone. With gamma <= 1/sqrt(2), `weight_variance`, `weighted_variance`
    and `controlled_variance` are infinite, `beta` and `correlation` are NaN. Variances are those
    of one point: an estimate from n independent points has 1/n of it.
    """

    gamma: Any
    theta: float
    target_risk: float  # E[loss] over the target, 1 + theta^2 - 2 theta / sqrt(pi)
    target_variance: float  # sigma_T^2, the variance of the loss over the target
    weight_variance: Any  # V[w], the variance of the weights over the source
    weighted_variance: Any  # sigma_W^2, the variance of w loss over the source
    controlled_variance: Any  # sigma_beta^2 = sigma_W^2 (1 - rho^2), that of w loss - beta (w - 1)
    beta: Any  # beta* = Cov(w loss, w) / V[w], the coefficient that minimises that variance
    correlation: Any  # rho, the correlation of w loss and w over the source

    def posterior(self, x: ArrayLike) -> Any:
        """Return P(y = +1 | x) = Phi(x), the same in both domains."""
        return ndtr(np.asarray(x, dtype=float))

    def weights(self, x: ArrayLike) -> Any:
        """Return target over source density at x.

        w(x) = gamma exp(-x^2 / 2 + (x + 1)^2 / (2 gamma^2)), with one exponential, so that it is
        right where both densities underflow; infinite where it exceeds the largest float. In the
        array library of x.
        """
        points: Any = as_float(x)
        exponent = 0.5 * ((points - _SOURCE_MEAN) / self.gamma) ** 2 - 0.5 * points**2
        with np.errstate(over="ignore"):
            return self.gamma * array_namespace(points).exp(exponent)

    def exceedance(self, c: ArrayLike, *, domain: str = "source") -> Any:
        """Return P(w(x) > c), in closed form.

        w(x) > c where (1 - gamma^2) x^2 + 2 x + q > 0, q = 1 - 2 gamma^2 log(c / gamma): outside
        the roots for gamma < 1, above the one root for gamma = 1, between them for gamma > 1.
        The threshold c is broadcast against gamma; x has the distribution of `domain`, "source"
        or "target".
        """
        check_choice(domain, "domain", ("source", "target"))
        mean, scale = self._normal(domain)
        curvature = 1 - np.square(self.gamma)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Bounded, so that thresholds of 0 and infinity meet no inf - inf below.
            log_c = np.clip(np.log(np.maximum(np.asarray(c, dtype=float), 0.0)), -1e100, 1e100)
            q = 1 - 2 * np.square(self.gamma) * (log_c - np.log(self.gamma))
            discriminant = 1 - curvature * q
            half = 1 + np.sqrt(np.maximum(discriminant, 0.0))
            # In this form the near root stays accurate, and the far one escapes to infinity, as
            # gamma tends to 1.
            near, far = -q / half, -half / curvature
        above = ndtr((mean - near) / scale)
        beyond = np.where(curvature > 0, ndtr((far - mean) / scale), -ndtr((mean - far) / scale))
        crossed = above + np.where(curvature == 0, 0.0, beyond)
        uncrossed = np.where(curvature > 0, 1.0, 0.0)
        return as_scalar(np.where(discriminant < 0, uncrossed, crossed))

    def _normal(self, domain: str) -> tuple[float, Any]:
        """Mean and standard deviation of x in a domain."""
        return (_SOURCE_MEAN, self.gamma) if domain == "source" else (0.0, 1.0)

    def _density(self, x: ArrayLike, domain: str) -> Any:
        mean, scale = self._normal(domain)
        return normal_density(np.asarray(x), mean, np.square(scale))

    def _draw(self, rng: Any, shape: tuple[int, ...], domain: str) -> tuple[Any, Any]:
        if np.ndim(self.gamma) != 0:
            raise ValueError(
                f"`gamma` must be a number to draw a sample; got shape {np.shape(self.gamma)}. "
                "Draw from gaussian_1d(gamma) for one value at a time."
            )
        mean, scale = self._normal(domain)
        x = mean + scale * rng.standard_normal(shape)
        xp = array_namespace(x)
        # P(z < x) = Phi(x) for a standard normal z: the sign of x - z is the label.
        return x[..., None], xp.copysign(xp.ones_like(x[..., :1]), x - rng.standard_normal(shape))


def _moments_over_source(gamma: np.ndarray, theta: float, target_risk: float) -> Iterator[Any]:
    """Yield V[w], sigma_W^2, sigma_beta^2, beta and rho.

    Second moments over the source are moments over w p_target, which is (1 + V[w]) times the
    density of N(1/d, gamma^2/d) with d = 2 gamma^2 - 1. The printed formula for V[w] lacks a
    square root; V[w] = gamma^2 / sqrt(d) exp(1/d) - 1.
    """
    square = np.square(gamma)
    finite = 2 * square - 1 > 0
    excess = np.where(finite, 2 * square - 1, np.nan)
    log_mass = np.log(square) - 0.5 * np.log(excess) + 1 / excess
    risk, second = _loss_moments(1 / excess, square / excess, theta)
    gap = risk - target_risk
    with np.errstate(over="ignore", invalid="ignore"):
        mass = np.exp(log_mass)
        weight_variance = np.where(finite, np.expm1(log_mass), np.inf)
        weighted = mass * second - target_risk**2
        # sigma_W^2 - Cov^2 / V[w], rearranged so that nothing of the size of 1 + V[w] cancels.
        spread = second - risk**2 - gap**2 / (mass - 1)
        controlled = np.where(np.isinf(mass), np.inf, mass * spread)
    beta = risk + gap / weight_variance
    # beta sd(w) / sd(w loss), both divided by 1 + V[w], which may overflow.
    inverse_mass = np.exp(-log_mass)
    ratio = (1 - inverse_mass) / (second - target_risk**2 * inverse_mass)
    variances = (np.where(finite, value, np.inf) for value in (weighted, controlled))
    yield from map(as_scalar, (weight_variance, *variances, beta, beta * np.sqrt(ratio)))


def _loss_moments(mean: Any, variance: Any, theta: float) -> tuple[Any, Any]:
    """Return E[loss] and E[loss^2] under x ~ N(mean, variance) and probit labels.

    With a = theta x and y^2 = 1: loss = a^2 + 1 - 2 a y and
    loss^2 = a^4 + 6 a^2 + 1 - 4 (a^3 + a) y, where E[x^k y] = 2 E[x^k Phi(x)] - E[x^k].
    """
    x = normal_moments(mean, variance, order=4)
    probit = probit_moments(mean, variance, slope=1.0, order=3)
    xy = [2 * p - m for p, m in zip(probit, x, strict=False)]
    risk = theta**2 * x[2] + 1 - 2 * theta * xy[1]
    square = theta**4 * x[4] + 6 * theta**2 * x[2] + 1 - 4 * (theta**3 * xy[3] + theta * xy[1])
    return risk, square
