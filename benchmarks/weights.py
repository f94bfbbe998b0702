"""The weight estimators against convex solvers and other packages, and at scale.

    pip install . cvxpy clarabel quadprog skada densratio cvxopt    # in an environment of their own
    pip install --no-deps adapt                                     # without its TensorFlow
    python benchmarks/weights.py [accuracy] [speed] [peers] [scale] [large] [recovery]

Accuracy: objectives against a convex solver, constraints. Speed and peers: ratios of processor
times measured in one run, alternately, on the same data, the least of several repeats. Scale and
large: processor time and peak memory of each estimator, each in its own process. A peer that is not
installed leaves its rows out.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from adapt_peer import load_adapt
from scipy.special import logsumexp

from counterpoise.weights import (
    KLIEP,
    KMM,
    ULSIF,
    ClassifierRatio,
    GaussianRatio,
    KernelDensityRatio,
    NearestNeighborRatio,
)
from counterpoise.weights._convex.box_qp import QPSolution, solve_box_qp
from counterpoise.weights._convex.kernel_matrix import Dense
from counterpoise.weights._kernels import gaussian_kernel, squared_distances
from counterpoise.weights._widths import kernel_width
from counterpoise.weights.kliep import fit_kliep
from counterpoise.weights.kmm import mean_constraints

SCALE = {
    "GaussianRatio()": 100_000,
    "ClassifierRatio()": 100_000,
    "NearestNeighborRatio()": 100_000,
    "ULSIF()": 100_000,
    "KLIEP(width='median', n_centers=1000)": 100_000,
    "KMM()": 20_000,
}


LARGE = (
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


def row(label: str, result: str, detail: str = "") -> None:
    print(f"{label:<72}{result:>12}  {detail}", flush=True)


def least(*functions: Callable[[], Any], repeats: int) -> list[float]:
    """Least processor time of each function: what other programs disturb least."""
    times = np.empty((repeats, len(functions)))
    for line in times:
        for j, function in enumerate(functions):
            start = time.process_time()
            function()
            line[j] = time.process_time() - start
    return np.min(times, axis=0).tolist()


def shifted(n: int, m: int, D: int = 2, *, batch: tuple = (), seed: int = 0) -> tuple:
    """Return source N((-1, 0, ...), 0.7 I) and target N(0, I), the paper's kind of problem."""
    rng = np.random.default_rng(seed)
    X = math.sqrt(0.7) * rng.normal(size=(*batch, n, D))
    X[..., 0] -= 1
    return X, rng.normal(size=(*batch, m, D))


