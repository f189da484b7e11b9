"""Releases in a series, and those that do not belong in one."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.counters import DOMAIN, MONTHS, TABLE, released
from support.handmade_release import make_release
from support.plain_screen import printed

import dpqr
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import answered_block, trend
from dpqr.releases.files.read_release import read_answers, read_figures, read_release
from dpqr.releases.record.plan_document import seal_document
from dpqr.report.release import WITHOUT_ERROR, series_view
from dpqr.report.series import CHANGES, FIGURES, OWN_ROWS, series, series_table

OLD = Path(__file__).parents[1] / "old_releases"
PAIR = "marginal(sex,age)"


@pytest.fixture
def out(free_release):
    return Path(free_release.release)


@pytest.fixture
def copied(out, tmp_path):
    """Makes the release again, with another record under a seal of its own."""

    def made(name, change=lambda record: None):
        place = tmp_path / name
        shutil.copytree(out, place)
        record = json.loads((place / "release.json").read_text())
        change(record)
        (place / "release.json").write_text(json.dumps(seal_document(record)))
        return str(place)

    return made


def of_period(name):
    rows = {"name": name, "every": "month" if "-" in name else "year", "column": "day"}
    return lambda record: record["plan"].update(period=rows)


def test_points_stay_in_the_given_order(out, copied):
    again = copied("again")
    found = series([again, str(out)])
    assert found.names == (again, str(out))
    pair = next(trend for trend in found.trends if trend.name == PAIR)
    held = read_answers(read_release(str(out)), PAIR)
    assert np.array_equal(pair.points[0].estimate, held.estimate)
    assert not pair.change[1].any()


def test_one_query_alone(out):
    found = series([str(out), str(out)], PAIR)
    assert [trend.name for trend in found.trends] == [PAIR]


def test_periods_stand_in_their_order_and_gaps_are_noted(copied):
    places = [copied(name, of_period(name)) for name in ("2026-04", "2026-01")]
    found = series(places)
    assert found.names == ("2026-01", "2026-04")
    assert "no release of 2026-02, 2026-03" in found.notes


def test_what_is_no_real_release_is_noted(out, copied):
    found = series([str(out), copied("made-up", lambda record: record.update(rehearsal=True))])
    assert [note for note in found.notes if "made-up rows" in note]


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """Six releases of a counter, whose tree has base 3: months 3 and 6 read three months, the others one."""
    place, after = tmp_path_factory.mktemp("counter"), None
    for month in MONTHS:
        released(place, month, after, eps="1", delta="1e-9", accountant="zcdp", cumulative=8)
        after = month
    return place


PATHS = [{1}, {1, 2}, {3}, {3, 4}, {3, 4, 5}, {3, 6}]
"""The nodes that add up to the count of each month; the last of them is its own."""


@pytest.mark.parametrize("points", [range(6), (0, 2, 5), (3, 5), (1, 4), (2, 4)], ids=str)
def test_the_error_of_a_change_is_that_of_the_nodes_that_only_one_of_both_counts_holds(counter, points):
    """All nodes have noise of one variance. Where the earlier of the two does not hold all that was added to the later
    one's own node, nothing is taken to be shared: the error is then that of both, which is no smaller."""
    found = series([str(counter / MONTHS[point]) for point in points]).trends[0]
    one = found.points[0].precision ** 2 / len(PATHS[points[0]])
    assert one.min() > 0
    for place, after in enumerate(points):
        assert np.allclose(found.points[place].precision ** 2, len(PATHS[after]) * one)
    for place, (before, after) in enumerate(pairwise(points), 1):
        handed = PATHS[after] - {after + 1} <= PATHS[before]
        apart = len(PATHS[before] ^ PATHS[after]) if handed else len(PATHS[before]) + len(PATHS[after])
        assert np.allclose(found.change_error[place] ** 2, apart * one)


def wrong_domain(record):
    record["plan"]["domain"]["columns"][0]["name"] += "x"


def wrong_queries(record):
    record["plan"]["workload"]["blocks"][0]["queries"] += 1


@pytest.mark.parametrize(("change", "words"), [(wrong_domain, "another domain"), (wrong_queries, "other queries")])
def test_others_are_refused_by_the_name_of_what_differs(out, copied, change, words):
    other = copied("other", change)
    with pytest.raises(DocumentError, match=f"{words} than .*is (missing in one|not the same in both)"):
        series([str(out), other])


def test_a_release_that_was_changed_is_refused(out, copied):
    for name, words in (
        ("answers.csv", "was changed since the release was made"),
        ("release.json", "was changed after it"),
    ):
        place = Path(copied(f"changed-{name}"))
        text = (place / name).read_text()
        (place / name).write_text(text.replace("1", "2") if name == "answers.csv" else text.replace(" 1", " 2"))
        with pytest.raises(DocumentError, match=words):
            series([str(out), str(place)])
    (place / "answers.csv").unlink()
    with pytest.raises(DocumentError):
        series([str(out), str(place)])


def test_old_releases_of_other_queries_are_refused(out):
    with pytest.raises(DocumentError, match=r"has another domain|has other queries"):
        series([str(out), str(OLD / "0.3.0")])


