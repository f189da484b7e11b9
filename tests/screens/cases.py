"""The screens that are kept: what is typed, in order, in a folder of its own; noise is the same every time."""

import json
import re
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
SIZES = ((80, 24), (120, 40))
QUERIES = [
    {"name": "education by income", "marginal": ["education", "income"]},
    {"marginal": ["region", "sex", "interview_date"]},
    {"prefix": "age", "by": ["sex"]},
    {"name": "older people in paid work", "where": "age >= 68 and (hours > 20 or not income is null)"},
    {"sum": "income", "by": ["region"]},
]
RELEASE = ("release", "survey.csv", "--queries", "q.json", "--progress", "none")
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


def kept(name: str, columns: int) -> Path:
    """The file of a screen of that width."""
    return Path(__file__).parent / f"{columns}" / f"{name}.txt"
