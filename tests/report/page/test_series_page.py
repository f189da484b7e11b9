"""The page of a series."""

from __future__ import annotations

from dataclasses import replace

from support.handmade_release import make_release
from support.pages import Read, require_accessible, require_alone

from dpqr.releases.answers.answered import answered_block, trend
from dpqr.report.series import ReleaseSeries, series_html


def test_every_query_is_a_card_with_its_plot_and_figures():
    release = make_release()
    blocks = [answered_block(one, release.plan.problem.domain) for one in release.answers[:2]]
    trends = tuple(trend((block, replace(block, estimate=block.estimate + 1))) for block in blocks)
    text = series_html(ReleaseSeries(names=("2026-01", "<b>"), trends=trends, notes=("2026-01: a rehearsal",)))
    require_alone(text)
    require_accessible(text)
    assert [given["id"] for _, given, _ in Read(text).all_of("section")] == ["trends", "reading"]
    for words in ("2 releases of the same queries", "2026-01 to &lt;b&gt;", "sex by age", "2026-01: a rehearsal"):
        assert words in text
