"""Every case of the tables, on the command line in this process, with a ledger that pays where rows could be read."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hostile.bombs import BOMBS
from hostile.tables import NEW, mistakes
from support.cases import thinned
from support.command_desk import QUERIES, TABLE, Desk
from support.refusal_form import refused

from dpqr.kernel.errors import STAYS_SPENT

LEAST, LEAST_EACH, LEAST_ALL_TOLD = 150, 10, 480
FREE = ("--unit", "--ledger", "--counts", "--max-records", "--max-bytes", "--max-memory", "--delimiter")
"""Options of runs that the fixture's ledger could not pay for."""
SECONDS = 30


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A directory with a ledger."""
    made = Desk(tmp_path_factory.mktemp("book"))
    budget = ("survey", "--eps", "900", "--allow-fail", "--ledger", made.path / "ledger.sqlite")
    assert made.run("budget", "init", *budget).code == 0
    return made


@pytest.fixture
def desk(book, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE, q__json=QUERIES)
    return made


CASES = [pytest.param(case, id=f"{category}-{case.name}") for category, cases in NEW.items() for case in cases]


@pytest.mark.parametrize("case", thinned(CASES, 25))
def test_it_is_refused_and_what_is_spent_is_told(desk, book, monkeypatch, case):
    """Nothing, unless rows could be read: then all that was reserved."""
    ledger = book.path / "ledger.sqlite"
    payer, before = (), spent(book)
    if not set(FREE) & set(case.options):
        monkeypatch.setenv("DPQR_LEDGER", str(ledger))
        payer = () if "--dataset" in case.options else ("--dataset", "survey")
    began = time.perf_counter()
    ended = refused(desk, case, *payer)
    assert time.perf_counter() - began < SECONDS
    assert not (desk.path / "out").exists()
    paid = STAYS_SPENT in ended.err
    assert spent(book) == before + paid
    assert not (paid and case.code != 5)


def spent(book):
    shown = book.run("budget", "show", "survey", "--json", "--ledger", book.path / "ledger.sqlite").json
    return int(shown[0]["spent"]["exact"])


def test_there_are_enough_of_each_kind():
    hostile = counted(NEW)
    assert set(hostile) == {"options", "json", "csv", "parquet", "paths", "ledger"}
    assert min(hostile.values()) >= LEAST_EACH, hostile
    assert hostile.total() >= LEAST, hostile
    assert hostile.total() + mistakes() >= LEAST_ALL_TOLD


def counted(tables):
    """Cases of each category by their names, the bombs among them."""
    names = {category: {case.name for case in cases} for category, cases in tables.items()}
    for bomb in BOMBS:
        names[bomb.category].add(bomb.name)
    return Counter({category: len(found) for category, found in names.items()})


def test_whatever_is_refused_ends_with_2_3_5_or_8_unless_the_ledger_refuses_it():
    assert {case.code for category, cases in NEW.items() for case in cases if category != "ledger"} == {2, 3, 5, 8}
    assert {case.code for case in NEW["ledger"]} == {2, 4, 7, 8}
