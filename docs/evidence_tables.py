"""Tables of the guide, from what ``benchmarks/judgement.py`` printed."""

import re
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

PRINTED = Path(__file__).parent / "_static" / "evidence" / "judgement.txt"
TOKEN = re.compile(r"median \w+|do not trust|(?:[\d.]+|nan) \((?:[\d.]+|nan)\)|\S+")
RATIO = re.compile(
    r"(?P<what>.+): (?P<mean>[\d.]+ \([\d.]+\)), median (?P<median>[\d.]+), "
    r"worst (?P<worst>[\d.]+) \(\w+\), at most 1 in (?P<share>\d+)%, "
    r"1.1 in \d+% of (?P<pairs>\d+)"
)
WORDS = {"auc": "AUC", "f1": "F1", "log_loss": "log loss", "mae": "MAE", "r2": "R²", "rmse": "RMSE"}
WORDS |= {"brier": "Brier score", "balanced_accuracy": "balanced accuracy", "nan": ""}
WORDS |= {"covered_alone": "without drift", "median width": "width", "off": "mean error"}
WORDS |= {
    "median width_alone": "width without drift",
    "median off": "median error",
    "what": "metric",
}
WORDS |= {"kind": "split", "kmm": "kmm (the default)", "source": "of the source", "way": ""}
WORDS |= {"counterpoise": "counterpoise (weights)"}
VERDICTS = ("confirmed", "plausible", "caution", "do not trust")
INTERVAL = ("covered", "covered_alone", "median width", "median width_alone")
JUDGED = ("pairs", "off", "median off", "covered", "median width")
ROWS = ("covered", "outside", "median width")
#: Name: part of the file, columns that its table begins with, columns that are shown.
TABLES = {
    "intervals": ("intervals", "kind pairs", ("kind", "pairs", *INTERVAL)),
    "metrics": ("intervals", "kind what", ("kind", "what", "pairs", *INTERVAL[:2])),
    "labels": ("intervals", "kind labels pairs", ("kind", "labels", *INTERVAL)),
    "rows": ("intervals", "kind labels pairs", ("kind", "labels", *ROWS)),
    "row peers": ("rows", "kind way", ("kind", "way", "covered", "outside", "median width")),
    "evaluate": ("evaluate", "metric way", ("metric", "way", *JUDGED)),
}


def lines_of(part, printed=PRINTED):
    """Return the printed lines of a part."""
    blocks = printed.read_text(encoding="utf-8").split("\n\n")
    return next(b for b in blocks if b.strip().startswith(f"{part}:")).strip().splitlines()[1:]


def read(part, begins):
    """Return the rows of the table whose header begins so, each as a dict of texts."""
    found, head = [], None
    for line in lines_of(part):
        tokens = TOKEN.findall(line)
        if tokens[0] in ("kind", "metric"):
            head = tokens if " ".join(tokens).startswith(begins) else None
        elif head and len(tokens) == len(head):
            found.append(dict(zip(head, tokens, strict=True)))
    return found


def ratios(part, begins="", printed=PRINTED):
    """Return the lines of a part that state ratios, each as a dict of texts."""
    found = (RATIO.fullmatch(line) for line in lines_of(part, printed) if line.startswith(begins))
    return [match.groupdict() for match in found if match]


def delivered():
    """Return the target risk of each way, by pair."""
    names = ("FLAML", "LightGBM", "grid search", "select")
    rows = [line.split() for line in lines_of("delivered")]
    return {
        row[0]: dict(zip(names, map(float, row[1:]), strict=True))
        for row in rows
        if len(row) == 5 and re.fullmatch(r"[\d.]+", row[1])
    }


def rows(table):
    """Return the header and the rows of a table."""
    if table == "verdicts":
        keys = ("verdict", "labels", "pairs", *INTERVAL[:3])
        errors = {row["verdict"]: row["median off"] for row in read("verdicts", "kind")[:3]}
        body = []
        for row in read("intervals", "kind labels verdict"):
            if row["kind"] == "natural":
                error = errors.get(row["verdict"], "") if row["labels"] == "0" else ""
                body.append([*(row[key] for key in keys), error])
        body.sort(key=lambda row: (VERDICTS.index(row[0]), int(row[1])))
        return [*keys, "median off"], body
    if table in ("delivered", "label risk"):
        begins = "target risk" if table == "delivered" else ""
        found = ratios("delivered" if table == "delivered" else "intervals", begins)
        keys = ("what", "mean", "median", "worst", "share", "pairs")
        head = ["target risk", "mean", "median", "worst", "at most 1, %", "pairs"]
        return head, [[row[key].replace("target risk ", "") for key in keys] for row in found]
    if table == "weights":
        found = read("weights", "kind rows")
        errors = {(row["kind"], row["rows"], row["way"]): row["off"] for row in found}
        sizes = [("natural", rows) for rows in ("200", "1000", "5000")] + [("selection", "200")]
        ways = dict.fromkeys(row["way"] for row in found)
        head = ["weights", *(f"{kind}, {rows} rows" for kind, rows in sizes)]
        return head, [[way, *(errors[(*size, way)] for size in sizes)] for way in ways]
    part, begins, columns = TABLES[table]
    found = [row for row in read(part, begins) if set(columns) <= row.keys()]
    for row in found:
        if row.get("way") == "source":  # it has no interval
            row["covered"] = ""
    return list(columns), [[row[column] for column in columns] for row in found]


class EvidenceTable(SphinxDirective):
    """``.. evidence-table:: intervals`` (or another name of `TABLES`, verdicts, delivered)."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        self.env.note_dependency(str(PRINTED))
        head, body = rows(self.arguments[0])
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for row in [head, *body]:
            cells = [WORDS.get(cell, cell).replace(" (", "\N{NO-BREAK SPACE}(") for cell in row]
            lines += [
                f"   {'*' if j == 0 else ' '} - {cell}".rstrip() for j, cell in enumerate(cells)
            ]
        return self.parse_text_to_nodes("\n".join(lines))
