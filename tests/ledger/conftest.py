"""Tests of a module with ENGINES that make a ledger (in `tmp_path`) hold for ledgers in a file and in PostgreSQL.

Those marked `file` hold for the former.
"""

import pytest
from support.ledger_jobs import SERVER, ledger_in, terms
from support.postgres_server import running


def pytest_generate_tests(metafunc):
    engines = getattr(metafunc.module, "ENGINES", False) and "tmp_path" in metafunc.fixturenames
    if engines and not metafunc.definition.get_closest_marker("file"):
        metafunc.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)], indirect=True)


@pytest.fixture(scope="session")
def server():
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def engine(request, monkeypatch):
    if getattr(request, "param", "sqlite") == "postgres":
        server = request.getfixturevalue("server")
        monkeypatch.setenv(SERVER, f"postgresql://owner@/postgres?host={server.folder}")


@pytest.fixture
def ledger(tmp_path):
    """A ledger with a budget of the usual terms."""
    made = ledger_in(tmp_path)
    made.open(terms())
    return made
