"""Plant faults in the numerical core, one at a time, and count those that the tests catch.

    python benchmarks/mutants.py --own --count 120 --jobs 2     # tests of the fault's own package
    python benchmarks/mutants.py --only risk/ --count 20        # then all tests
    python benchmarks/mutants.py --list                         # the faults, without running tests

Run from the root of a checkout. Faults are drawn from the syntax tree with a seed: a changed sign
or operator, swapped operands, a missing factor, a mean for a sum, another axis, a number that is
off by one or doubled, a flipped comparison, `and` for `or`. Docstrings, messages, checks of input,
tolerances, limits of iterations and sizes of blocks are left alone.

Each fault goes into a temporary copy of the package. The first failing test counts as caught, and
so does a run that takes five times its usual time (at least a minute). Every outcome is appended to
a file of JSON lines, so an interrupted run goes on where it stopped; ``--again`` repeats the
survivors, after tests were added or with more tests. Some survivors cannot change a result: read
them before writing a test.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "counterpoise"
CORE = ("risk", "weights", "ridge", "search", "diagnostics", "encoding")
SINGLE = {
    "_linalg.py": "tests/weights tests/experiments",
    "_pareto.py": "tests/test_pareto.py",
    "losses.py": "tests/test_losses.py",
    "metrics.py": "tests/test_metrics.py",
}

OPPOSITE: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Mult: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.And: ast.Or,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.In: ast.NotIn,
}
OPPOSITE |= {other: one for one, other in OPPOSITE.items()} | {ast.Pow: ast.Mult}
FUNCTIONS = {"mean": "sum", "max": "min", "argmax": "argmin", "any": "all", "std": "var"}
FUNCTIONS |= {"maximum": "minimum", "ones_like": "zeros_like", "ceil": "floor"}
FUNCTIONS |= {other: one for one, other in FUNCTIONS.items()}
LEFT_OUT = {"sqrt", "abs", "exp", "log", "log1p", "expm1", "cumsum", "flip", "sort", "argsort"}
# Functions that check, report or cut rows into blocks, and names of tolerances, of seeds, of text,
# and of sizes that change the time of a result but not the result.
SPEAKS = re.compile(
    r"^(check_|_check|warn|require_|format_|describe|__\w*repr|__str|_repr_html_|__post_init__)"
    r"|^(check|getattr|isinstance|hasattr|len|default_rng|blocks)$"
)
TOLERANCE = re.compile(
    r"eps|tol|tiny|rounding|seed|random_state|maxiter|html|perf_counter|seconds|overwrite_|lower="
    r"|_(ROWS|BLOCK|LARGE|MOST|KEEP|SLICE|SAMPLE|ITERATIONS|STALLS|COMPACT|STEPS|SPLIT|THREADS)"
    r"|_(BATCH|SWEEPS|FORMS|SEPARATED|LOOSE|NEAR|NEW|TREES)\b|progress"
)
SMALLEST, LARGEST = 1e-5, 2**16  # numbers beyond are tolerances, bytes and constants of hashes


# --- Faults ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """One change of one expression: `new` replaces `old`."""

    path: str  # relative to the package
    line: int  # from 1
    start: int  # bytes before the expression
    kind: str
    old: str
    new: str
    digest: str  # of the module's source: a record does not serve another version

    def apply(self, source: str) -> str:
        """Return the module's source with the fault in it."""
        text, end = source.encode(), self.start + len(self.old.encode())
        return (text[: self.start] + f"({self.new})".encode() + text[end:]).decode()

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.old}  ->  {self.new}"


def draw(count: int, seed: int, only: str = "") -> list[Fault]:
    """Draw faults at random from the modules whose paths start with `only`."""
    paths = [path for name in CORE for path in sorted((PACKAGE / name).rglob("*.py"))]
    paths += [PACKAGE / name for name in SINGLE]
    modules = [path for path in paths if path.relative_to(PACKAGE).as_posix().startswith(only)]
    pool = [fault for path in modules for fault in faults_of(path)]
    return random.Random(seed).sample(pool, min(count, len(pool)))


