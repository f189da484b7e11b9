from dataclasses import replace

import pytest
from support.plain_screen import printed

from dpqr.kernel.errors import UsageFault
from dpqr.releases.answers.answered import CellColumn, answered_block
from dpqr.report.charts import LEGEND, heat_map_view

MAP = """\
sex     [0, 20)  [20, 40)  [40, 60]
F        5.0 ▓▓    4.5 ▓▓    4.0 ▒▒
M        5.0 ▓▓    0.0       7.0 ██
(null)   1.0       0.0       0.0
"""


@pytest.fixture
def block(release):
    return answered_block(release.answers[0], release.plan.problem.domain)


def test_a_pair(block):
    assert printed(heat_map_view(block, 9)) == f"{MAP}{LEGEND}\n"


def test_on_a_narrow_screen_columns_follow_below(block):
    lines = printed(heat_map_view(block, 9), 30).splitlines()
    assert lines[0].split() == ["sex", "[0,", "20)", "[20,", "40)"]
    assert max(map(len, lines)) <= 30
    assert all(word in " ".join(lines) for word in ("40)", "60]", "7.0"))


def test_a_map_for_every_cell_of_the_columns_before(block):
    year = CellColumn(name="year", texts=("2024",), places=block.columns[0].places * 0, ordered=True)
    shown = printed(heat_map_view(replace(block, columns=(year, *block.columns)), 9))
    assert shown == f"\nyear=2024\n{MAP}{LEGEND}\n"


def test_some_of_it(block):
    assert "... and 2 more answers; --rows N" in printed(heat_map_view(block, 7))


@pytest.mark.parametrize("place", [1, 2])
def test_one_column_is_no_pair(release, place):
    block = answered_block(release.answers[place], release.plan.problem.domain)
    with pytest.raises(UsageFault, match="is not about a pair of columns; --as bars shows it"):
        heat_map_view(block, 9)
