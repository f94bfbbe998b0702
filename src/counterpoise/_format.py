"""How numbers and names are written: the one formatter for terminal, notebook, page and pictures.

A quantity has three significant digits, a standard error two. A missing number is a dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

_MISSING = "–"  # noqa: RUF001


def format_number(value: Any, /, *, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, without an exponent where possible."""
    value = math.nan if value is None else float(value)
    if math.isnan(value):
        return _MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits}g}"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    decimals = max(0, digits - 1 - exponent)
    # Rounding may add a digit: 0.9996 is 1.00 and not 1.000.
    if value and abs(round(value, decimals)) >= 10 ** (exponent + 1):
        decimals = max(0, decimals - 1)
    return f"{value:,.{decimals}f}"


def format_error(value: Any, /) -> str:
    """Return a standard error: two significant digits."""
    return format_number(value, digits=2)


def format_interval(low: Any, high: Any, /) -> str:
    """Return an interval as "0.410 to 0.826"; a dash where an end is missing."""
    if any(end is None or math.isnan(float(end)) for end in (low, high)):
        return _MISSING
    return f"{format_number(low)} to {format_number(high)}"


def format_share(value: Any, /) -> str:
    """Return a share in per cent, with one decimal below 10%."""
    value = math.nan if value is None else float(value)
    if not math.isfinite(value):
        return format_number(value)
    return f"{value:.1%}" if abs(value) < 0.0995 else f"{value:.0%}"


def format_change(value: Any, /) -> str:
    """Return a standardised difference: signed, two decimals.

    It is infinite where neither sample varies and the two differ.

    Examples
    --------
    >>> [format_change(value) for value in (0.345, -0.001, float("inf"))]
    ['+0.34', '0.00', 'no overlap']
    """
    value = float(value)
    if not math.isfinite(value):
        return "no overlap" if math.isinf(value) else format_number(value)
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def format_p_value(p: float | None = None, /, *, log10: float | None = None) -> str:
    """Return a p-value, given itself or by its logarithm where it is too small for a float."""
    if log10 is None:
        if p is None or math.isnan(p):
            return _MISSING
        if p <= 0:
            return "below 1e-300"
        log10 = math.log10(p)
    if log10 > -3:
        return f"{10**log10:.2g}"
    exponent = math.floor(log10)
    digit = round(10 ** (log10 - exponent))
    return f"1e{exponent + 1}" if digit == 10 else f"{digit}e{exponent}"


def format_count(count: int, noun: str, /) -> str:
    """Return a number of things: "1 row", "1,200 rows"."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def format_parameter(value: Any, /, *, digits: int = 3) -> str:
    """Return the value of a hyper-parameter: 0.1 and not 0.100, 100000 and not 1e+05."""
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e6 else text


def candidate_names(
    parameters: Sequence[Mapping[str, Any]], /, *, models: Sequence[str] = ()
) -> list[str]:
    """Name candidates by what differs between them: parameters, and families if several."""
    families = list(models) or [""] * len(parameters)
    several = len(set(families)) > 1
    names = [""] * len(parameters)
    for family in dict.fromkeys(families):
        places = [i for i, name in enumerate(families) if name == family]
        for i, name in zip(places, _parameter_names([parameters[i] for i in places]), strict=True):
            names[i] = f"{family} {name}".rstrip() if several else name or "the model as it is"
    return names


def _parameter_names(parameters: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = list(dict.fromkeys(key for own in parameters for key in own))
    values = {key: [own.get(key, parameters) for own in parameters] for key in keys}
    texts = {key: _tell_apart(column) for key, column in values.items()}
    shown = [key for key in keys if len(set(texts[key])) > 1] or keys
    last = [key.rsplit("__", 1)[-1] for key in shown]
    brief = [end if last.count(end) == 1 else key for key, end in zip(shown, last, strict=True)]
    return [
        ", ".join(
            f"{name}={texts[key][i]}" for name, key in zip(brief, shown, strict=True) if key in own
        )
        for i, own in enumerate(parameters)
    ]


def _tell_apart(values: Sequence[Any]) -> list[str]:
    distinct = len({value for value in values if isinstance(value, float)})
    for digits in range(3, 18):
        texts = [format_parameter(value, digits=digits) for value in values]
        floats = {t for t, value in zip(texts, values, strict=True) if isinstance(value, float)}
        if len(floats) == distinct:
            break
    return texts


def printable(text: Any, /) -> str:
    """Return text on one line, with a mark in place of each control character.

    Names come from files: a terminal or a picture must show them and never obey them.

    Examples
    --------
    >>> printable("age" + chr(27) + "[2J") == "age" + chr(0xFFFD) + "[2J"
    True
    """
    return "".join(
        " " if char.isspace() else char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for char in str(text)
    ).strip()


def shorten(text: str, width: int, /) -> str:
    """Return at most `width` characters of a text: its beginning and its end."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def shorten_names(names: Sequence[Any], width: int, /) -> list[str]:
    """Shorten names to `width` characters so that what differs between them stays visible.

    If one is too long, all lose the words that they have in common at the start; then the middle
    is left out. Equal names are numbered.
    """
    full = [printable(name) for name in names]
    if len(set(full)) > 1 and any(len(name) > width for name in full):
        same = (len(set(letters)) == 1 for letters in zip(*full, strict=False))
        common = full[0][: len(list(takewhile(bool, same)))]
        start = common.rfind(" ") + 1
        full = [f"…{name[start:]}" for name in full] if start > 1 else full
    labels = [shorten(name, width) for name in full]
    seen: dict[str, int] = {}
    for i, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[i] = f"{shorten(label, width - 4)} ({seen[label]})"
    return labels


def listed(texts: Sequence[str], most: int = 20, /) -> str:
    """Put texts into one, as in "'a', 'b' and 3 more"."""
    shown = ", ".join(repr(text) for text in texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"
