"""A counter from a shell, month after month."""

from __future__ import annotations

import pytest
from support.counters import CERTAIN, DOMAIN, QUERIES, TABLE, women

COUNTER = ("--cumulative", "6")


@pytest.mark.slow
def test_months_go_on_from_each_other(desk):
    desk.write(q__json={**QUERIES, "domain": DOMAIN}, table__csv=TABLE.to_csv(index=False))
    first = desk.release("--period", "2024-01", *COUNTER, "--out", "one", eps=CERTAIN)
    assert first.code == 0
    assert "release 1 of a counter over 6 periods, 2024-01 to 2024-06" in first.err
    second = desk.release("--period", "2024-02", *COUNTER, "--after", "one", "--out", "two", eps=CERTAIN)
    assert second.code == 0
    found = desk.run("series", "two", "one", "--json").json
    assert [row["estimate"] for row in found["answers"] if row["sex"] == "f"] == [women("2024-01"), women("2024-02")]
    missing = desk.release("--period", "2024-03", *COUNTER, "--after", "one", "--out", "three", eps=CERTAIN)
    assert (missing.code, missing.out) == (2, "")
    assert "give the release of 2" in missing.err
    planned = desk.release("--period", "2024-03", *COUNTER, "--after", "two", "--out", "three", "--dry-run")
    assert planned.code == 3, "at another epsilon it is another counter"
