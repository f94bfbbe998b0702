"""The paper's synthetic experiment: two normal features, labels from a product of probits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, roots_hermitenorm

from counterpoise._arrays import to_numpy
from counterpoise._validation import check_choice, check_finite, check_matrix, check_number
from counterpoise.datasets._base import (
    SampledProblem,
    float_if_scalar,
    normal_density,
    probit_moments,
)
from counterpoise.datasets._sampling import draw_balanced, draw_labelled, rates_below

__all__ = ["BestLinear", "Gaussian2D", "gaussian_2d"]

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
    """
    return Gaussian2D(gamma, protocol)


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

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.datasets import gaussian_2d
    >>> problem = gaussian_2d(gamma=0.7, protocol="released")
    >>> float(problem.sample(n_source=50, random_state=0).y_source.sum())
    0.0
    >>> round(problem.target_risk(lambda X: np.tanh(-1 - X.sum(axis=-1))), 3)
    0.614
    >>> round(problem.linear_risk([-0.5, -0.5], 0.0), 3)
    0.633
    """

    gamma: float = 0.7
    protocol: str = "paper"

    def __post_init__(self) -> None:
        remedy = "It is the variance of the source's features, such as 0.7."
        check_number(self.gamma, "gamma", low=0, high=math.inf, remedy=remedy)
        check_choice(self.protocol, "protocol", tuple(_SLOPES))
        object.__setattr__(self, "gamma", float(self.gamma))

    def posterior(self, X: ArrayLike, *, domain: str | None = None) -> np.ndarray:
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

    def source_density(self, X: ArrayLike) -> np.ndarray:
        """Return the density of the source's features at X (..., n, 2), as (..., n)."""
        return self._density(_check_points(X), "source")

    def target_density(self, X: ArrayLike) -> np.ndarray:
        """Return the density of the target's features at X (..., n, 2), as (..., n)."""
        return self._density(_check_points(X), "target")

    def weights(self, X: ArrayLike) -> np.ndarray:
        """Return target over source density of the features at X (..., n, 2), as (..., n).

        The ratio of the normal densities has one exponential, so that it is right where both
        underflow; it is infinite where it exceeds the largest float. The class factors of the
        released protocol are bounded and multiply it.
        """
        X = _check_points(X)
        squares = [np.sum((X - np.asarray(_MEANS[d])) ** 2, axis=-1) for d in _MEANS]
        with np.errstate(over="ignore"):
            ratio = self.gamma * np.exp(0.5 * squares[0] / self.gamma - 0.5 * squares[1])
        tilted: np.ndarray = ratio * (self._tilt(X, "target") / self._tilt(X, "source"))
        return tilted

    def target_risk(
        self,
        predict: Callable[[np.ndarray], Any],
        /,
        *,
        loss: Callable[[np.ndarray, np.ndarray], Any] | None = None,
        n_nodes: int = 100,
    ) -> Any:
        """Return the true expected loss over the target of any prediction function.

        By Gauss-Hermite quadrature on n_nodes x n_nodes points. With the default, predictions
        and losses that vary on the scale of the features (polynomials, tanh of slope 1, kernels
        of width 1) are right to 1e-11. Steeper ones need more nodes: tanh of slope 3 is right to
        2e-4, and with 200 nodes to 4e-6. It is never exact where the loss has a kink (absolute
        loss: 1e-5) or a jump (a sign or a tree: 1e-2, which falls only slowly with `n_nodes`;
        a large sample does better there). The outermost nodes lie about 2 sqrt(n_nodes) from 0 in
        each feature, and predictions must be finite there.

        Parameters
        ----------
        predict : callable
            Maps X of shape (n, 2) to predictions of shape (..., n), for instance the `predict`
            of a fitted estimator.
        loss : callable, optional
            ``loss(y, prediction)`` with labels y of shape (n,), -1.0 or +1.0, giving one loss per
            prediction. The squared loss (prediction - y)^2 by default.
        n_nodes : int, default=100
            Nodes per axis.

        Returns
        -------
        float or array of shape (...)
        """
        check_number(n_nodes, "n_nodes", low=1, closed="low", integer=True)
        X, masses = _hermite_grid(int(n_nodes))
        prediction = np.asarray(predict(X))
        if prediction.ndim == 0 or prediction.shape[-1] != len(X):
            raise ValueError(
                f"`predict` must return shape (..., n); for X of shape {X.shape} it returned "
                f"{prediction.shape}. Return one prediction per row of X, without a column axis."
            )
        check_finite(np, prediction, "predict(X)", "It is evaluated far out, see `n_nodes`.")
        loss = _squared if loss is None else loss
        rule = self._rule(X)
        positive, negative = self._class_factors("target")
        risk = np.asarray(loss(np.ones(len(X)), prediction)) @ (positive * rule * masses)
        risk += np.asarray(loss(-np.ones(len(X)), prediction)) @ (negative * (1 - rule) * masses)
        return float_if_scalar(risk)

    def linear_risk(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> Any:
        """Return the true mean squared loss over the target of x'coef + intercept.

        In closed form, as the least risk plus a quadratic form in the distance to the best linear
        predictor: thousands of solutions cost one matrix product, and none loses digits near the
        optimum. `coef` has shape (..., 2) and `intercept` shape (...), as the result.
        """
        coef = np.asarray(to_numpy(coef), dtype=float)
        intercept = np.asarray(to_numpy(intercept), dtype=float)
        if coef.ndim == 0 or coef.shape[-1] != 2:
            raise ValueError(
                f"`coef` must have shape (..., 2), one value per feature; got {coef.shape}. "
                "Pass the intercept as its own argument."
            )
        try:
            intercept = np.broadcast_to(intercept, coef.shape[:-1])
        except ValueError as error:
            raise ValueError(
                f"`intercept` must be a number or have shape {coef.shape[:-1]}, the leading axes "
                f"of `coef`; got {intercept.shape}. Drop axes of length 1."
            ) from error
        best = self.best_linear()
        shift = np.concatenate([coef - best.coef, (intercept - best.intercept)[..., None]], axis=-1)
        excess = np.sum((shift @ self._target_moments[0]) * shift, axis=-1)
        return float_if_scalar(best.risk + excess)

    def best_linear(self) -> BestLinear:
        """Return coef (2,), intercept and risk of the best linear predictor in the target.

        The best for squared loss; no ridge solution can have a smaller target risk.
        """
        gram, cross = self._target_moments
        solution = np.linalg.solve(gram, cross)
        return BestLinear(solution[:2], float(solution[2]), float(1 - cross @ solution))

    def _draw(self, rng: Any, shape: tuple[int, ...], domain: str) -> tuple[Any, Any]:
        draw = draw_labelled if self.protocol == "paper" else draw_balanced
        return draw(rng, shape, _MEANS[domain], self._variance(domain), self._slope)

    @property
    def _slope(self) -> float:
        return _SLOPES[self.protocol]

    def _variance(self, domain: str) -> float:
        return self.gamma if domain == "source" else 1.0

    def _rule(self, X: np.ndarray) -> np.ndarray:
        chance: np.ndarray = ndtr(-self._slope * X[..., 0]) * ndtr(-self._slope * X[..., 1])
        return chance

    def _class_factors(self, domain: str) -> tuple[float, float]:
        """Factors by which sampling changes the share of each class: 1 unless balanced."""
        check_choice(domain, "domain", tuple(_MEANS))
        if self.protocol == "paper":
            return 1.0, 1.0
        below = rates_below(_MEANS[domain], self._variance(domain), self._slope)
        rate = below[0] * below[1]
        return 0.5 / rate, 0.5 / (1 - rate)

    def _tilt(self, X: np.ndarray, domain: str) -> Any:
        """Density of the features as sampled over that of the candidates, both at X."""
        if self.protocol == "paper":
            return 1.0
        rule = self._rule(X)
        positive, negative = self._class_factors(domain)
        return positive * rule + negative * (1 - rule)

    def _density(self, X: np.ndarray, domain: str) -> np.ndarray:
        factors = normal_density(X, np.asarray(_MEANS[domain]), self._variance(domain))
        density: np.ndarray = factors[..., 0] * factors[..., 1] * self._tilt(X, domain)
        return density

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


def _squared(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    loss: np.ndarray = (prediction - y) ** 2
    return loss


def _hermite_grid(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n_nodes^2, 2) and masses of a tensor quadrature rule for N(0, I)."""
    nodes, masses = roots_hermitenorm(n_nodes)
    masses = masses / np.sum(masses)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)
    return grid.reshape(-1, 2), np.outer(masses, masses).ravel()
