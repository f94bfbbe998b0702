"""The document of a reproduction: its claims, figures and errata."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from counterpoise._format import format_error, format_number, format_p_value
from counterpoise.experiments.claims import ERRATA, Claim, Finding
from counterpoise.present.page import render_page
from counterpoise.present.sections import (
    Block,
    Column,
    Document,
    Numeral,
    Picture,
    Pictures,
    Section,
    Table,
)

if TYPE_CHECKING:
    from counterpoise.jobs.reproduce import Reproduction

_LEAD = (
    "Kouw, Krijthe, Loog (2019), “Robust importance-weighted cross-validation under sample "
    "selection bias”, arXiv:1710.06514: every figure and claim, computed again."
)


def reproduction_page(record: Reproduction, figures: Sequence[tuple[str, str, bytes]], /) -> str:
    """Return the page of a reproduction; figures are name, caption and bytes of an SVG file."""
    pictures = [Picture(name, "", caption, partial(bytes, svg)) for name, caption, svg in figures]
    columns = [Column(name, "text") for name in ("where", "as printed", "what holds")]
    errors = Table("Errata of the paper and its scripts", columns, ERRATA, page_only=True)
    sections = [
        *([Section("notes", "Notes", record.notes)] if record.notes else []),
        claims_section(record.claims),
        Section("figures", "Figures", [Pictures(pictures, wide=True)]),
        Section("errata", "Errata", [errors]),
    ]
    title = f"Reproduction, {record.plan.protocol} protocol"
    return render_page(Document("Reproduction", title, _LEAD, "", sections, record.facts))


def claims_section(claims: Sequence[Claim], /) -> Section:
    """Return the claims, each with a table of its findings; a terminal shows these tables."""
    held = sum(claim.held for claim in claims)
    words = (
        "A claim held if all of its findings did. Effect, standard error and p-value are those of "
        "the γ with the strongest evidence against the claim."  # noqa: RUF001
    )
    blocks: list[Block] = [words, *(_claim_table(claim) for claim in claims)]
    return Section("claims", f"Claims: {held} of {len(claims)} held", blocks)


def _claim_table(claim: Claim) -> Table:
    verdict = "held" if claim.held else "not held"
    return Table(
        f"Claim {claim.number}, {claim.problem}: {verdict}",
        [
            Column("finding", "text"),
            Column("rule", "text", optional=3),
            Column("measured", "text", optional=2),
            Column("effect"),
            Column("std. error"),
            Column("p"),
            Column("data sets", optional=1),
            Column("verdict", "word"),
        ],
        [_finding_row(finding) for finding in claim.findings],
        caption=f"The paper: {claim.paper}",
    )


def _finding_row(finding: Finding) -> list[str]:
    return [
        finding.says,
        finding.rule,
        finding.measured,
        Numeral(format_number(finding.effect), finding.effect),
        Numeral(format_error(finding.standard_error), finding.standard_error),
        "–" if finding.log10_p is None else format_p_value(log10=finding.log10_p),  # noqa: RUF001
        f"{finding.repetitions:,}" if finding.repetitions else "–",  # noqa: RUF001
        "held" if finding.held else "not held",
    ]
