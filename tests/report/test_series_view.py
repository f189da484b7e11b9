from dataclasses import replace

import numpy as np
from support.plain_screen import printed

from dpqr.releases.answers.answered import answered_block, trend
from dpqr.report.release import series_view

NAMES = ("2026-01", "2026-02")


def two_points(release):
    """Errors of 3 and 4; one answer moves by more than their 5 explain."""
    block = answered_block(release.answers[0], release.plan.problem.domain)
    moved = block.estimate + np.where(np.arange(block.rows) == 1, 20.0, 1.0)
    error = np.full(block.rows, 3.0)
    lower, upper = block.estimate - 6, block.estimate + 6
    first = replace(block, error=error, lower=lower, upper=upper)
    return trend((first, replace(first, estimate=moved, error=error + 1, lower=lower + 1, upper=upper + 1)))


def test_each_answer_from_point_to_point(release):
    lines = printed(series_view(NAMES, [two_points(release)])).splitlines()
    assert lines[0] == "sex by age: 9 answers"
    assert lines[1].split() == ["cells", "point", "estimate", "error", "change", "+-"]
    assert [line for line in lines if line.endswith("*")] == [line for line in lines if " 20 " in line]
    assert lines[2].startswith("sex=F, age=[0, 20)")
    assert lines[3].startswith(" ")
    assert lines[-1] == "error: standard error of the estimate"


def test_a_query_of_one_answer_has_no_cells(release):
    held = two_points(release)
    alone = trend(tuple(replace(one.first(1), columns=()) for one in held.points))
    assert printed(series_view(NAMES, [alone])).splitlines()[1].split()[0] == "point"


def test_curves_have_the_points_below_them(release):
    text = printed(series_view(NAMES, [two_points(release)], "curve"), 80)
    assert text.count("2026-01") == 9
    assert "sex=F, age=[0, 20)" in text