def kmm_matrices(X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = kernel_width(X, Z, "knn")
    K = gaussian_kernel(X, X, width)
    kappa = X.shape[-2] * gaussian_kernel(X, Z, width).mean(axis=-1)
    return K, kappa


def kliep_by_clarabel(X: np.ndarray, Z: np.ndarray, centers: np.ndarray, width: float) -> float:
    """Maximise the mean log-ratio over mixture proportions, scaled so that nothing underflows."""
    import cvxpy

    log_source = logsumexp(-squared_distances(X, centers) / (2 * width**2), axis=0) - math.log(
        len(X)
    )
    log_ratio = -squared_distances(Z, centers) / (2 * width**2) - log_source
    peak = log_ratio.max(axis=1, keepdims=True)
    p = cvxpy.Variable(len(centers), nonneg=True)
    goal = cvxpy.sum(cvxpy.log(np.exp(log_ratio - peak) @ p)) / len(Z)
    value = cvxpy.Problem(cvxpy.Maximize(goal), [cvxpy.sum(p) == 1]).solve(solver="CLARABEL")
    return float(value + peak.mean())


def kmm_weights(K: np.ndarray, kappa: np.ndarray) -> QPSolution:
    """Solve the programme of kernel mean matching for matrices (S, n, n) and vectors (S, n)."""
    return solve_box_qp(Dense(K), kappa, mean_constraints(kappa.shape[-1], 1000.0, None))


def accuracy() -> None:
    if not have("cvxpy"):
        return row("accuracy", "-", "cvxpy is not installed")
    import cvxpy

    for n in (50, 200, 1000):
        K, kappa = kmm_matrices(*shifted(n, 5 * n))
        ours = kmm_weights(K[None], kappa[None])
        eps = 1 - 1 / math.sqrt(n)
        values, vectors = np.linalg.eigh(K)
        root = vectors * np.sqrt(np.clip(values, 0, None))
        w = cvxpy.Variable(n)
        goal = cvxpy.sum_squares(root.T @ w) / 2 - kappa @ w
        limits = [w >= 0, w <= 1000, cvxpy.abs(cvxpy.sum(w) / n - 1) <= eps]
        problem = cvxpy.Problem(cvxpy.Minimize(goal), limits)
        problem.solve(solver="CLARABEL")
        excess = (float(ours.objective[0]) - problem.value) / abs(problem.value)
        broken = max(-ours.weights.min(), abs(ours.weights.mean() - 1) - eps, 0.0)
        row(
            f"KMM n = {n}: (objective - Clarabel's) / |Clarabel's|",
            f"{excess:.0e}",
            f"constraints broken by {broken:.0e}, own certificate {float(ours.gap[0]):.0e}",
        )
    X, Z = shifted(50, 1000)
    ours = fit_kliep(X, Z)
    theirs = kliep_by_clarabel(X, Z, ours.centers, float(ours.width))
    row(
        "KLIEP n = 50, m = 1000: Clarabel's mean log-ratio - ours",
        f"{theirs - float(ours.objective):.0e}",
        f"|mean w - 1| {abs(ours.weights.mean() - 1):.0e}, own certificate {float(ours.gap):.0e}",
    )
    return None


def speed_kmm() -> None:
    if have("skada"):
        from skada._reweight import KMMReweightAdapter

        X, Z = shifted(1000, 5000)
        width = float(kernel_width(X, Z, "median"))
        K = gaussian_kernel(X, X, width)
        kappa = len(X) * gaussian_kernel(X, Z, width).mean(axis=1)
        stacked, domain = np.concatenate([X, Z]), np.repeat([1, -2], [1000, 5000])
        theirs = KMMReweightAdapter(gamma=1 / (2 * width**2))
        ours, other, kernels = least(
            lambda: KMM(width=width, regularization=0, rank=None).fit(X, Z),
            lambda: theirs.fit(stacked, sample_domain=domain),
            lambda: (gaussian_kernel(X, X, width), gaussian_kernel(X, Z, width)),
            repeats=3,
        )
        value = [
            0.5 * w @ K @ w - kappa @ w
            for w in (
                KMM(width=width, regularization=0, rank=None).fit(X, Z).weights_,
                np.asarray(
                    theirs.source_weights_
                    if hasattr(theirs, "source_weights_")
                    else theirs.fit_transform(stacked, sample_domain=domain)[1]["sample_weight"]
                )[:1000],
            )
        ]
        row(
            "KMM n = 1000, m = 5000: skada's time / ours",
            f"{other / ours:.1f} x",
            f"{other:.2f} / {ours:.2f} s (kernels {kernels:.2f} s); objectives {value[1]:.6g}, "
            f"{value[0]:.6g} (lower is better)",
        )
    if have("quadprog"):
        import quadprog

        X, Z = shifted(50, 1000, batch=(1000,))
        K, kappa = kmm_matrices(X, Z)
        eps = 1 - 1 / math.sqrt(50)
        mean = np.full((50, 1), 1 / 50)
        C = np.concatenate([np.eye(50), -np.eye(50), mean, -mean], axis=1)
        limits = np.concatenate([np.zeros(50), np.full(50, -1000.0), [1 - eps, -1 - eps]])
        ridge = 1e-10 * np.eye(50)  # quadprog needs a positive definite matrix
        ours, other = least(
            lambda: kmm_weights(K, kappa),
            lambda: [quadprog.solve_qp(K[i] + ridge, kappa[i], C, limits) for i in range(1000)],
            repeats=3,
        )
        row(
            "KMM, 1000 problems of n = 50: quadprog in a loop / our batch",
            f"{other / ours:.1f} x",
            f"{other:.2f} / {ours:.2f} s, matrices given",
        )


def kliep_peers(X: np.ndarray, Z: np.ndarray, width: float) -> Iterator[tuple]:
    """Name, seconds, centres and coefficients of each peer's KLIEP with this width."""
    if have("densratio"):
        from densratio import densratio

        def fit() -> Any:
            return densratio(Z, X, method="KLIEP", sigma=width, verbose=False)

        (seconds,) = least(fit, repeats=5)
        found = fit()
        yield "densratio", seconds, found.kernel_info.centers, np.ravel(found.theta)
    adapt = load_adapt()
    if adapt is not None:
        model = adapt["KLIEP"](gamma=1 / (2 * width**2), verbose=0, random_state=0)
        (seconds,) = least(lambda: model.fit_weights(X, Z), repeats=3)
        yield "adapt", seconds, model.centers_, np.ravel(model.alphas_)
    if have("skada"):
        from skada._reweight import KLIEPReweightAdapter

        stacked, domain = np.concatenate([X, Z]), np.repeat([1, -2], [len(X), len(Z)])
        adapter = KLIEPReweightAdapter(gamma=1 / (2 * width**2), random_state=0)
        (seconds,) = least(lambda: adapter.fit(stacked, sample_domain=domain), repeats=5)
        yield "skada", seconds, adapter.centers_, adapter.alpha_


def kliep_with_one_width(D: int) -> None:
    X, Z = shifted(2000, 2000, D)
    width = float(kernel_width(X, Z, "median"))
    for name, seconds, centers, coef in kliep_peers(X, Z, width):
        A = gaussian_kernel(Z, np.asarray(centers, float), width) @ coef
        theirs = np.mean(np.log(A)) - np.log(
            np.mean(gaussian_kernel(X, np.asarray(centers, float), width) @ coef)
        )
        options = {"width": width, "centers": np.asarray(centers, float)}
        loose, tight = least(
            lambda options=options: fit_kliep(X, Z, tol=1.0, **options),
            lambda options=options: fit_kliep(X, Z, **options),
            repeats=5,
        )
        near = float(fit_kliep(X, Z, tol=1.0, **options).objective)
        best = float(fit_kliep(X, Z, **options).objective)
        row(
            f"KLIEP n = m = 2000, D = {D}: {name}'s time / ours to beat its objective",
            f"{seconds / loose:.1f} x",
            f"{seconds * 1e3:.0f} / {loose * 1e3:.0f} ms; {theirs:.4f} < {near:.4f}",
        )
        row(
            "    its time / our time to the optimum",
            f"{seconds / tight:.1f} x",
            f"{tight * 1e3:.0f} ms; optimum {best:.4f}",
        )


def speed_kliep() -> None:
    for D in (2, 20):
        kliep_with_one_width(D)
    if have("cvxpy"):
        X, Z = shifted(50, 1000, batch=(1000,))
        width = kernel_width(X, Z, "knn")
        (ours,) = least(lambda: fit_kliep(X, Z, width=width), repeats=1)
        some = np.linspace(0, 999, 10).astype(int)
        start = time.perf_counter()
        for i in some:
            kliep_by_clarabel(X[i], Z[i], Z[i, :100], float(width[i]))
        loop = (time.perf_counter() - start) * 1000 / len(some)
        row(
            "KLIEP, 1000 paper-size problems: Clarabel in a loop / our batch",
            f"{loop / ours:.0f} x",
            f"{loop:.0f} (from {len(some)}) / {ours:.1f} s",
        )


def kliep_with_choice(D: int) -> None:
    """Print the default of each package, and the choice among the same ten widths in five folds."""
    X, Z = shifted(2000, 2000, D)
    widths = np.asarray(list(KLIEP().fit(X, Z).cv_scores_))
    peers: dict[str, tuple[Callable[[], Any], int]] = {}
    adapt = load_adapt()
    if adapt is not None:
        one = adapt["KLIEP"](gamma=1.0, verbose=0, random_state=0)
        many = adapt["KLIEP"](gamma=list(0.5 / widths**2), verbose=0, random_state=0)
        peers["adapt's default (one width)"] = (lambda: one.fit_weights(X, Z), 3)
        peers["adapt's choice of ten"] = (lambda: many.fit_weights(X, Z), 1)
    if have("densratio"):
        from densratio import densratio

        options = {"method": "KLIEP", "verbose": False}
        peers["densratio's default"] = (lambda: densratio(Z, X, **options), 3)
        peers["densratio's choice of ten"] = (lambda: densratio(Z, X, sigma=widths, **options), 3)
    for name, (function, repeats) in peers.items():
        theirs, own = least(function, lambda: KLIEP().fit(X, Z), repeats=repeats)
        row(
            f"KLIEP n = m = 2000, D = {D}: {name} / ours of ten",
            f"{theirs / own:.1f} x",
            f"{theirs:.2f} / {own:.2f} s",
        )


def kmm_of_many_rows(D: int) -> None:
    """Compare with adapt, which cuts the source into parts of at most 1000 rows."""
    adapt = load_adapt()
    if adapt is None:
        return
    X, Z = shifted(20_000, 20_000, D)
    width = float(kernel_width(X, Z, "median"))
    model = adapt["KMM"](gamma=1 / (2 * width**2), verbose=0, random_state=0)
    theirs, plain, default = least(
        lambda: model.fit_weights(X, Z),
        lambda: KMM(width=width, regularization=0).fit(X, Z),
        lambda: KMM().fit(X, Z),
        repeats=1,
    )
    for name, seconds in (("the same programme", plain), ("our default", default)):
        row(
            f"KMM n = m = 20,000, D = {D}: adapt's time / ours, {name}",
            f"{theirs / seconds:.1f} x",
            f"{theirs:.1f} / {seconds:.1f} s",
        )


def speed_peers() -> None:
    for D in (2, 20):
        kliep_with_choice(D)
        kmm_of_many_rows(D)


def speed_ulsif() -> None:
    if not have("densratio"):
        return
    from densratio import densratio

    grid = 10 ** np.linspace(-3, 1, 9)
    options = {"sigma": grid, "lambda_": grid, "verbose": False}
    for n, D in ((500, 2), (2000, 2), (2000, 20)):
        X, Z = shifted(n, n, D)
        ours, theirs = least(
            lambda X=X, Z=Z: ULSIF(width=grid, regularization=grid).fit(X, Z),
            lambda X=X, Z=Z: densratio(Z, X, method="uLSIF", **options),
            repeats=2,
        )
        row(
            f"uLSIF n = m = {n}, D = {D}, 9 x 9 grid: densratio's time / ours",
            f"{theirs / ours:.0f} x",
            f"{theirs:.2f} / {ours:.3f} s",
        )


def scale() -> None:
    for name, n in SCALE.items():
        time_one(name, n, n, 20)


def large() -> None:
    for name in LARGE:
        time_one(name, 20_000, 200_000, 50)


def time_one(name: str, n: int, m: int, D: int) -> None:
    """Print processor time and peak memory of one fit, in a process of its own."""
    code = (
        "import resource, time, numpy as np\n"
        "from counterpoise.weights import *\n"
        f"rng = np.random.default_rng(0); n, m, D = {n}, {m}, {D}\n"
        "X = 0.9 * rng.normal(size=(n, D)); X[:, 0] -= 0.5; Z = rng.normal(size=(m, D))\n"
        f"start = time.process_time(); model = {name}.fit(X, Z); w = model.weights_\n"
        "seconds = time.process_time() - start\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "print(f'{seconds:.1f} {peak:.2f} {np.average(X[:, 0], weights=w):.3f}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    seconds, peak, mean = done.stdout.split()
    detail = f"peak {peak} GiB; weighted source mean of feature 1: {mean} (target 0, source -0.5)"
    row(f"{name}, n = {n:,}, m = {m:,}, D = {D}", f"{seconds} s", detail)


def recovery() -> None:
    """Print the share of a shift by half a standard deviation that is repaired, three seeds."""
    estimators = [cls() for cls in (GaussianRatio, ClassifierRatio, KMM, KLIEP, ULSIF)]
    estimators += [NearestNeighborRatio(), KernelDensityRatio()]
    for estimator in estimators:
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
        row(f"{estimator!r}: share of the shift repaired", "", "; ".join(cells))


def main() -> None:
    warnings.simplefilter("ignore")
    parts = {
        "accuracy": [accuracy],
        "speed": [speed_kmm, speed_kliep, speed_ulsif],
        "peers": [speed_peers],
        "scale": [scale],
        "large": [large],
        "recovery": [recovery],
    }
    for part in sys.argv[1:] or parts:
        for function in parts[part]:
            function()


if __name__ == "__main__":
    main()