def faults_of(path: Path) -> Iterator[Fault]:
    """Yield every fault that can be planted in a module."""
    text = path.read_bytes()
    digest = hashlib.sha256(text).hexdigest()[:12]
    name = path.relative_to(PACKAGE).as_posix()
    before = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    for node in expressions(ast.parse(text)):
        start = before[node.lineno - 1] + node.col_offset
        old = text[start : before[node.end_lineno - 1] + node.end_col_offset].decode()
        for kind, new in changes(node):
            yield Fault(name, node.lineno, start, kind, old, new, digest)


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield expressions that compute something, not those that check, explain or annotate."""
    children: list[ast.AST | None] = list(ast.iter_child_nodes(node))
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.FunctionDef(name=name) if SPEAKS.match(name):
            return
        case ast.Call() if SPEAKS.match(_called(node)):
            return
        case ast.keyword(arg=name) if name == "max_iter" or TOLERANCE.search(name or ""):
            return
        case ast.BinOp() if TOLERANCE.search(ast.unparse(node)):
            # A number times a tolerance is a tolerance.
            children = [child for child in children if not isinstance(child, ast.Constant)]
        case ast.Assign(targets=[target, *_]) if TOLERANCE.search(ast.unparse(target)):
            return
        case ast.If(body=[ast.Raise()]):
            children = list(node.orelse)
        case ast.FunctionDef(args=args):
            options = zip(args.kwonlyargs, args.kw_defaults, strict=True)
            values = [value for option, value in options if not TOLERANCE.search(option.arg)]
            children = [*args.defaults, *values, *node.body]
        case ast.ClassDef():
            children = list(node.body)
        case ast.AnnAssign():
            children = [node.value]
    if isinstance(node, ast.expr) and not TOLERANCE.search(ast.unparse(node)):
        yield node
    for child in children:
        if child is not None:
            yield from expressions(child)


def changes(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield kinds of fault and the text of the changed expression."""
    match node:
        case ast.BinOp():
            yield from _of_operation(node)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            pass  # mostly an axis
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield "sign", ast.unparse(node.operand)
        case ast.Compare(ops=[operator]) if type(operator) in OPPOSITE:
            yield "comparison", _with(node, ops=[OPPOSITE[type(operator)]()])
        case ast.BoolOp():
            yield "and/or", _with(node, op=OPPOSITE[type(node.op)]())
        case ast.IfExp():
            yield "branches", _with(node, body=node.orelse, orelse=node.body)
        case ast.Call():
            yield from _of_call(node)
        case ast.Constant(value=int() as value) if type(value) is int and value < LARGEST:
            yield "number", str(value + 1)
        case ast.Constant(value=float() as value) if SMALLEST <= value < LARGEST:
            yield "number", repr(2 * value)


def _of_operation(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    if any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (node.left, node.right)):
        return
    if type(node.op) in OPPOSITE:
        yield "operator", _with(node, op=OPPOSITE[type(node.op)]())
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult):
        yield "swapped", _with(node, left=node.right, right=node.left)
    if isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Pow):
        yield "missing factor", ast.unparse(node.left)
    if isinstance(node.op, ast.Mult):
        yield "missing factor", ast.unparse(node.right)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) not in (int, float)


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = _called(node)
    if name in FUNCTIONS:
        function = ast.unparse(node.func).removesuffix(name) + FUNCTIONS[name]
        yield "function", _with(node, func=ast.Name(function))
    if name in LEFT_OUT and node.args:
        yield "function left out", ast.unparse(node.args[0])
    for keyword in node.keywords:
        if keyword.arg == "axis" and ast.unparse(keyword.value) in ("-1", "0", "1", "2", "-2"):
            axis = ast.Constant(-1 if ast.unparse(keyword.value) in ("0", "-2") else 0)
            others = [other for other in node.keywords if other is not keyword]
            yield "axis", _with(node, keywords=[*others, ast.keyword("axis", axis)])


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rsplit(".", 1)[-1]


