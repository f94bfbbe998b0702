"""Plant faults in the numerical core, one at a time, and count those that the tests catch.

    python benchmarks/mutants.py --jobs 16                      # 160 faults
    python benchmarks/mutants.py --count 40 --only risk/ --jobs 1
    python benchmarks/mutants.py --named --own                  # those that survived once
    python benchmarks/mutants.py --list                         # the faults, without running tests

Run from the root of a checkout; nothing has to be installed but the packages that the tests need.
Faults are drawn from the syntax tree with a fixed seed: a changed sign or operator, swapped
operands, a missing factor, a mean instead of a sum, another axis, an index or a number that is off
by one, a number that is doubled, a flipped comparison, `and` for `or`. Docstrings, messages, checks
of input, text representations, rounding tolerances and sizes of blocks are left alone.

Each fault goes into a temporary copy of the package. The tests that mirror its module run first,
then those of the other packages; the first failure counts as caught, and so does a run that takes
five times its usual time. Every outcome is added to a file of JSON lines as it comes: an
interrupted run goes on where it stopped. `--again` repeats those that survived, after tests were
added. Faults that cannot change a result are listed, with the reason, in
`benchmarks/equivalent_mutants.json`; they are counted apart. `--named` plants those of
`benchmarks/named_faults.json` instead, which survived before tests for them were added.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import difflib
import hashlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "counterpoise"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.json")
NAMED = Path(__file__).with_name("named_faults.json")

CORE = (
    "risk/*.py",
    "weights/*.py",
    "weights/_convex/*.py",
    "ridge/*.py",
    "search/consensus.py",
    "search/stacking.py",
    "search/selection.py",
    "search/fitting.py",
    "search/resampling.py",
    "diagnostics/*.py",
    "_linalg.py",
    "_pareto.py",
    "losses.py",
    "metrics.py",
    "encoding/pairing.py",
)
# Tests that mirror a module, from the first prefix that fits; then the others, in order.
OWN_TESTS = {
    "risk/dask": ["tests/risk", "tests/diagnostics"],
    "risk/": ["tests/risk"],
    "weights/": ["tests/weights"],
    "ridge/": ["tests/ridge"],
    "search/": ["tests/search"],
    "diagnostics/": ["tests/diagnostics"],
    "encoding/": ["tests/encoding"],
    "jobs/": ["tests/jobs"],
    "_linalg": ["tests/weights", "tests/ridge"],
    "_pareto": ["tests/test_pareto.py", "tests/diagnostics"],
    "losses": ["tests/test_losses.py"],
    "metrics": ["tests/test_metrics.py", "tests/risk/test_target_metrics.py"],
}
OTHER_TESTS = [
    "tests/properties",
    "tests/theory",
    "tests/risk",
    "tests/search",
    "tests/ridge",
    "tests/weights",
    "tests/diagnostics",
    "tests/extremes",
    "tests/experiments",
    "tests/jobs",
]
PATIENCE, LEAST_SECONDS = 5.0, 60.0


# Where a fault may be planted


BINARY = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
FLIPPED = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OTHER_NAME = {
    "mean": "sum",
    "sum": "mean",
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
    "any": "all",
    "all": "any",
    "std": "var",
    "var": "std",
    "ceil": "floor",
    "floor": "ceil",
    "ones_like": "zeros_like",
    "zeros_like": "ones_like",
}
DROPPED = {"sqrt", "abs", "exp", "log", "log1p", "expm1", "cumsum", "flip", "sort", "argsort"}
# Calls that check or report, and names that hold tolerances and text.
SPEAKS = re.compile(
    r"^(check_|_check|warn|require_|format_|say_|describe)|^(getattr|isinstance|hasattr|len)$"
)
SILENT_FUNCTIONS = re.compile(r"^(__repr__|__str__|_repr_html_|__post_init__|check_|_check|warn)")
TOLERANCE = re.compile(
    r"eps|tol|tiny|rounding|seed|random_state|maxiter|html|perf_counter|seconds|overwrite_|lower="
)
# Sizes of blocks and limits of the work: they change the time that a result takes, not the result.
SIZES = re.compile(
    r"_ROWS$|_ROWS,|_BLOCK|_LARGE|_MOST_|_KEEP|_SLICE|_SAMPLE|_ITERATIONS|_STALLS|_COMPACT|_STEPS|"
    r"_SPLIT|_THREADS|_SEPARATED"
)
TINY, HUGE = 1e-5, 2**16  # numbers beyond are tolerances, sizes in bytes and constants of hashes


@dataclass(frozen=True)
class Fault:
    """One change of one expression."""

    path: str  # relative to the package
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    new: str  # text of the expression after the change
    digest: str  # of the module's source, so that a record is not used for another version
    whole: bool = False  # whether `new` replaces text as it is, or is an expression

    @property
    def key(self) -> str:
        """Return what identifies the fault in the record."""
        return f"{self.path}:{self.line}:{self.column}:{self.kind}:{self.new}:{self.digest}"

    def apply(self, source: str) -> str:
        """Return the module's source with the fault in it."""
        lines = source.splitlines(keepends=True)
        head = _cut(lines[self.line - 1], self.column)[0]
        tail = _cut(lines[self.end_line - 1], self.end_column)[1]
        changed = f"{head}{self.new}{tail}" if self.whole else f"{head}({self.new}){tail}"
        return "".join([*lines[: self.line - 1], changed, *lines[self.end_line :]])

    def diff(self, source: str) -> str:
        """Return the changed lines."""
        pair = (text.splitlines() for text in (source, self.apply(source)))
        lines = list(difflib.unified_diff(*pair, lineterm="", n=0))[3:]
        return "\n".join(f"    {line}" for line in lines)


