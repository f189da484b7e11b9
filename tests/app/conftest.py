import pytest
from support.command_desk import QUERIES, TABLE, Desk
from support.verified_release import make


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A directory with table.csv and q.json, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE, q__json=QUERIES)
    return made


@pytest.fixture(scope="session")
def paid_release(tmp_path_factory):
    """A request that verifies a release that a ledger paid for. Whoever changes its files puts them back."""
    return make(tmp_path_factory.mktemp("paid"))


@pytest.fixture(scope="session")
def free_release(tmp_path_factory):
    """The same of a release that no ledger paid for."""
    return make(tmp_path_factory.mktemp("free"), paid=False)
