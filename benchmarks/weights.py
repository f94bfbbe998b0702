"""The weight estimators against convex solvers and other packages, and at scale.

    pip install '.[cli]' cvxpy clarabel densratio cvxopt    # in an environment of their own
    pip install --no-deps adapt skada                       # without TensorFlow
    python benchmarks/weights.py [accuracy] [speed] [scale] [recovery]

Accuracy: objectives against a convex solver, constraints. Speed: ratios of processor times on the
same data and the same task, measured in turns in one run, the least of several repeats. Scale:
processor time and peak memory of each estimator, each in its own process. Recovery: share of a
shift that is repaired. What is not installed leaves its rows out. ``peers/run.py`` compares errors
and default times.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import subprocess
import sys
import warnings

import numpy as np
from peers.environment import allow_missing
from peers.estimators import adapt, densratio, skada
from scipy.special import logsumexp
from timing import least, show, show_ratio

from counterpoise.weights import (
    KLIEP,
    KMM,
    ULSIF,
    ClassifierRatio,
    GaussianRatio,
    KernelDensityRatio,
    NearestNeighborRatio,
)
from counterpoise.weights._convex.box_qp import solve_box_qp
from counterpoise.weights._convex.problem import Dense
from counterpoise.weights._kernels import gaussian_kernel, kernel_width, squared_distances
from counterpoise.weights.kliep import fit_kliep
from counterpoise.weights.kmm import mean_constraints

BOUND = 1000.0  # of a weight of kernel mean matching
SCALE = (
    "GaussianRatio()",
    "KMM(standardize=True)",
    "ClassifierRatio()",
    "ULSIF(standardize=True)",
    "NearestNeighborRatio(standardize=True)",
    "KLIEP(standardize=True)",
    "KernelDensityRatio(standardize=True)",
)


def have(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def shifted(n: int, m: int, D: int = 2, *, batch: tuple[int, ...] = ()) -> tuple:
    """Return source N((-1, 0, ...), 0.7 I) and target N(0, I), the paper's kind of problem."""
    rng = np.random.default_rng(0)
    X = math.sqrt(0.7) * rng.normal(size=(*batch, n, D))
    X[..., 0] -= 1
    return X, rng.normal(size=(*batch, m, D))


# --- Against convex solvers -----------------------------------------------------------------------


