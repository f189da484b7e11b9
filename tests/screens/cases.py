"""The screens that are kept: what is typed, in order, in a folder of its own; noise is the same every time."""

import json
import re
from fractions import Fraction
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
COLUMNS, LINES = 80, 24
QUERIES = [
    {"name": "education by income", "marginal": ["education", "income"]},
    {"marginal": ["region", "sex", "interview_date"]},
    {"prefix": "age", "by": ["sex"]},
    {"name": "older people in paid work", "where": "age >= 68 and (hours > 20 or not income is null)"},
    {"sum": "income", "by": ["region"]},
]
RELEASE = ("release", "survey.csv", "--queries", "q.json", "--progress", "none")
FITTED = ("show", "table", "bars", "heatmap", "curve")
"""Screens with figures of a fit: its iterations end a little apart on processors that round otherwise."""
FIGURE = r"((?:\+-)?\d[\d,]*(?:\.\d+)?)"
PAID = ("--dataset", "survey", "--ledger", "budgets.sqlite")
SHOW = ("show", "story", "--query")
CASES = {
    "plan": (*RELEASE, "--eps", "1", "--dry-run"),
    "budget": ("budget", "init", "survey", "--eps", "5", "--ledger", "budgets.sqlite"),
    "release": (*RELEASE, "--eps", "1", *PAID, "--out", "story", "--synthetic", "rows"),
    "show": ("show", "story"),
    "table": (*SHOW, "education by income"),
    "bars": (*SHOW, "education by income", "--as", "bars", "--rows", "14"),
    "heatmap": (*SHOW, "education by income", "--as", "heatmap"),
    "curve": (*SHOW, "prefix(age) by sex", "--as", "curve"),
    "refused-budget": (*RELEASE, "--eps", "4.5", *PAID, "--out", "second"),
    "refused-query": (*SHOW, "education by incom"),
    "refused-form": (*SHOW, "older people in paid work", "--as", "heatmap"),
    "guide-results": ("guide", "results"),
}
"""In this order: the first ones make what the others look at."""


def prepare(desk: Path) -> None:
    """The files that the commands name."""
    (desk / "survey.csv").write_bytes((SAMPLE / "survey.csv").read_bytes())
    document = {"domain": json.loads((SAMPLE / "domain.json").read_text()), "queries": QUERIES}
    (desk / "q.json").write_text(json.dumps(document))


def masked(text: str) -> str:
    """Without the hash of the plan: it changes with every version of dpqr."""
    return re.sub(r"\b[0-9a-f]{64}\b", "0" * 64, text)


def kept(name: str) -> Path:
    """The file of a screen."""
    return Path(__file__).parent / f"{COLUMNS}" / f"{name}.txt"


def alike(shown: str, expected: str) -> bool:
    """The same text, but for what another processor's rounding changes in the figures of a fit."""
    ours, theirs = (re.split(FIGURE, without_shading(text)) for text in (shown, expected))
    words, figures = ours[::2] == theirs[::2], zip(ours[1::2], theirs[1::2], strict=False)
    return words and len(ours) == len(theirs) and all(close(*pair) for pair in figures)


def without_shading(text: str) -> str:
    """An interval of about half a line is shaded on one processor and not on another."""
    return "\n".join(line.rstrip() for line in text.replace("░", " ").splitlines())


def close(shown: str, expected: str) -> bool:
    """Errors (+-) within a tenth, for they are estimated from few refits; estimates within 0.2% or one in the last
    digit; whole numbers below 1,000 equal."""
    _, point, decimals = expected.partition(".")
    value, other = (Fraction(figure.removeprefix("+-").replace(",", "")) for figure in (shown, expected))
    share = Fraction(1, 10) if expected.startswith("+-") else Fraction(1, 500)
    last_digit = Fraction(1, 10 ** len(decimals)) if point else 0
    exact = not point and other < 1000 and not expected.startswith("+-")
    return abs(value - other) <= (0 if exact else max(share * other, last_digit))
