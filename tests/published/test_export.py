"""A release as a DuckDB file: what is in it, and what becomes of a file that is there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.verified_release import changed

from dpqr.kernel.errors import AlreadyThere, GoalMissed, UsageFault
from dpqr.published.export import FACTS, SEAL, ExportRequest, export, exported_seal, facts_table, write_duckdb
from dpqr.releases.files.answer_tables import read_answers_frame
from dpqr.releases.files.atomic import reserve_file
from dpqr.releases.files.read_release import read_release

OLD = Path(__file__).parents[1] / "old_releases"


@pytest.fixture(scope="module")
def exported(free_release, tmp_path_factory):
    place = tmp_path_factory.mktemp("exported") / "out.db"
    found = export(ExportRequest(release=free_release.release, duckdb=str(place)))
    return place, found


def rows(place, sql):
    with duckdb.connect(str(place), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_its_tables(exported):
    place, found = exported
    assert list(found.tables) == ["answers", "columns", "cells", "synthetic", "facts"]
    assert {name: rows(place, f"SELECT COUNT(*) FROM {name}")[0][0] for name in found.tables} == found.tables
    assert os.listdir(place.parent) == ["out.db"]


def test_answers_are_those_of_the_release_bit_for_bit(exported, free_release):
    held = read_answers_frame(read_release(free_release.release))
    assert rows(exported[0], "SELECT query, estimate FROM answers") == list(
        zip(held["query"], held["estimate"], strict=True)
    )


def test_cells_and_facts(exported):
    place, _ = exported
    assert rows(place, "SELECT cell, own FROM cells WHERE \"column\" = 'sex' ORDER BY position") == [
        ("F", False),
        ("M", False),
    ]
    assert rows(place, "SELECT name, cells, own_cells FROM columns WHERE position = 1") == [("age", 5, "null")]
    facts = dict(rows(place, "SELECT fact, value FROM facts"))
    assert (facts["epsilon"], facts["delta"], facts["dataset"]) == ("1", "0", None)
    assert facts["unit"].startswith("one row of the table added or removed")
    assert len(facts["sha256"]) == len(facts["sha256 of answers.csv"]) == 64


@pytest.mark.slow
def test_a_file_that_is_there(exported, free_release, tmp_path):
    place, _ = exported
    asked = {"release": free_release.release, "duckdb": str(place)}
    before = place.read_bytes()
    with pytest.raises(AlreadyThere):
        export(ExportRequest(**asked))
    assert export(ExportRequest(**asked, if_exists="skip")).tables == {}
    assert place.read_bytes() == before
    assert export(ExportRequest(**asked, if_exists="replace")).tables
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    for choice in ("fail", "skip", "replace"):
        with pytest.raises(AlreadyThere):
            export(ExportRequest(release=free_release.release, duckdb=str(other), if_exists=choice))
    assert other.read_text() == "mine"


@pytest.mark.slow
def test_another_release_is_replaced_and_not_passed_over(tmp_path, free_release):
    place = str(tmp_path / "out.db")
    found = export(ExportRequest(release=str(OLD / "0.5.0"), duckdb=place))
    assert found.tables["answers"]
    with pytest.raises(AlreadyThere, match="another release"):
        export(ExportRequest(release=free_release.release, duckdb=place, if_exists="skip"))
    export(ExportRequest(release=free_release.release, duckdb=place, if_exists="replace"))
    assert os.listdir(tmp_path) == ["out.db"]


@pytest.mark.slow
def test_what_an_old_or_plain_release_lacks_is_said(tmp_path):
    kept = tmp_path / "old"
    shutil.copytree(OLD / "0.1.0", kept)
    found = export(ExportRequest(release=str(kept), duckdb=str(tmp_path / "out.db")))
    assert "cells" not in found.tables
    assert any(note.startswith("no table of cells: ") for note in found.notes)


# Tables of an exported release.


RECORD = {
    "version": "0.6.0",
    "ledger": {"dataset": "survey"},
    "hashes": {"answers.csv": "12"},
    "trust": ["look"],
    "plan": {
        "budget": {"epsilon": {"exact": "1/10", "float": 0.1}, "delta": {"exact": "0", "float": 0.0}},
        "domain": {"columns": [{"name": "sex", "kind": "labels", "cells": 3, "own_cells": ["null"]}]},
    },
}


def test_facts_are_texts():
    facts = {one["fact"]: one["value"] for one in facts_table(RECORD).to_pylist()}
    assert (facts["version"], facts["epsilon"], facts["delta"], facts["dataset"]) == ("0.6.0", "1/10", "0", "survey")
    assert (facts["sha256 of answers.csv"], facts["note 1"], facts["publisher"]) == ("12", "look", None)


def test_the_budget_is_that_with_what_the_learned_domain_has_cost():
    whole = {"epsilon": {"exact": "3/10", "float": 0.3}, "delta": {"exact": "1/1000000", "float": 1e-6}}
    facts = {
        one["fact"]: one["value"]
        for one in facts_table({**RECORD, "plan": RECORD["plan"] | {"whole": whole}}).to_pylist()
    }
    assert (facts["epsilon"], facts["delta"]) == ("3/10", "1/1000000")


# A DuckDB file is there whole, or nothing is.


SEALED = pa.table({"fact": [SEAL], "value": ["abc"]})


def test_a_file_is_known_by_its_seal(tmp_path):
    place = reserve_file(str(tmp_path / "out.db"))
    write_duckdb(place, {FACTS: SEALED})
    assert exported_seal(place.path) == "abc"
    (tmp_path / "text").write_text("no database")
    assert exported_seal(tmp_path / "text") is None
    assert exported_seal(tmp_path / "nowhere") is None


def test_nothing_half_written_is_left(tmp_path, free_release):
    """Nor anything of a changed release, or where the place cannot be written."""
    with pytest.raises(UsageFault, match="DuckDB cannot write it"):
        write_duckdb(reserve_file(str(tmp_path / "out.db")), {FACTS: SEALED, 'a"b': SEALED})
    answers = Path(free_release.release) / "answers.csv"
    with changed(answers, answers.read_bytes() + b"\n"), pytest.raises(GoalMissed):
        export(ExportRequest(release=free_release.release, duckdb=str(tmp_path / "out.db")))
    with pytest.raises(UsageFault, match="--duckdb"):
        export(ExportRequest(release=free_release.release, duckdb=str(tmp_path / "no" / "out.db")))
    assert os.listdir(tmp_path) == []


def test_a_file_of_the_same_name_that_came_meanwhile_stays(tmp_path):
    place = reserve_file(str(tmp_path / "out.db"))
    place.path.write_text("mine")
    with pytest.raises(UsageFault, match="the finished file is"):
        write_duckdb(place, {FACTS: SEALED})
    assert place.path.read_text() == "mine"
