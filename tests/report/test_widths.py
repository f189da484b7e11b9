"""Screens at 60, 80 and 120 columns, one file a topic in tests/report/screens/widths: no number and no word is broken.

After a change that was meant: `PYTHONPATH=tests python tests/report/test_widths.py`; then look at them.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from support.cases import thinned
from support.handmade_release import make_release
from support.plain_screen import printed

from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import answered_block
from dpqr.releases.receipt import plan_facts, receipt
from dpqr.report.answers import block_view, blocks_view, figures_view
from dpqr.report.charts import bars_view, heat_map_view
from dpqr.report.html import facts
from dpqr.report.release import release_view, stored_run_view

KEPT = Path(__file__).parent / "screens" / "widths"
WIDTHS = (60, 80, 120)
HASH, HEADS = "0" * 64, ("cells",)
COSTS = [
    {
        "figure": "mean(cost) by department",
        "kind": "mean",
        "department": name,
        "detail": None,
        "estimate": cost,
        "error": 31.25,
        "lower": cost - 61,
        "upper": cost + 62,
        "basis": "measured",
        "flag": flag,
    }
    for name, cost, flag in (("Cardiology", 9123.5, None), ("Internal medicine", 5210.0, "small denominator"))
]


def topics():
    """What is shown, by the name of its file."""
    release = make_release()
    blocks = [answered_block(each, release.plan.problem.domain) for each in release.answers]
    # Sums of money have nine digits and more.
    pay = next(block for block in blocks if block.name == "years")
    columns = ("estimate", "measured", "deviation", "lower", "upper")
    large = replace(pay, **{name: getattr(pay, name) * 123_456.0 + 987_654_321 for name in columns[:2]})
    large = replace(large, deviation=pay.deviation * 1e6, lower=large.measured - 4e6, upper=large.measured + 4e6)
    large = replace(large, error=np.full(pay.rows, 1_510_000.0), name="sum(income) by region")
    asked = [("education by income", 35, ("education", "income")), (large.name, 5, ("region", "income"))]
    asked += [("marginal(region,sex,interview_date)", 45, ("region", "sex", "interview_date"))]
    return {
        "release": release_view(release, "story", [f"{HASH}.csv", "answers.csv", "release.json"]),
        "receipt": facts(receipt(release)),
        "plan": facts(plan_facts(release.plan)),
        "kept release": stored_run_view([("Guarantee", "as stated")], asked, COSTS),
        "sums": block_view(large, 9),
        "pairs": block_view(blocks[0], 4),
        "two blocks": blocks_view([blocks[0].first(2), large]),
        "figures": figures_view([*COSTS, {**COSTS[0], "figure": "median(cost)", "department": None}]),
        "one figure": figures_view(COSTS),
        "bars": bars_view(large, 9),
        "heat map": heat_map_view(blocks[0], 9),
    }


def at_all_widths(view):
    return "\n".join(f"== {width}\n{printed(view, width)}" for width in WIDTHS)


NAMES = tuple(topics())


@pytest.fixture(scope="module")
def views():
    return topics()


@pytest.mark.parametrize("name", thinned(NAMES, 6))
def test_as_it_was_kept_and_within_the_screen(views, name):
    shown = at_all_widths(views[name])
    assert shown == (KEPT / f"{name}.txt").read_text("utf-8")
    for width in WIDTHS:
        assert max(map(len, printed(views[name], width).splitlines())) <= width


@pytest.mark.parametrize("name", thinned(NAMES, 4))
def test_no_number_and_no_word_is_broken(views, name):
    """Whatever stands on a narrow screen stands on a wide one."""
    words = re.compile(r"\w[\w.]*(?:,\d+)*")
    wide = {*words.findall(printed(views[name], 400)), *HEADS}
    for width in WIDTHS:
        lines = [line for line in printed(views[name], width).splitlines() if not line.startswith("no room for: ")]
        assert set(words.findall("\n".join(lines))) - wide == set()


def test_what_has_no_room_is_named(views):
    shown = printed(views["sums"], 60)
    assert shown.count("no room for: noise, measured, error; --json") == 1
    assert "lower" in shown
    assert "no room" not in printed(views["sums"], 120)


@pytest.mark.parametrize("name", NAMES)
def test_colours_read_on_light_and_dark(views, name):
    """Bold, dim, and cyan of the terminal's own palette: neither black nor white, and no background."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard", highlight=False)
    console.print(views[name])
    assert set(re.findall(r"\x1b\[([\d;]*)m", console.file.getvalue())) <= {"0", "1", "2", "36"}


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for topic, each in topics().items():
        (KEPT / f"{topic}.txt").write_text(at_all_widths(each), "utf-8")
