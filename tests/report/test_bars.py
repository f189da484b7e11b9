from dataclasses import replace

import pytest
from support.plain_screen import printed

from dpqr.releases.answers.answered import answered_block
from dpqr.report.charts import Bar, bars_view

NAN = float("nan")
BARS = """\
sex  age       estimate  95% interval
F    [0, 20)        5.0     -19 to 11  ░░░░░░░░░░░░░▓▓▓░░░░
F    [20, 40)       4.5     -18 to 12   ░░░░░░░░░░░░▓▓▓░░░░░
... and 7 more answers; --rows N
shaded: 95% interval for the true answer, query by query
"""


@pytest.fixture
def block(release):
    return answered_block(release.answers[0], release.plan.problem.domain)


def drawn(value, lower=NAN, upper=NAN):
    """One bar of 20 columns, on a scale from -4 to 6."""
    return printed(Bar(low=-4, high=6, value=value, lower=lower, upper=upper), 20).rstrip("\n")


def test_bars_with_their_intervals(block):
    assert printed(bars_view(block, 2), 60) == BARS


def test_bars_start_at_nothing_to_either_side():
    assert drawn(6) == " " * 8 + "█" * 12
    assert drawn(-4) == "█" * 8
    assert drawn(2, -4, 6) == "░" * 8 + "▓" * 4 + "░" * 8
    assert drawn(0) == ""


def test_an_estimate_outside_its_interval_is_seen_to_be():
    assert drawn(6, 1, 3) == " " * 8 + "██▓▓▓▓██████"
    assert drawn(1, 3, 5) == " " * 8 + "██" + " " * 4 + "░░░░"


def test_answers_that_are_all_nothing(block):
    nothing = replace(block, **dict.fromkeys(("estimate", "lower", "upper"), block.estimate * 0))
    assert "█" not in printed(bars_view(nothing, 9), 60)


def test_no_error_is_known(release):
    block = answered_block(release.answers[1], release.plan.problem.domain)
    assert "no error is known" in printed(bars_view(block, 3), 60)
    assert "95%" not in printed(bars_view(block, 3), 60)
