"""Sources: whoever asks chooses no place, no text and no moment of a database; a build that lets them is caught."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys

import pytest
from hostile.oracles.attempt import seen
from hostile.oracles.blind import blind
from hostile.oracles.verdict import Trial
from hostile.sources.attacks import ATTACKS, IN_A_SESSION
from hostile.sources.mutants import any_source
from hostile.sources.places import Engines, roles, server_address
from support.cases import thinned
from support.postgres_server import missing, running

from dpqr.kernel.values import replace

LEAST, LEAST_CAUGHT = 40, 10
PLACED = re.compile(r"^(SERVER|OTHER|LOGIN)(?=\?)|DESK")


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
        attempt = placed(attempt, tmp_path / "desk")
        none = [replace(attempt.tables[0], rows=None)] if attempt.unopened else []
        found = []
        for table in [*attempt.tables, *none]:
            with pytest.MonkeyPatch.context() as changed:
                changed.chdir(tmp_path)
                found.append(seen(attempt, table, tmp_path / "desk"))
            shutil.rmtree(tmp_path / "desk")
        return Trial(attempt=attempt, found=tuple(found), plan="")

    return make


def placed(attempt, desk):
    """The attempt with the addresses of the server and of the desk in it."""
    if not any(map(PLACED.search, (attempt.tables[0].name, *attempt.policy))):
        return attempt

    def known(found):
        if found[0] == "DESK":
            return str(desk)
        others = {"OTHER": {"database": "other"}, "LOGIN": {"user": "analyst"}}
        return server_address(**others.get(found[0], {}))

    return replace(
        attempt,
        tables=tuple(replace(table, name=PLACED.sub(known, table.name)) for table in attempt.tables),
        policy=tuple(PLACED.sub(known, word) for word in attempt.policy),
    )


def case(attempt):
    return pytest.param(attempt, id=attempt.name)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The caller's session of Spark."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        missing("there is no Spark here: pip install 'dpqr[spark]', apt-get install default-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    Engines.session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield Engines.session
    Engines.session.stop()
    Engines.session = None


def require_nothing(made):
    """That the attempt learnt nothing, ended as it must, and left nothing of a row anywhere."""
    assert made.leak is None
    assert made.idle is None
    assert not any(refund for each in made.found for refund in each.refunds)
    assert not any("Bob" in "".join(map(str, each.ended)) for each in made.found)
    assert not any("stolen" in name for each in made.found for name in each.files)


ON_SPARK = [attempt for attempt in ATTACKS if attempt.name.startswith("spark-")]


@pytest.mark.parametrize("attempt", thinned([case(attempt) for attempt in ATTACKS if attempt not in ON_SPARK], 53))
def test_nothing_is_learnt_and_nothing_is_run(server, trial, attempt):
    require_nothing(trial(attempt))


@pytest.mark.slow  # pyspark is no part of the test extra
@pytest.mark.parametrize("attempt", list(map(case, ON_SPARK)))
def test_nothing_is_learnt_and_nothing_is_run_on_spark(server, trial, attempt):
    require_nothing(trial(attempt))


@pytest.mark.slow
@pytest.mark.xdist_group("local")
@pytest.mark.parametrize("attempt", list(map(case, IN_A_SESSION)))
def test_nothing_is_learnt_of_a_session_of_spark(session, trial, attempt, capfd):
    require_nothing(trial(attempt))
    assert "Bob" not in "".join(capfd.readouterr())


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
