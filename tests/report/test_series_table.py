"""A series as a table: the order of its rows, and attributes that are called like its own columns."""

from __future__ import annotations

from dataclasses import replace

from support.handmade_release import make_release

from dpqr.releases.answers.answered import answered_block, trend
from dpqr.report.series import CHANGES, FIGURES, series_table

RELEASE = make_release()
BLOCKS = [answered_block(one, RELEASE.plan.problem.domain) for one in RELEASE.answers[:2]]
TRENDS = [trend((block, replace(block, estimate=block.estimate + 1))) for block in BLOCKS]


def test_one_row_an_answer_and_point():
    records = series_table(("2026-01", "2026-02"), TRENDS).records()
    first, second = (block.rows for block in BLOCKS)
    assert [one["query"] for one in records] == [BLOCKS[0].name] * 2 * first + [BLOCKS[1].name] * 2 * second
    assert [one["point"] for one in records[: 2 * first]] == ["2026-01"] * first + ["2026-02"] * first
    assert list(records[0])[:2] == ["query", "point"]
    assert list(records[0])[-6:] == [*FIGURES, *CHANGES]
    assert {one["change"] for one in records} == {None, 1.0}


def test_an_attribute_called_point_gets_another_name():
    columns = tuple(replace(column, name="point") for column in BLOCKS[0].columns[:1])
    block = replace(BLOCKS[0], columns=columns)
    (record, *_) = series_table(("a", "b"), [trend((block, block))]).records()
    assert record["point"] == "a"
    assert record["column_point"] == block.cells(0)[0]
