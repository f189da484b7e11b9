"""Answers of several blocks as one table, and files of them."""

import json

import numpy as np
import pytest

from dpqr.kernel.errors import AlreadyThere, UsageFault
from dpqr.releases.answer_tables import answered_table, answers_file, figures_of
from dpqr.releases.answers.answered import AnsweredBlock, CellColumn
from dpqr.releases.answers.errors import NO_BASIS


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


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_files_by_their_endings(tmp_path, form):
    place = answers_file(str(tmp_path / f"new.{form}"))
    place.write(BLOCKS, figures_of([]))
    assert place.answers.form == form
    assert [path.name for path in tmp_path.iterdir()] == [f"new.{form}"]
    if form == "json":
        assert json.loads((tmp_path / "new.json").read_text()) == answered_table(BLOCKS).records()
    with pytest.raises(AlreadyThere):
        answers_file(str(tmp_path / f"new.{form}"))


def test_other_endings_name_no_form(tmp_path):
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
