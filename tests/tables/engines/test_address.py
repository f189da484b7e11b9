"""What a plan says of an address."""

import pytest

from dpqr.tables.engines.address import EngineAddress, is_query


@pytest.mark.parametrize(
    ("told", "public", "query"),
    [
        ({}, "duckdb:", False),
        ({"table": "people"}, "duckdb:?table=people", False),
        ({"query": "select 1 as x"}, "duckdb:?query=select 1 as x", True),
    ],
)
def test_the_place_is_not_said(told, public, query) -> None:
    address = EngineAddress(scheme="duckdb", place="HIDDEN", **told)
    assert (address.public, is_query(address.public)) == (public, query)
    assert "HIDDEN" not in repr(address)


def test_a_table_without_an_address_is_no_query() -> None:
    assert not is_query(None)
