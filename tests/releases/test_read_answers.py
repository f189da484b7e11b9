"""Answers read back are those that were released, whatever form they were written in; damage is a fault in words."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Labels
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import answered_block
from dpqr.releases.files.atomic import reserve
from dpqr.releases.files.read_release import block_entries, block_records, read_answers, read_release
from dpqr.releases.files.release_files import BASIS, FIGURES, answer_records
from dpqr.releases.release import write_release
from dpqr.releases.requests import OutputRequest


@pytest.fixture
def written(tmp_path):
    def write(release, form="csv"):
        write_release(release, reserve(str(tmp_path / form)), OutputRequest(format=form))
        return read_release(str(tmp_path / form))

    return write


def same(one, two):
    figures = ("estimate", "error", "measured", "deviation", "lower", "upper", "basis")
    return all(np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True) for name in figures)


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_every_block_comes_back(release, written, form):
    files = written(release, form)
    assert [entry.name for entry in block_entries(files)] == [each.block.name for each in release.answers]
    for each in release.answers:
        read, made = read_answers(files, each.block.name), answered_block(each, release.plan.problem.domain)
        assert same(read, made)
        assert [read.cells(row) for row in range(read.rows)] == [made.cells(row) for row in range(made.rows)]
        described = [(column.name, column.ordered, column.own) for column in read.columns]
        assert described == [(column.name, column.ordered, column.own) for column in made.columns]


def test_records_are_named_as_in_the_files(release, written):
    found = block_records(read_answers(written(release), "years"))
    records = [record for record in answer_records(release) if record["query"] == "years"]
    assert found == [{name: record[name] for name in found[0]} for record in records]
    assert list(found[0]) == ["query", "sex", "detail", *FIGURES, BASIS]


def over(release, sex):
    """The same release over another first attribute."""
    domain = Domain((sex, *release.plan.problem.domain.attributes[1:]))
    return replace(release, plan=replace(release.plan, problem=replace(release.plan.problem, domain=domain)))


@pytest.mark.parametrize(
    ("labels", "name"), [(("=1+1", "'=x", "F"), "query"), (("", "M", "x"), "sex")], ids=["formulas", "nothing"]
)
def test_any_label_name_and_order_come_back(release, written, labels, name):
    """A label that a spreadsheet would run, one of nothing, and a name that clashes with a column."""
    sex = Attribute(name=name, axis=Labels(labels, ordered=True))
    (column, _) = read_answers(written(over(release, sex)), "sex by age").columns
    assert (column.name, column.texts, column.ordered) == (name, labels, True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("sex by ages", "did you mean 'sex by age'?"),
        ("AGE", "did you mean 'sex by age'?"),
        ("qqqq", "dpqr show lists them"),
    ],
)
def test_the_nearest_names(release, written, asked, said):
    with pytest.raises(UsageFault, match="has no query") as fault:
        read_answers(written(release), asked)
    assert str(fault.value).endswith(said)


DAMAGE = {
    "another name": lambda text: text.replace("sex by age", "sex by rage"),
    "a line less": lambda text: text.rpartition("\n")[0].rpartition("\n")[0] + "\n",
    "no figures": lambda text: text.replace("estimate", "guess"),
    "a word for a figure": lambda text: text.replace(",5.0,", ",many,"),
    "nothing": lambda _: "",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_answers(release, written, damage):
    files = written(release)
    path = files.path / "answers.csv"
    path.write_text(damage(path.read_text()))
    with pytest.raises(DocumentError, match=r"answers\.csv: (cannot be read as answers|was changed since the release)"):
        read_answers(files, "sex by age")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DocumentError, match="cannot be read as answers"):
        read_answers(files, "sex by age")


def test_a_damaged_record(release, written):
    files = written(release)
    record = json.loads((files.path / "release.json").read_text())
    for blocks in (None, [{"name": "x"}], {"name": 1}):
        record["plan"]["workload"]["blocks"] = blocks
        with pytest.raises(DocumentError, match=r"release\.json: lists no queries"):
            block_entries(replace(files, record=record))
    with pytest.raises(DocumentError, match="lists no answers"):
        read_answers(replace(files, record={**files.record, "files": []}), "cdf")
