import sys

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.ledger.sqlite import SqliteStore, ledger_store

ADDRESS = "postgresql://db/b?schema=dpqr"


def test_an_option_comes_before_the_environment_and_both_before_the_users_own(tmp_path):
    named = {"DPQR_LEDGER": ADDRESS}
    assert ledger_store(str(tmp_path / "a"), named) == SqliteStore(tmp_path / "a")
    assert ledger_store(None, {"DPQR_LEDGER": str(tmp_path / "b")}) == SqliteStore(tmp_path / "b")
    assert ledger_store(None, {"XDG_DATA_HOME": str(tmp_path)}).place.endswith("ledger.sqlite")


def test_an_address_is_a_store_on_a_server_that_nobody_has_asked_yet():
    pytest.importorskip("psycopg")
    assert ledger_store(None, {"DPQR_LEDGER": ADDRESS}).place == ADDRESS
    assert ledger_store(ADDRESS, {}).place == ADDRESS


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "dpqr.ledger.postgres", raising=False)
    with pytest.raises(UsageFault, match=r"needs the package psycopg; install it by: pip install 'dpqr\[postgres\]'"):
        ledger_store(ADDRESS, {})


def test_the_variable_is_named_where_it_holds_a_password():
    with pytest.raises(UsageFault, match="DPQR_LEDGER: the address holds a password"):
        ledger_store(None, {"DPQR_LEDGER": "postgresql://u:p@db/b"})
