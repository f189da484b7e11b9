"""Sources: whoever asks chooses no place, no text and no moment of a database; a build that lets them is caught."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest
from hostile.oracles.attempt import seen
from hostile.oracles.blind import blind
from hostile.oracles.verdict import Trial
from hostile.sources.attacks import ATTACKS
from hostile.sources.mutants import any_source
from hostile.sources.places import Engines, roles, server_address
from support.postgres_server import running
from support.slow_cases import thinned

LEAST, LEAST_CAUGHT = 40, 10
SERVER = re.compile(r"^(SERVER|OTHER|LOGIN)(?=\?)")


@pytest.fixture(scope="module")
def server():
    with running() as made:
        Engines.server = made
        roles()
        yield made


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """Makes an attempt on each of its tables, at the same place, and on none where it must not matter."""
    blind(monkeypatch)

    def make(attempt):
        attempt = placed(attempt)
        none = [replace(attempt.tables[0], rows=None)] if attempt.unopened else []
        found = []
        for table in [*attempt.tables, *none]:
            with pytest.MonkeyPatch.context() as changed:
                changed.chdir(tmp_path)
                found.append(seen(attempt, table, tmp_path / "desk"))
            shutil.rmtree(tmp_path / "desk")
        return Trial(attempt=attempt, found=tuple(found), plan="")

    return make


def placed(attempt):
    """The attempt with the server's address in it."""
    if not any(map(SERVER.match, (attempt.tables[0].name, *attempt.policy))):
        return attempt
    known = {
        "SERVER": server_address(),
        "OTHER": server_address(database="other"),
        "LOGIN": server_address(user="analyst"),
    }

    def named(word):
        return SERVER.sub(lambda found: known[found[0]], word)

    return replace(
        attempt,
        tables=tuple(replace(table, name=named(table.name)) for table in attempt.tables),
        policy=tuple(map(named, attempt.policy)),
    )


def case(attempt):
    return pytest.param(attempt, id=attempt.name)


@pytest.mark.parametrize("attempt", thinned(list(map(case, ATTACKS)), 5))
def test_nothing_is_learnt_and_nothing_is_run(server, trial, attempt):
    made = trial(attempt)
    assert made.leak is None
    assert made.idle is None
    assert not any(refund for each in made.found for refund in each.refunds)
    assert not any("Bob" in "".join(map(str, each.ended)) for each in made.found)
    assert not any("stolen" in name for each in made.found for name in each.files)


def test_there_are_enough_of_them():
    attacks = {attempt.name.rpartition("-")[0] for attempt in ATTACKS}
    assert len({attempt.name for attempt in ATTACKS}) == len(ATTACKS)
    assert len(attacks) >= LEAST
    for engine in ("duckdb", "postgresql", "spark"):
        assert len([name for name in attacks if name.startswith(engine)]) >= 15, engine


CAUGHT = (
    *(f"duckdb-{name}-unbound" for name in ("view-multiplies", "view-error", "view-cast", "view-division", "query")),
    *(f"postgresql-invoker-{name}-bound" for name in ("error", "multiplies")),
    *(f"door-{name}-unbound" for name in ("predict", "session", "folder", "json", "progress")),
)
"""Attempts that differ between neighbours by themselves where nobody refuses them."""


@pytest.mark.slow
def test_a_build_that_lets_the_requester_name_the_source_is_caught(server, trial, monkeypatch):
    """By what differs between neighbours, not by whether anything is opened."""
    any_source(monkeypatch)
    known = {attempt.name: attempt for attempt in ATTACKS}
    leaks = {name: trial(replace(known[name], unopened=False)).leak for name in CAUGHT}
    assert len(list(filter(None, leaks.values()))) >= LEAST_CAUGHT, leaks