def _cut(line: str, column: int) -> tuple[str, str]:
    """Split a line at a column counted in bytes, as the syntax tree does."""
    data = line.encode()
    return data[:column].decode(), data[column:].decode()


def faults_of(path: Path) -> list[Fault]:
    """Return every fault that can be planted in a module."""
    source = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    name = path.relative_to(PACKAGE).as_posix()
    found = []
    for node in _expressions(ast.parse(source)):
        for kind, new in _changes(node):
            place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            found.append(Fault(name, *place, kind, new, digest))
    return found


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield expressions that compute something, not those that check, explain or annotate."""
    if _is_left_alone(node):
        return
    if isinstance(node, ast.If) and all(isinstance(child, ast.Raise) for child in node.body):
        children: list[ast.AST] = list(node.orelse)
    elif isinstance(node, ast.FunctionDef):
        children = [*node.args.defaults, *node.args.kw_defaults, *node.body]
    elif isinstance(node, ast.ClassDef):
        children = list(node.body)
    elif isinstance(node, ast.AnnAssign):
        children = [node.value] if node.value is not None else []
    else:
        children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.expr) and not TOLERANCE.search(ast.unparse(node)):
        yield node
    for child in children:
        if child is not None:
            yield from _expressions(child)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef():
            return SILENT_FUNCTIONS.match(node.name) is not None
        case ast.Assign():
            name = ast.unparse(node.targets[0])
            return TOLERANCE.search(name) is not None or SIZES.search(name) is not None
        case ast.Call():
            return SPEAKS.search(_called(node)) is not None
        case ast.keyword():
            return TOLERANCE.search(node.arg or "") is not None
    return isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _changes(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield kinds of fault and the text of the changed expression."""
    if isinstance(node, ast.BinOp):
        yield from _binary(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant) or node.operand.value != 1:
            yield "sign", ast.unparse(node.operand)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield "negation", ast.unparse(node.operand)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED and len(node.ops) == 1:
        yield "comparison", _with(node, ops=[FLIPPED[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", _with(node, op=other)
    elif isinstance(node, ast.IfExp):
        yield "branches", _with(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if type(node.value) is int and node.value < HUGE:
            yield "number", str(node.value + 1)
        elif type(node.value) is float and TINY <= node.value < HUGE:
            yield "number", repr(2 * node.value)


def _binary(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    if isinstance(node.op, ast.Mod) or any(
        isinstance(side, ast.Constant | ast.JoinedStr) and not _number(side)
        for side in (node.left, node.right)
    ):
        return
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        other = ast.BitOr() if isinstance(node.op, ast.BitAnd) else ast.BitAnd()
        yield "and/or", _with(node, op=other)
        return
    if type(node.op) in BINARY:
        yield "operator", _with(node, op=BINARY[type(node.op)]())
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult):
        yield "swapped", _with(node, left=node.right, right=node.left)
    if isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Pow):
        yield "missing factor", ast.unparse(node.left)
    if isinstance(node.op, ast.Mult):
        yield "missing factor", ast.unparse(node.right)


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _call(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = _called(node)
    if name in OTHER_NAME and isinstance(node.func, ast.Attribute):
        yield "function", _with(node, func=_with_node(node.func, attr=OTHER_NAME[name]))
    elif name in ("max", "min") and isinstance(node.func, ast.Name):
        yield "function", _with(node, func=_with_node(node.func, id=OTHER_NAME[name]))
    if name in DROPPED and node.args:
        yield "function left out", ast.unparse(node.args[0])
    for i, keyword in enumerate(node.keywords):
        if keyword.arg == "axis":
            with suppress(ValueError, TypeError):
                axis = 0 if ast.literal_eval(keyword.value) in (-1, 1, 2) else -1
                changed = ast.keyword(arg="axis", value=ast.Constant(axis))
                keywords = [*node.keywords[:i], changed, *node.keywords[i + 1 :]]
                yield "axis", _with(node, keywords=keywords)


def _with_node(node: ast.AST, **fields: object) -> ast.AST:
    kept = {name: value for name, value in ast.iter_fields(node) if name not in fields}
    return type(node)(**kept, **fields)


def _with(node: ast.AST, **fields: object) -> str:
    return ast.unparse(_with_node(node, **fields))


def draw(count: int, seed: int, only: str) -> list[Fault]:
    """Draw faults at random, every kind equally often, no two at one expression."""
    paths = sorted({path for pattern in CORE for path in PACKAGE.glob(pattern)})
    pool = [
        fault
        for path in paths
        if path.relative_to(PACKAGE).as_posix().startswith(only)
        for fault in faults_of(path)
    ]
    random.Random(seed).shuffle(pool)
    kinds = {kind: [f for f in pool if f.kind == kind] for kind in sorted({f.kind for f in pool})}
    chosen: dict[tuple[str, int, int], Fault] = {}
    for fault in chain.from_iterable(zip_longest(*kinds.values())):
        if fault is not None and len(chosen) < count:
            chosen.setdefault((fault.path, fault.line, fault.column), fault)
    return list(chosen.values())


def named() -> list[Fault]:
    """Return the faults that are listed by name."""
    found = []
    for entry in json.loads(NAMED.read_text(encoding="utf-8")):
        source = (PACKAGE / entry["path"]).read_text(encoding="utf-8")
        if source.count(entry["old"]) != 1:
            raise SystemExit(
                f"{entry['path']}: {entry['old']!r} is not there once: mend {NAMED.name}"
            )
        before, _ = source.split(entry["old"])
        lines = [*before.splitlines(), ""] if before.endswith("\n") else before.splitlines()
        found.append(
            Fault(
                entry["path"],
                len(lines),
                len(lines[-1].encode()),
                len(lines),
                len(lines[-1].encode()) + len(entry["old"].encode()),
                entry["about"],
                entry["new"],
                hashlib.sha256(source.encode()).hexdigest()[:12],
                whole=True,
            )
        )
    return found


# Running the tests


@dataclass(frozen=True)
class Outcome:
    """What became of one fault."""

    key: str
    caught: bool
    by: str  # the test that failed, or why the run ended
    seconds: float


class Workbench:
    """A temporary copy of the package with compiled modules, for one worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "counterpoise"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self.package, quiet=2)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
            "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(folder),
        }

    def write(self, name: str, source: str) -> None:
        """Write a module and forget its compiled form."""
        path = self.package / name
        path.write_text(source, encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()

    def pytest(self, *arguments: str, seconds: float | None = None) -> tuple[int | None, str]:
        """Run tests; the status is None if they took too long."""
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
        # Examples generated from one seed: the same fault has the same outcome every time.
        command += ["--hypothesis-seed=0", *arguments]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            text, _ = process.communicate(timeout=seconds)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return None, ""
        return process.returncode, text


FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Usual:
    """How long tests take without a fault, and which fail here anyway: measured when first asked.

    Tests that were changed since are measured again.
    """

    def __init__(self, bench: Workbench, write: Callable[[dict], None], lines: list[dict]) -> None:
        self.bench, self.write = bench, write
        self.known = {(line["tests"], line["digest"]): line for line in lines if "tests" in line}
        self.locks = defaultdict(threading.Lock)

    def __call__(self, tests: str) -> dict:
        """Return a dict with "seconds" and "fail_anyway"."""
        paths = sorted((ROOT / tests).rglob("*.py")) or [ROOT / tests]
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]
        with self.locks[tests]:
            if (tests, digest) not in self.known:
                begin = time.perf_counter()
                status, text = self.bench.pytest("-rfE", "--tb=no", tests)
                if status not in (0, 1, 5) or re.search(r"^ERROR ", text, re.MULTILINE):
                    # Otherwise every fault would seem to be caught.
                    raise SystemExit(f"{tests} does not run here without a fault:\n{text[-2000:]}")
                found = {
                    "tests": tests,
                    "digest": digest,
                    "seconds": time.perf_counter() - begin,
                    "fail_anyway": FAILED.findall(text),
                }
                self.known[tests, digest] = found
                self.write(found)
                print(f"{tests}: {found['seconds']:.0f} s without a fault", flush=True)
                for name in found["fail_anyway"]:
                    print(f"  fails without a fault, left out: {name}", flush=True)
            return self.known[tests, digest]


def stages(path: str, *, own: bool) -> list[list[str]]:
    """Return what to run for a module: the file that mirrors it, its directory, the others."""
    first = next(tests for prefix, tests in OWN_TESTS.items() if path.startswith(prefix))
    found = []
    constants = OTHER_TESTS[0]
    for tests in dict.fromkeys([constants, *first] if own else [constants, *first, *OTHER_TESTS]):
        mirror = f"{tests}/test_{Path(path).stem.strip('_')}.py"
        if (ROOT / mirror).exists() and tests in first:
            found += [[tests, mirror], [tests, tests, f"--ignore={mirror}"]]
        elif (ROOT / tests).exists():
            found.append([tests, tests])
    return found


def judge(bench: Workbench, fault: Fault, usual: Usual, *, own: bool) -> Outcome:
    """Plant a fault, run the tests, take it out again."""
    source = (bench.package / fault.path).read_text(encoding="utf-8")
    begin = time.perf_counter()
    bench.write(fault.path, fault.apply(source))
    try:
        for tests, *arguments in stages(fault.path, own=own):
            clean = usual(tests)
            skipped = [f"--deselect={name}" for name in clean["fail_anyway"]]
            limit = max(LEAST_SECONDS, PATIENCE * clean["seconds"])
            status, text = bench.pytest(
                "-x", "--tb=no", "-rfE", *skipped, *arguments, seconds=limit
            )
            if status == 0 or status == 5:  # 5: every test deselected or skipped
                continue
            by = "took too long" if status is None else next(iter(FAILED.findall(text)), "crashed")
            return Outcome(fault.key, True, by, time.perf_counter() - begin)
    finally:
        bench.write(fault.path, source)
    return Outcome(fault.key, False, "", time.perf_counter() - begin)


def run(faults: list[Fault], record: Path, jobs: int, *, again: bool, own: bool) -> dict[str, dict]:
    """Judge the faults that the record does not have, and return the record."""
    lines = read_record(record)
    outcomes = {line["key"]: line for line in lines if "key" in line}
    todo = [f for f in faults if f.key not in outcomes or (again and not outcomes[f.key]["caught"])]
    with tempfile.TemporaryDirectory() as folder, record.open("a", encoding="utf-8") as file:
        benches: queue.Queue[Workbench] = queue.Queue()
        for i in range(jobs):
            benches.put(Workbench(Path(folder) / str(i)))

        def write(line: dict) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        usual = Usual(Workbench(Path(folder) / "clean"), write, lines)

        def judged(fault: Fault) -> None:
            bench = benches.get()
            try:
                outcome = judge(bench, fault, usual, own=own)
            finally:
                benches.put(bench)
            outcomes[fault.key] = asdict(outcome)
            write(outcomes[fault.key])
            print(describe(fault, outcome), flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(judged, todo))
    return outcomes


def describe(fault: Fault, outcome: Outcome) -> str:
    """Return one line about a fault."""
    place = f"{fault.path}:{fault.line} {fault.kind} ({outcome.seconds:.0f} s)"
    return f"caught   {place} by {outcome.by}" if outcome.caught else f"SURVIVED {place}"


def read_record(record: Path) -> list[dict]:
    """Return the lines that were written whole."""
    found = []
    for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else []:
        with suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def is_equivalent(fault: Fault, source: str) -> bool:
    """Tell whether the fault is listed as one that cannot change a result."""
    listed = json.loads(EQUIVALENT.read_text(encoding="utf-8")) if EQUIVALENT.exists() else []
    line = source.splitlines()[fault.line - 1].strip()
    return any(
        entry["path"] == fault.path and entry["line"] == line and entry["new"] == fault.new
        for entry in listed
    )


def report(faults: list[Fault], outcomes: dict[str, dict]) -> bool:
    """Print the counts and every survivor. Tell whether 95 % were caught."""
    sources = {f.path: (PACKAGE / f.path).read_text(encoding="utf-8") for f in faults}
    done = [fault for fault in faults if fault.key in outcomes]
    survived = [fault for fault in done if not outcomes[fault.key]["caught"]]
    equivalent = [fault for fault in survived if is_equivalent(fault, sources[fault.path])]
    real = [fault for fault in survived if fault not in equivalent]
    for title, some in (("Survived", real), ("Equivalent", equivalent)):
        for fault in some:
            print(f"{title}: src/counterpoise/{fault.path}:{fault.line} {fault.kind}")
            print(fault.diff(sources[fault.path]))
    count = len(done) - len(equivalent)
    share = (count - len(real)) / count if count else 1.0
    print(
        f"{len(done)} faults planted, {len(equivalent)} of them equivalent; of the other {count}, "
        f"{count - len(real)} caught ({share:.1%}), {len(real)} survived"
    )
    return share >= 0.95


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=160, help="number of faults")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--only", default="", help="start of the modules' paths, such as risk/")
    parser.add_argument("--jobs", type=int, default=1, help="faults judged at the same time")
    parser.add_argument("--record", type=Path, default=Path("mutants.jsonl"), help="JSON lines")
    parser.add_argument("--again", action="store_true", help="repeat those that survived")
    parser.add_argument("--own", action="store_true", help="only tests that mirror the module")
    parser.add_argument("--named", action="store_true", help="those that are listed by name")
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    options = parser.parse_args()
    faults = named() if options.named else draw(options.count, options.seed, options.only)
    if options.list:
        for fault in faults:
            print(f"{fault.path}:{fault.line} {fault.kind}")
            print(fault.diff((PACKAGE / fault.path).read_text(encoding="utf-8")))
        return 0
    outcomes = run(faults, options.record, options.jobs, again=options.again, own=options.own)
    return 0 if report(faults, outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
