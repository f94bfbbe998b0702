"""Defects of other packages that the peer study met, each as a few lines that show it.

    python benchmarks/peers/defects.py

Every function prints what should come out and what does, with the installed version. They explain
results of the study and are worth reporting upstream; nothing else depends on them.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from environment import prepare, versions


def shifted(n: int = 500, m: int = 500, D: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return source N(0, I) and target N((0.7, 0, ...), I)."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, D)), rng.normal(size=(m, D))
    Z[:, 0] += 0.7
    return X, Z


def skada_changes_scikit_learn() -> None:
    """Show that importing skada turns on metadata routing for the whole process."""
    import subprocess

    code = (
        "import sklearn; before = sklearn.get_config()['enable_metadata_routing']; import skada; "
        "print(before, sklearn.get_config()['enable_metadata_routing'])"
    )
    if "ot" in sys.modules and not hasattr(sys.modules["ot"], "__file__"):
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); " + (
            "from stubs import allow_missing; allow_missing(); " + code
        )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    before, after = done.stdout.split()[-2:]
    print(
        f"  enable_metadata_routing before the import: {before.decode()}, after: {after.decode()}"
    )


def skada_discriminator_is_inverted() -> None:
    """Show that the discriminator's weights are source over target: they double the shift."""
    from skada._reweight import DiscriminatorReweightAdapter

    X, Z = shifted()
    domain = np.repeat([1, -2], [len(X), len(Z)])
    found = DiscriminatorReweightAdapter().fit_transform(
        np.concatenate([X, Z]), sample_domain=domain
    )
    weights = np.asarray(found[1]["sample_weight"])[: len(X)]
    print(
        f"  mean of the shifted column: source {X[:, 0].mean():.2f}, target {Z[:, 0].mean():.2f}, "
        f"weighted source {np.average(X[:, 0], weights=weights):.2f} (should be near the target's)"
    )


def skada_kliep_stops_early() -> None:
    """Show that KLIEP's objective, the mean log ratio of target rows, is below its maximum."""
    from skada._reweight import KLIEPReweightAdapter

    from counterpoise.weights._kernels import gaussian_kernel
    from counterpoise.weights.kliep import fit_kliep

    X, Z = shifted()
    width = 1.0
    adapter = KLIEPReweightAdapter(gamma=1 / (2 * width**2), random_state=0)
    adapter.fit(np.concatenate([X, Z]), sample_domain=np.repeat([1, -2], [len(X), len(Z)]))
    centers = np.asarray(adapter.centers_, float)
    value = np.mean(np.log(gaussian_kernel(Z, centers, width) @ adapter.alpha_))
    value -= np.log(np.mean(gaussian_kernel(X, centers, width) @ adapter.alpha_))
    best = float(fit_kliep(X, Z, width=width, centers=centers).objective)
    print(f"  objective {value:.4f}; the optimum with the same kernel and centres is {best:.4f}")


def skada_validation_ignores_losses() -> None:
    """Show that DeepEmbeddedValidation does not depend on which rows have the losses.

    Weights of shape (n, 1) times losses of shape (n,) are a matrix, whose mean is the mean weight
    times the mean loss.
    """
    import sklearn
    from skada import make_da_pipeline
    from skada.metrics import DeepEmbeddedValidation
    from sklearn.linear_model import LogisticRegression

    X, Z = shifted()
    both, domain = np.concatenate([X, Z]), np.repeat([1, -2], [len(X), len(Z)])
    labels = np.concatenate([(X[:, 0] > 0).astype(int), np.full(len(Z), -1)])
    scores = []
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_da_pipeline(LogisticRegression()).fit(both, labels, sample_domain=domain)
        for order in (1, -1):
            # The same losses in two orders, all but the first two.
            losses = np.concatenate(
                [[0, 0], np.sort(np.random.default_rng(0).random(163))[::order]]
            )
            scorer = DeepEmbeddedValidation(loss_func=lambda y, p: losses, random_state=0)  # noqa: B023
            scores.append(scorer(model, both, labels, sample_domain=domain))
    print(f"  the same losses on other rows: scores {scores[0]:.6f} and {scores[1]:.6f}")


def densratio_has_no_seed() -> None:
    """Show that two calls give two answers; no argument fixes them."""
    from densratio import densratio

    X, Z = shifted()
    ratios = [
        densratio(Z, X, method="KLIEP", verbose=False).compute_density_ratio(X) for _ in range(2)
    ]
    difference = np.abs(np.subtract(*ratios)).max()
    print(f"  largest difference of a weight between two calls: {difference:.3f}")


def balance_is_slow() -> None:
    """Show how long the default adjustment of 200 rows takes: 250 penalties in ten folds."""
    from estimators import balance

    X, Z = shifted(200, 300, 3)
    start = time.perf_counter()
    balance("ipw")(X, Z)
    print(f"  ipw, 200 and 300 rows of 3 columns: {time.perf_counter() - start:.1f} s")


def balance_rake_fills_memory() -> None:
    """Show that raking builds the table of all columns: ten times the memory per column."""
    import tracemalloc

    from estimators import balance

    for D in (4, 5, 6):
        X, Z = shifted(200, 300, D)
        tracemalloc.start()
        balance("rake")(X, Z)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"  {D} columns: {peak:.0f} MiB at the peak")


DEFECTS: tuple[Callable[[], None], ...] = (
    skada_changes_scikit_learn,
    skada_discriminator_is_inverted,
    skada_kliep_stops_early,
    skada_validation_ignores_losses,
    densratio_has_no_seed,
    balance_is_slow,
    balance_rake_fills_memory,
)


def main() -> None:
    prepare()
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    for function in DEFECTS:
        print(f"\n{function.__name__}: {(function.__doc__ or '').splitlines()[0]}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()


if __name__ == "__main__":
    main()