def test_refusals(out, copied):
    first, second = (copied(name, of_period("2026-01")) for name in ("one", "two"))
    month, year = copied("m", of_period("2026-02")), copied("y", of_period("2026"))
    for places, words in (
        ([str(out)], "at least two releases"),
        ([first, second], "another release is of 2026-01 too"),
        ([first, str(out)], "no release of a period"),
        ([month, year], "is a"),
        ([str(out), "nowhere"], "is no release directory"),
    ):
        with pytest.raises(UsageFault, match=words):
            series(places)
    with pytest.raises(UsageFault, match="has no query"):
        series([str(out), str(out)], "nothing")


# A series as a table: the order of its rows, and attributes that are called like its own columns.

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


@pytest.fixture(scope="module")
def figured(tmp_path_factory):
    """Two releases of figures: a mean by month, quantiles, a ratio of two sums, the largest cells; by their places."""
    place = tmp_path_factory.mktemp("figured")
    fields = [
        {"name": "kwh", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
        {"name": "homes", "type": "integer", "constraints": {"minimum": 1, "maximum": 3}},
        {"name": "day", "type": "date", "constraints": {"minimum": "2025-10-01", "maximum": "2025-11-30"},
         "dpqr": {"every": "month"}},
    ]  # fmt: skip
    queries = [
        {"mean": "kwh", "by": ["day"], "name": "daily use"},
        {"quantiles": "kwh", "at": [0.1, 0.9], "name": "spread"},
        {"ratio": {"of": "kwh", "to": "homes"}, "name": "use a home"},
        {"top": "homes", "k": 1, "name": "most"},
    ]
    (place / "q.json").write_text(json.dumps({"domain": {"fields": fields}, "queries": queries}))
    rows = [f"{kwh},{1 + kwh % 3},2025-{month}-05\n" for month in (10, 11) for kwh in range(10) for _ in range(40)]
    (place / "table.csv").write_text("kwh,homes,day\n" + "".join(rows))
    places = [str(place / name) for name in ("first", "second")]
    for out in places:
        dpqr.release(str(place / "table.csv"), queries=str(place / "q.json"), eps=1, out=out)
    return places


def test_a_figure_goes_from_point_to_point_as_itself(figured):
    """Its numbers are those of `figures.csv`, not the sums that they are computed from."""
    found = series(figured)
    names = [trend.name for trend in found.trends]
    assert {"daily use", "spread", "use a home", "most"} <= {*names}
    assert len({*names}) == len(names)
    by_name = {trend.name: trend for trend in found.trends}
    for place, where in enumerate(figured):
        stored = read_figures(read_release(where))
        for name in ("daily use", "spread", "use a home"):
            rows = [row for row in stored if row["figure"] == name]
            for number in FIGURES:
                shown = getattr(by_name[name].points[place], number)
                assert np.array_equal(shown, np.array([row[number] for row in rows], dtype=float), equal_nan=True)
    use = by_name["daily use"]
    assert np.array_equal(use.change[1], use.points[1].estimate - use.points[0].estimate)
    apart = np.hypot(use.points[0].error, use.points[1].error)
    assert np.allclose(use.change_error[1], apart, rtol=1e-12, atol=0.0, equal_nan=True)
    assert by_name["most"].rows == 3, "of the largest cells the counts of all, for each release may name others"
    for name in ("spread", "use a home"):
        assert [trend.name for trend in series(figured, name).trends] == [name]


def test_a_series_of_a_counter_says_that_its_figures_stand_elsewhere(tmp_path, counter):
    """The mean of a release is that of the rows that it has read; its sums alone add up from release to release."""
    fields = [*DOMAIN["fields"], {"name": "kwh", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]
    queries = {"queries": [{"mean": "kwh", "name": "use"}]}
    for month, after in ((MONTHS[0], None), (MONTHS[1], MONTHS[0])):
        before = after and tmp_path / after
        dpqr.release(
            TABLE.assign(kwh=5), queries=queries, domain=DOMAIN | {"fields": fields}, eps=1000, period=month,
            cumulative=6, after=before, out=tmp_path / month,
        )  # fmt: skip
    found = series([str(tmp_path / month) for month in MONTHS[:2]])
    assert (found.notes, found.trends[0].rows) == ((OWN_ROWS,), 2), "sums of 9 - kwh and of kwh"
    assert series([str(counter / month) for month in MONTHS[:2]]).notes == ()


def test_a_screen_of_a_series_names_cells_as_that_of_a_release_does(figured):
    found = series(figured, "daily use")
    shown = printed(series_view(found.names, found.trends))
    assert "day=Oct 2025" in shown
    assert "[2025-10-01" not in shown


def test_a_value_without_an_error_is_explained(figured):
    """As the mean of nobody: only its interval shows that it says nothing."""
    found = series(figured, "daily use")
    assert WITHOUT_ERROR not in printed(series_view(found.names, found.trends))
    bare = trend([replace(point, error=np.full(point.rows, np.nan)) for point in found.trends[0].points])
    assert WITHOUT_ERROR in printed(series_view(found.names, [bare]))
