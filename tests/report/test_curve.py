from dataclasses import replace

import numpy as np
import pytest
from support.plain_screen import printed

from dpqr.kernel.errors import UsageFault
from dpqr.releases.answers.answered import answered_block
from dpqr.releases.answers.errors import MEASURED
from dpqr.report.charts import curve_view

CDF = """\
26.50 │                      ┌──────────
      │                      │
      │                      │
      │           ┌──────────┘
13.25 │           │
      │───────────┘
      │
      │
 0.00 │
      └─────────────────────────────────
       < 20       < 40       <= 60
"""
FLAT = """\
1.0 │
    │
    │
    │
0.5 │
    │
    │
    │
0.0 │───────────────────────────────────
    └───────────────────────────────────
     < 20        < 40        <= 60
"""


def block(release, place):
    return answered_block(release.answers[place], release.plan.problem.domain)


def test_a_prefix_block_is_its_own_curve(release):
    assert printed(curve_view(block(release, 1), 3), 40) == CDF


def test_bins_are_added_up_and_own_cells_are_left_out(release):
    by_sex = block(release, 0)
    lines = printed(curve_view(by_sex, 9), 60).splitlines()
    assert [line for line in lines if "=" in line] == ["sex=F", "sex=M", "sex=(null)"]
    assert lines[2].startswith("13.50 │")  # F: 5 + 4.5 + 4
    age = replace(by_sex.columns[1], own=1)
    assert "[40, 60]" not in printed(curve_view(replace(by_sex, columns=(by_sex.columns[0], age)), 9), 60)


def test_the_interval_is_shaded_and_steps_go_down_too(release):
    cdf = block(release, 1)
    proved = np.full(3, MEASURED, dtype=np.int8)
    ends = {"lower": cdf.estimate * 0, "upper": np.full(3, 20.0), "basis": proved}
    certain = replace(cdf, estimate=np.array([20.0, 10.0, 20.0]), **ends)
    lines = printed(curve_view(certain, 3), 38).splitlines()
    assert lines[0] == "20 │────────────┐░░░░░░░░░░┌──────────"
    assert lines[4] == "10 │░░░░░░░░░░░░└──────────┘░░░░░░░░░░"
    assert lines[-2].startswith("shaded: 95% interval")


def test_a_curve_of_nothing(release):
    """Flat, at the foot: a step or another height would show records where there are none."""
    cdf = block(release, 1)
    assert printed(curve_view(replace(cdf, estimate=np.zeros(3)), 3), 40) == FLAT


@pytest.mark.parametrize("place", [2, 4])
def test_what_has_no_order_has_no_curve(release, place):
    with pytest.raises(UsageFault, match="has no order to add up in; --as bars shows it"):
        curve_view(block(release, place), 9)
