"""A made-up table of months, and a counter over them."""

from __future__ import annotations

import pandas as pd

import dpqr

MONTHS = ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06")
ROWS = {name: 20 + 10 * place for place, name in enumerate(MONTHS)}
"""Women of each month; there are five men, too."""
DOMAIN = {
    "period": {"column": "day", "every": "month"},
    "fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}],
}
QUERIES = {"queries": [{"name": "sex", "marginal": ["sex"]}]}
CERTAIN = "1000"
"""At this epsilon, pure, no noise is drawn but with a probability below 1e-80."""
TABLE = pd.DataFrame(
    [(sex, f"{name}-{day:02}") for name, women in ROWS.items() for sex, day in [("f", 3)] * women + [("m", 28)] * 5],
    columns=["sex", "day"],
)


def women(until: str) -> int:
    """Their number up to and including a month."""
    return sum(rows for name, rows in ROWS.items() if name <= until)


def released(place, month, after=None, **options):
    """One release of the counter, into `place` by its month."""
    given = {"queries": QUERIES, "domain": DOMAIN, "eps": CERTAIN, "cumulative": 6, "out": place / month} | options
    before = None if after is None else place / after
    return dpqr.release(TABLE, period=month, after=before, **given)
