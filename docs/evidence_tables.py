"""Tables of the page "Evidence", from what ``benchmarks/real_tables.py`` printed.

python benchmarks/real_tables.py --draws draws > docs/_static/evidence/real_tables.txt
"""

import re
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

PRINTED = Path(__file__).parent / "_static" / "evidence" / "real_tables.txt"
# Numbers of a line, and their standard errors where they have one.
COVERAGE = re.compile(
    r"  (?P<kind>\w+) +(?P<name>[\w ]+?) +(?P<cells>\d+) cells, +\d+ tables: covered "
    r"(?P<covered>[\d.]+ \([\d.]+\)), without drift (?P<alone>[\d.]+ \([\d.]+\)), median error "
    r"(?P<error>[\d.]+)(?:, width / oracle (?P<wide>[\d.]+) and (?P<narrow>[\d.]+))?"
)
DELIVERED = re.compile(
    r"  (?P<kind>\w+) +(?P<name>\w+) +over the plain choice: (?P<ratio>[\d.]+ \([\d.]+\)), worst "
    r"(?P<worst>[\d.]+), at most 1.01 in (?P<share>\d+)%"
)
WORDS = {"auc": "AUC", "f1": "F1", "log_loss": "log loss", "mae": "MAE", "r2": "R²", "rmse": "RMSE"}
WORDS |= {"nnls": "least squares alone"}
KINDS, VERDICTS = ("selection", "natural"), ("plausible", "caution", "do not trust")


def read(part):
    """Return the lines of a part, each as a dict of texts."""
    blocks = PRINTED.read_text(encoding="utf-8").split("\n\n")
    lines = next(b for b in blocks if b.strip().startswith(part)).strip().splitlines()[1:]
    pattern = DELIVERED if part == "delivered" else COVERAGE
    return [pattern.match(line).groupdict() for line in lines]


def rows(table):
    """Return the header and the rows of a table."""
    if table == "intervals":
        found = [row for kind in KINDS for row in read(table) if row["kind"] == kind]
        head = ["split", "covered", "without drift", "width / oracle", "without drift"]
        keys = ("kind", "covered", "alone", "wide", "narrow")
        return head, [[row[key] for key in keys] for row in found if row["name"] == "all"]
    if table == "verdicts":
        own = {row["name"]: row for row in read("intervals") if row["kind"] == "natural"}
        head = ["verdict", "cells", "covered", "median error of the log risk"]
        keys = ("name", "cells", "covered", "error")
        return head, [[own[verdict][key] for key in keys] for verdict in VERDICTS]
    if table == "labels":
        head = ["labels", "covered", "without drift", "median error of the log risk"]
        keys = ("name", "covered", "alone", "error")
        own = [row for row in read(table) if row["kind"] == "natural"]
        return head, [[row[key] for key in keys] for row in own]
    if table == "metrics":
        by_kind = [{row["name"]: row for row in read(table) if row["kind"] == k} for k in KINDS]
        head = ["metric", *KINDS]
        return head, [
            [WORDS.get(name, name), *(own[name]["covered"] for own in by_kind)]
            for name in by_kind[0]
        ]
    head = ["split", "rule", "over the plain choice", "worst", "at most 1.01, %"]
    keys = ("ratio", "worst", "share")
    found = [row for kind in KINDS for row in read(table) if row["kind"] == kind]
    return head, [
        [row["kind"], WORDS.get(row["name"], row["name"]), *(row[key] for key in keys)]
        for row in found
    ]


class EvidenceTable(SphinxDirective):
    """``.. evidence-table:: intervals`` (or verdicts, labels, metrics, delivered)."""

    required_arguments = 1

    def run(self):
        self.env.note_dependency(str(PRINTED))
        head, body = rows(self.arguments[0])
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for row in [head, *body]:
            lines += [f"   {'*' if j == 0 else ' '} - {cell}" for j, cell in enumerate(row)]
        return self.parse_text_to_nodes("\n".join(lines))
