"""Answers of several blocks as one table, and files of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.cases import in_one_test, thinned
from support.handmade_release import make_release

import dpqr
from dpqr.domain.periods import Period, PeriodTree
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import AlreadyThere, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.published.verify import VerifyRequest, verify
from dpqr.releases.answers.answered import AnsweredBlock, CellColumn, Earlier, answered_block
from dpqr.releases.answers.errors import NO_BASIS
from dpqr.releases.files.answer_tables import (
    answered_table,
    answers_file,
    cumulative_table,
    figures_of,
    handed_on,
    handed_over,
)
from dpqr.releases.files.atomic import document_text, reserve
from dpqr.releases.files.read_release import read_release
from dpqr.releases.files.views import Nodes, view_records, views_of
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.release import write_release
from dpqr.releases.requests import OutputRequest
from dpqr.strategies.counter import Counter, CounterStep


def block(name, cells, estimates, column="sex"):
    none, texts = np.full(len(estimates), np.nan), tuple(dict.fromkeys(cells))
    places = np.array([texts.index(cell) for cell in cells], dtype=np.int64)
    held = CellColumn(name=column, texts=texts, places=places, ordered=False)
    figures = dict.fromkeys(("error", "measured", "deviation", "lower", "upper"), none)
    basis = np.full(len(estimates), NO_BASIS, dtype=np.int8)
    return AnsweredBlock(name=name, columns=(held,), estimate=np.array(estimates), basis=basis, **figures)


BLOCKS = (block("one", ["f", "m"], [1.5, 2.0]), block("two", ["m"], [-0.0]), block("three", ["n"], [7.0], "query"))


def test_one_row_an_answer():
    records = answered_table(BLOCKS).records()
    assert [one["query"] for one in records] == ["one", "one", "two", "three"]
    assert [one["sex"] for one in records] == ["f", "m", "m", None]
    assert [one["column_query"] for one in records] == [None, None, None, "n"]
    assert [str(one["estimate"]) for one in records] == ["1.5", "2.0", "0.0", "7.0"]
    assert {one["basis"] for one in records} == {None}


@in_one_test("form", ["csv", "json", "parquet"])
def test_files_by_their_endings(tmp_path, form):
    place = answers_file(str(tmp_path / f"new.{form}"))
    place.write(BLOCKS, figures_of([]))
    assert place.answers.form == form
    assert [path.name for path in tmp_path.iterdir()] == [f"new.{form}"]
    if form == "json":
        assert json.loads((tmp_path / "new.json").read_text()) == answered_table(BLOCKS).records()
    with pytest.raises(AlreadyThere):
        answers_file(str(tmp_path / f"new.{form}"))
    with pytest.raises(UsageFault, match="the ending says the form"):
        answers_file(str(tmp_path / "new.xlsx"))


def test_figures_lie_beside_answers(tmp_path):
    rows = [
        {"figure": "m", "kind": "mean", "sex": "f", "detail": None, "estimate": 1.5, "basis": None, "flag": None},
        {"figure": "q", "kind": "median", "detail": "0.5", "estimate": None, "basis": "measured", "flag": None},
    ]
    table = figures_of(rows)
    assert list(table.columns) == ["figure", "kind", "sex", "detail", "estimate", "basis", "flag"]
    assert table.records()[1] == {**rows[1], "sex": None}
    answers_file(str(tmp_path / "new.json")).write((), table)
    assert [path.name for path in tmp_path.iterdir()] == ["new.figures.json"]
    with pytest.raises(AlreadyThere):
        answers_file(str(tmp_path / "new.json"))


# The file of cumulative answers: what each release hands on, level by level.


TREE = PeriodTree(periods=7)
FIRST = Period.parse("2026-01")
MADE = make_release()
OWN = np.concatenate([answered_block(each, MADE.plan.problem.domain).estimate for each in MADE.answers])


def of_counter(number, earlier):
    """The release made by hand as one of a binary counter; each node has the same answers."""
    counter = Counter(tree=TREE, life=PrivacyBudget.parse("1"), accountant="basic", unit=PrivacyUnit())
    turn = CounterStep(counter=counter, first=FIRST, period=FIRST.later(number - 1))
    plan = replace(MADE.plan, problem=replace(MADE.plan.problem, turn=turn))
    return replace(MADE, plan=plan, earlier=earlier)


def written(place, number, earlier):
    made = of_counter(number, earlier)
    write_release(made, reserve(str(place / str(number))), OutputRequest())
    return read_release(str(place / str(number)))


def estimates(blocks):
    return np.concatenate([block.estimate for block in blocks])


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """Seven releases, each of which goes on from the files of the one before."""
    place, files = tmp_path_factory.mktemp("life"), {}
    earlier = Earlier()
    for number in range(1, TREE.periods + 1):
        files[number] = written(place, number, earlier)
        earlier = Earlier(counts=handed_on(files[number], TREE, number), period=str(number), sha256="0" * 64)
    return files


def test_counts_are_sums_over_the_path_and_the_last_multiple_of_each_width_is_handed_on(life):
    """Every node counts the same here, so a count is the number of its nodes times that."""
    assert cumulative_table(MADE) is None, "a release of no counter"
    for number, files in life.items():
        multiples = {level: number // 2**level * 2**level for level in range(TREE.levels)}
        found = {level: estimates(blocks) for level, blocks in handed_on(files, TREE, number).items()}
        assert set(found) == {level for level, multiple in multiples.items() if multiple}
        for level, counts in found.items():
            assert counts == pytest.approx(len(TREE.path(multiples[level])) * OWN)


def test_what_was_handed_over_makes_the_same_file_again(life):
    for number, files in life.items():
        again = of_counter(number, Earlier(counts=handed_over(files, TREE, number)))
        kept = of_counter(number, Earlier(counts=handed_on(life[number - 1], TREE, number - 1) if number > 1 else {}))
        assert cumulative_table(again).records() == cumulative_table(kept).records()


TABLE = pd.DataFrame(
    {"sex": ["f", "m", "m", "f"] * 60, "pay": [float(number % 50) for number in range(240)], "job": ["=a", "b"] * 120}
)
DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 50}, "dpqr": {"bins": 5}},
        {"name": "job", "type": "string", "constraints": {"enum": ["=a", "b", "c"]}},
    ]
}
ASKED = (
    dpqr.queries()
    .mean("pay", by="sex")
    .quantiles("pay", [0.1, 0.5])
    .top("job", 2)
    .marginal("sex", "job")
    .marginal("sex")
    .proportion("pay >= 10", by="sex", name="well paid")
)


@pytest.fixture(scope="module")
def made() -> dpqr.Release:
    return dpqr.release(TABLE, queries=ASKED, domain=DOMAIN, eps=1000)


def test_rows_name_figure_group_and_detail(made: dpqr.Release) -> None:
    found = made.figures
    assert list(found.columns) == [
        *("figure", "kind", "sex", "detail", "estimate", "error", "lower", "upper", "basis", "flag"),
    ]
    assert found["figure"].tolist()[:2] == ["mean(pay) by sex"] * 2
    assert found["detail"].tolist()[2:6] == ["0.1", "0.5", "=a", "b"]
    assert found["sex"].tolist() == ["f", "m", None, None, None, None, "f", "m"]
    assert found["kind"].tolist()[-1] == "proportion"
    assert found["flag"].tolist()[4:6] == ["sure", "sure"]
    own = found[found["kind"] != "top"]  # whose estimates are the answers'
    assert ((own["lower"] <= own["estimate"]) & (own["estimate"] <= own["upper"])).all()
    assert found["estimate"].to_numpy()[-2:] == pytest.approx([0.8, 0.8], abs=0.05)


@pytest.mark.parametrize("form", thinned(["csv", "parquet", "json"], 3))
def test_files_hold_the_same_and_are_verified(made: dpqr.Release, tmp_path: Path, form: str) -> None:
    made.save(tmp_path / "out", format=form, views=5)  # type: ignore[arg-type]
    kept = dpqr.read_release(tmp_path / "out")
    pd.testing.assert_frame_equal(kept.figures, made.figures)
    pd.testing.assert_frame_equal(kept.views(5), made.views(5), check_dtype=False)
    record = json.loads((tmp_path / "out" / "release.json").read_text())
    assert record["files"] == [f"{name}.{form}" for name in ("answers", "figures", "views")]
    assert record["views"]["base"] == 5
    assert len(record["views"]["bias"]) == 2


@pytest.mark.slow
def test_an_end_that_is_unbounded_is_empty(tmp_path: Path) -> None:
    """At this epsilon an empty group counts exactly 0, but for one run in 10^20."""
    numbers = [
        {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"width": 1}}
        for name in ("of", "to")
    ]
    domain = {"fields": [DOMAIN["fields"][2], *numbers]}
    rows = pd.DataFrame({"job": ["=a", "b"] * 50, "of": [3] * 100, "to": [6] * 100})
    asked = dpqr.queries().ratio("of", "to", by="job")
    made = dpqr.release(rows, queries=asked, domain=domain, eps=1000)
    for form in ("csv", "parquet", "json"):
        made.save(tmp_path / form, format=form)  # type: ignore[arg-type]
        found = dpqr.read_release(tmp_path / form).figures
        assert found["upper"].isna().tolist() == [False, False, True]
        assert (found["lower"].tolist()[2], found["flag"].tolist()[2]) == (0.0, "small denominator")
        checks = {check.name: check.state for check in verify(VerifyRequest(release=str(tmp_path / form))).checks}
        assert checks["figures"] == "ok"


@pytest.mark.slow
def test_a_changed_figure_is_found(tmp_path: Path) -> None:
    out = tmp_path / "out"
    dpqr.release(TABLE, queries=ASKED, domain=DOMAIN, eps=1, out=out, views=10)
    checks = {check.name: check for check in verify(VerifyRequest(release=str(out))).checks}
    assert checks["figures"].state == "ok"
    assert all(check.code == 0 for check in checks.values())
    forged(out, "figures.csv")
    again = {check.name: check for check in verify(VerifyRequest(release=str(out))).checks}
    assert (again["files"].state, again["figures"].code) == ("ok", 6)


def forged(out: Path, name: str) -> None:
    """Another digit in a file, with the record's hash and seal made anew."""
    path, record = out / name, json.loads((out / "release.json").read_text())
    head, first, *rest = path.read_text().splitlines()
    cells = first.split(",")
    place = next(place for place, cell in enumerate(cells) if cell.replace(".", "").isdigit())
    cells[place] = str(float(cells[place]) + 1)
    path.write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    record["hashes"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (out / "release.json").write_bytes(document_text(seal_document(record)).encode())


def test_without_figures_there_is_no_file_and_an_empty_frame(tmp_path: Path) -> None:
    bare = dpqr.release(TABLE, queries=dpqr.queries().sum("pay"), domain=DOMAIN, eps=1, out=tmp_path / "bare")
    assert not (tmp_path / "bare" / "figures.csv").exists()
    assert "views" not in bare.record
    assert len(bare.figures) == len(dpqr.read_release(tmp_path / "bare").figures) == 0
    assert list(bare.figures.columns)[:3] == ["figure", "kind", "detail"]


def test_views_that_cannot_be_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(
        InfeasiblePlan, match="views are of marginals and hierarchies without weights, and there are none"
    ):
        dpqr.release(
            "nowhere.csv", queries=dpqr.queries().sum("pay"), domain=DOMAIN, eps=1, out=tmp_path / "o", views=5
        )
    with pytest.raises(UsageFault, match="--views is about the files of a release"):
        dpqr.release(TABLE, queries=ASKED, domain=DOMAIN, eps=1, views=5)


def test_small_cells_are_marked_by_their_error() -> None:
    sex, nothing = CellColumn(name="sex", texts=("f", "m"), places=np.arange(2), ordered=False), np.full(2, np.nan)
    figures = dict.fromkeys(("measured", "deviation", "lower", "upper"), nothing)
    block = AnsweredBlock(
        name="sex",
        columns=(sex,),
        estimate=np.array([10.0, 10.0]),
        error=np.array([3.0, 4.0]),
        basis=np.full(2, NO_BASIS, dtype=np.int8),
        **figures,
    )
    views = views_of([block], Nodes(), 5)
    assert [row["mark"] for row in view_records(views)] == [None, "unsure"]


def test_views_add_up_and_the_answers_stay(made: dpqr.Release) -> None:
    before = made.answers.copy()
    for base in (1, 5):
        views = made.views(base)
        for column in ("integer", "rounded"):
            parts = views[views["query"] == "marginal(sex,job)"].groupby("sex")[column].sum()
            whole = views[views["query"] == "marginal(sex)"].set_index("sex")[column]
            assert parts.to_dict() == whole.to_dict()
        assert (views["rounded"] % base == 0).all()
    pd.testing.assert_frame_equal(made.answers, before)
