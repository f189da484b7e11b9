"""Two releases or plans side by side, as text."""

from __future__ import annotations

from math import nan

from support.plain_screen import printed

from dpqr.report.comparison import compared_view

NAMES = ("noise A", "apart")


def test_facts_then_blocks_then_others():
    facts = {"epsilon": "1.0", "unit": "a\x1b"}, {"epsilon": "2.0", "unit": "a\x1b"}
    shown = printed(compared_view(facts, NAMES, [("by sex", 2, (nan, 3.25)), ("all", 1, (nan, nan))], [["cdf"], []]))
    assert shown.splitlines()[:7] == [
        "         A      B",
        "epsilon  1.0    2.0",
        "unit     a\\x1b  same",
        "",
        "query   answers  apart",
        "by sex        2   3.25",
        "all           1",
    ]
    assert shown.splitlines()[-1] == "only A: cdf"


def test_nothing_in_common():
    shown = printed(compared_view(({"epsilon": "1"}, {"epsilon": "1"}), NAMES, [], [["a"], ["b"]]))
    assert shown.splitlines()[-3:] == ["they share no block of queries", "only A: a", "only B: b"]