def kmm_matrices(X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the matrix, the vector and the slack of the mean of kernel mean matching."""
    width, n = kernel_width(X, Z, "knn"), X.shape[-2]
    kappa = n * gaussian_kernel(X, Z, width).mean(axis=-1)
    return gaussian_kernel(X, X, width), kappa, 1 - 1 / math.sqrt(n)


def kmm_by_clarabel(K: np.ndarray, kappa: np.ndarray, slack: float) -> float:
    """Return the least objective."""
    import cvxpy

    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    w = cvxpy.Variable(len(K))
    goal = cvxpy.sum_squares(root.T @ w) / 2 - kappa @ w
    limits = [w >= 0, w <= BOUND, cvxpy.abs(cvxpy.sum(w) / len(K) - 1) <= slack]
    return float(cvxpy.Problem(cvxpy.Minimize(goal), limits).solve(solver="CLARABEL"))


def kliep_by_clarabel(X: np.ndarray, Z: np.ndarray, centers: np.ndarray, width: float) -> float:
    """Return the largest mean log-ratio over mixture proportions, scaled against underflow."""
    import cvxpy

    near_source = -squared_distances(X, centers) / (2 * width**2)
    log_ratio = -squared_distances(Z, centers) / (2 * width**2)
    log_ratio -= logsumexp(near_source, axis=0) - math.log(len(X))
    peak = log_ratio.max(axis=1, keepdims=True)
    p = cvxpy.Variable(len(centers), nonneg=True)
    goal = cvxpy.sum(cvxpy.log(np.exp(log_ratio - peak) @ p)) / len(Z)
    value = cvxpy.Problem(cvxpy.Maximize(goal), [cvxpy.sum(p) == 1]).solve(solver="CLARABEL")
    return float(value + peak.mean())


def accuracy() -> None:
    """Compare objectives with Clarabel's."""
    if not have("cvxpy"):
        show("accuracy", "-", "cvxpy is not installed")
        return
    for n in (50, 200, 1000):
        K, kappa, slack = kmm_matrices(*shifted(n, 5 * n))
        ours = solve_box_qp(Dense(K[None]), kappa[None], mean_constraints(n, BOUND, None))
        best = kmm_by_clarabel(K, kappa, slack)
        excess = (float(ours.objective[0]) - best) / abs(best)
        broken = max(-ours.weights.min(), abs(ours.weights.mean() - 1) - slack, 0.0)
        detail = f"constraints broken by {broken:.0e}, own certificate {float(ours.gap[0]):.0e}"
        show(f"KMM n = {n}: (objective - Clarabel's) / |Clarabel's|", f"{excess:.0e}", detail)
    X, Z = shifted(50, 1000)
    fit = fit_kliep(X, Z)
    missing = kliep_by_clarabel(X, Z, Z[:100], float(fit.width)) - float(fit.objective)
    off = abs(fit.weights.mean() - 1)
    detail = f"|mean w - 1| {off:.0e}, own certificate {float(fit.gap):.0e}"
    show("KLIEP n = 50, m = 1000: Clarabel's mean log-ratio - ours", f"{missing:.0e}", detail)


# --- Speed ----------------------------------------------------------------------------------------


def speed() -> None:
    """Compare times: a batch with a loop over a solver, and one fit with other packages."""
    batch()
    for D in (2, 20):
        of_kliep(D)
        for n in (1000, 4000, 20_000):
            of_kmm(D, n)
        of_ulsif(D)


def batch(problems: int = 1000) -> None:
    """Compare many problems at once with a loop over a convex solver."""
    if not have("cvxpy"):
        return
    X, Z = shifted(50, 1000, batch=(problems,))
    width, some = kernel_width(X, Z, "knn"), range(0, problems, problems // 10)
    ours, ten = least(
        lambda: fit_kliep(X, Z, width=width),
        lambda: [kliep_by_clarabel(X[i], Z[i], Z[i, :100], float(width[i])) for i in some],
        repeats=1,
    )
    label = f"KLIEP, {problems} paper-size problems: Clarabel in a loop / our batch"
    show_ratio(label, ten * problems / len(some), ours, f"loop from {len(some)}")


def of_kliep(D: int) -> None:
    """Compare the choice among the same ten widths in five folds."""
    X, Z = shifted(2000, 2000, D)
    widths = np.asarray(list(KLIEP().fit(X, Z).cv_scores_))
    peers = {
        "adapt": (adapt("KLIEP", gamma=list(0.5 / widths**2)), 1),
        "densratio": (densratio("KLIEP", sigma=widths), 3),
    }
    for name, (fit, repeats) in peers.items():
        if have(name):
            theirs, ours = least(
                lambda fit=fit: fit(X, Z), lambda: KLIEP().fit(X, Z), repeats=repeats
            )
            show_ratio(f"KLIEP n = m = 2000, D = {D}, ten widths: {name} / ours", theirs, ours)


def of_kmm(D: int, n: int) -> None:
    """Compare the same programme.

    adapt cuts the source into parts of at most 1000 rows; skada takes too long beyond 4000.
    """
    X, Z = shifted(n, n, D)
    width = float(kernel_width(X, Z, "median"))
    gamma = 1 / (2 * width**2)
    peers = {"adapt": adapt("KMM", gamma=gamma), "skada": skada("KMM", gamma=gamma)}
    for name in [name for name in peers if have(name) and (name == "adapt" or n <= 4000)]:
        theirs, plain, default = least(
            lambda fit=peers[name]: fit(X, Z),
            lambda: KMM(width=width, regularization=0).fit(X, Z),
            lambda: KMM().fit(X, Z),
            repeats=1,
        )
        label = f"KMM n = m = {n:,}, D = {D}: {name}"
        show_ratio(f"{label} / ours, the same programme", theirs, plain)
        show_ratio(f"{label} / our default", theirs, default)


def of_ulsif(D: int) -> None:
    """Compare the choice among 9 widths and 9 penalties."""
    if not have("densratio"):
        return
    grid, (X, Z) = 10 ** np.linspace(-3, 1, 9), shifted(2000, 2000, D)
    theirs, ours = least(
        lambda: densratio("uLSIF", sigma=grid, lambda_=grid)(X, Z),
        lambda: ULSIF(width=grid, regularization=grid).fit(X, Z),
        repeats=2,
    )
    show_ratio(f"uLSIF n = m = 2000, D = {D}, 9 x 9 grid: densratio / ours", theirs, ours)


# --- Scale and recovery ---------------------------------------------------------------------------


def scale(n: int = 20_000, m: int = 200_000, D: int = 50) -> None:
    """Print processor time and peak memory of one fit, in a process of its own."""
    for name in SCALE:
        code = (
            "import resource, time, numpy as np\n"
            "from counterpoise.weights import *\n"
            f"rng = np.random.default_rng(0); n, m, D = {n}, {m}, {D}\n"
            "X = 0.9 * rng.normal(size=(n, D)); X[:, 0] -= 0.5; Z = rng.normal(size=(m, D))\n"
            f"start = time.process_time(); w = {name}.fit(X, Z).weights_\n"
            "seconds = time.process_time() - start\n"
            "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
            "print(f'{seconds:.1f} {peak:.2f} {np.average(X[:, 0], weights=w):.3f}')\n"
        )
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, peak, mean = done.stdout.split()
        detail = f"peak {peak} GiB; weighted mean of feature 1: {mean} (target 0, source -0.5)"
        show(f"{name}, n = {n:,}, m = {m:,}, D = {D}", f"{seconds} s", detail)


def recovery() -> None:
    """Print the share of a shift by half a standard deviation that is repaired, three seeds."""
    estimators = [KMM(), KLIEP(), ULSIF(), ClassifierRatio(), GaussianRatio()]
    for estimator in [*estimators, NearestNeighborRatio(), KernelDensityRatio()]:
        cells = []
        for D in (1, 2, 20):
            shares = []
            for seed in range(3):
                rng = np.random.default_rng(seed)
                X, Z = rng.normal(size=(600, D)), rng.normal(size=(900, D))
                X[:, 0] -= 0.5
                mean = np.average(X[:, 0], weights=estimator.fit(X, Z).weights_)
                start, end = X[:, 0].mean(), Z[:, 0].mean()
                shares.append((mean - start) / (end - start))
            cells.append(f"D = {D}: {min(shares):.2f} to {max(shares):.2f}")
        show(f"{estimator!r}: share of the shift repaired", "", "; ".join(cells))


PARTS = {"accuracy": accuracy, "speed": speed, "scale": scale, "recovery": recovery}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    allow_missing()
    for part in options.parts or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