def _with(node: ast.expr, **fields: object) -> str:
    return ast.unparse(type(node)(**{**dict(ast.iter_fields(node)), **fields}))


# --- Running the tests ----------------------------------------------------------------------------


def stages(fault: Fault, *, own: bool) -> list[str]:
    """Return the tests of the fault's own package, and then all of them unless `own`."""
    first = SINGLE.get(fault.path) or f"tests/{fault.path.split('/')[0]}"
    return [first] if own else [first, "tests"]


def run_tests(
    tests: str, seconds: float | None = None, fault: Fault | None = None
) -> tuple[int | None, str]:
    """Run tests on a copy of the package; return the status (None: too slow) and the output."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "counterpoise"
        shutil.copytree(PACKAGE, package)
        if fault is not None:
            source = (package / fault.path).read_text(encoding="utf-8")
            (package / fault.path).write_text(fault.apply(source), encoding="utf-8")
        # One seed for generated examples: the same fault has the same outcome every time.
        options = ["-q", "-x", "--tb=no", "--no-header", "-rfE", "-p", "no:cacheprovider"]
        paths = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, "--hypothesis-seed=0", *tests.split()],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": paths, "TMPDIR": folder, "OMP_NUM_THREADS": "1"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            # Tests start processes of their own, in the session that was made for them.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode, output


def usual_seconds(tests: str) -> float:
    """Return how long tests take without a fault. They must pass, or all would seem caught."""
    start = time.perf_counter()
    status, output = run_tests(tests)
    if status != 0:
        raise SystemExit(f"{tests} fails without a fault:\n{output[-2000:]}")
    return time.perf_counter() - start


def judge(fault: Fault, limits: dict[str, float], *, own: bool) -> str:
    """Return what caught a fault, or an empty text if it survived."""
    for tests in stages(fault, own=own):
        status, output = run_tests(tests, limits[tests], fault)
        if status is None:
            return "taking too long"
        if status != 0:
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
            return failed[1] if failed else "a crash"
    return ""


def run(faults: list[Fault], options: argparse.Namespace) -> dict[str, str]:
    """Judge the faults that the record does not have; return what caught each of them."""
    caught_by: dict[str, str] = {}
    if options.record.exists():
        for line in options.record.read_text(encoding="utf-8").splitlines():
            with suppress(json.JSONDecodeError):  # the last line of an interrupted run
                caught_by |= json.loads(line)
    todo = [fault for fault in faults if repr(fault) not in caught_by]
    if options.again:
        todo += [fault for fault in faults if caught_by.get(repr(fault)) == ""]
    needed = {tests for fault in todo for tests in stages(fault, own=options.own)}
    limits = {name: max(60.0, 5 * usual_seconds(name)) for name in sorted(needed)}

    def judged(fault: Fault) -> None:
        by = judge(fault, limits, own=options.own)
        caught_by[repr(fault)] = by
        with options.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps({repr(fault): by}) + "\n")
        print(f"{fault}: " + (f"caught by {by}" if by else "SURVIVED"), flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(judged, todo))
    return caught_by


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=160, help="number of faults")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--only", default="", help="start of the modules' paths, such as risk/")
    parser.add_argument("--jobs", type=int, default=1, help="faults judged at the same time")
    parser.add_argument("--record", type=Path, default=Path("mutants.jsonl"), help="JSON lines")
    parser.add_argument("--again", action="store_true", help="repeat those that survived")
    parser.add_argument("--own", action="store_true", help="only tests of the fault's own package")
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    options = parser.parse_args()
    faults = draw(options.count, options.seed, options.only)
    if options.list:
        print(*faults, sep="\n")
        return
    caught_by = run(faults, options)
    survivors = [fault for fault in faults if not caught_by[repr(fault)]]
    print(*(f"survived: {fault}" for fault in survivors), sep="\n")
    caught = len(faults) - len(survivors)
    print(
        f"{len(faults)} faults, {caught} caught ({caught / max(1, len(faults)):.0%}), "
        f"{len(survivors)} survived"
    )


if __name__ == "__main__":
    main()
