"""Try the properties of `tests/properties` on thousands of generated cases.

    python benchmarks/fuzz.py --cases 20000            # new cases each night: --seed is random
    python benchmarks/fuzz.py --cases 500 --only ridge --seed 7

Runs from the root of a checkout. Prints how many cases were judged for every property, and what
failed; a failure prints its seed and the smallest case found. Exits with 1 if something failed.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


class Watch:
    """A pytest plugin that keeps what was collected, tried and failed."""

    def __init__(self) -> None:
        self.collected: list[str] = []
        self.failed: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the names of the tests."""
        self.collected = [item.nodeid for item in session.items]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what failed."""
        if report.failed:
            self.failed.append(report.nodeid)

    @property
    def tried(self) -> Counter[str]:
        """Cases judged, by test."""
        import fuzzing  # a helper of the tests, on the path once pytest has started

        return fuzzing.TRIED


def run(cases: int, seed: int, only: str) -> tuple[Counter[str], list[str]]:
    """Run the properties; return the cases judged by test, and the tests that failed."""
    os.chdir(ROOT)
    arguments = ["-q", "--no-header", "-p", "no:cacheprovider", "tests/properties", "-k", only]
    counts = Watch()
    os.environ |= {"COUNTERPOISE_FUZZ": "1", "COUNTERPOISE_FUZZ_SEED": str(seed)}
    if pytest.main([*arguments, "--collect-only", "-qq"], plugins=[counts]):
        raise SystemExit(f"no property has {only!r} in its name")
    for name in [name for name in sys.modules if "fuzzing" in name or "properties" in name]:
        del sys.modules[name]
    # Properties of a higher cost get fewer cases: aim above.
    per_property = math.ceil(2.0 * cases / len(counts.collected))
    os.environ["COUNTERPOISE_FUZZ"] = str(per_property)
    watch = Watch()
    pytest.main([*arguments, "--tb=short"], plugins=[watch])
    return watch.tried, watch.failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=20_000, help="at least so many cases in all")
    parser.add_argument("--seed", type=int, help="default: a random one, which is printed")
    parser.add_argument("--only", default="", help="only tests whose names match, as pytest's -k")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    tried, failed = run(options.cases, seed, options.only)
    by_property: Counter[str] = Counter()
    for name, count in tried.items():
        by_property[name.split("[")[0].removeprefix("tests/properties/")] += count
    for name, count in sorted(by_property.items()):
        print(f"{count:7,} {name}")
    for name in failed:
        print(f"FAILED {name}")
    total = f"{sum(tried.values()):,} cases of {len(tried)} properties"
    print(f"{total}; {len(failed)} failed; seed {seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
