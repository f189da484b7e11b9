import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import UsageFault
from dpqr.ledger.location import anchor_path
from dpqr.tables.engines.address import EngineAddress, is_address, is_query, read_address, require_displayable


@in_one_test(
    ("text", "server", "schema"),
    [
        ("postgresql://db.example.org/budgets", "postgresql://db.example.org/budgets", "dpqr"),
        ("postgres://jobs@db:5433/b?schema=health", "postgresql://jobs@db:5433/b", "health"),
        ("postgresql://a,b:5433/b?target_session_attrs=read-write", None, "dpqr"),
        ("postgresql:///b?host=/run/postgresql&schema=x&sslmode=verify-full", None, "x"),
        ("postgresql://[::1]:5432/b", "postgresql://[::1]:5432/b", "dpqr"),
        ("postgresql://?service=ledger", "postgresql://?service=ledger", "dpqr"),
        ("POSTGRESQL://db/b", "postgresql://db/b", "dpqr"),
    ],
)
def test_an_address_names_a_server_and_a_schema(text, server, schema):
    found = read_address(text, "--ledger")
    assert found.schema == schema
    assert "schema=" not in found.server
    assert server is None or found.server == server
    assert found.text.endswith(f"schema={schema}")
    assert read_address(found.text, "--ledger") == found


@in_one_test(
    "text",
    [
        "postgresql://jobs:xyzzy@db/b",
        "postgresql://jobs:xyz@zy@db/b",
        "postgresql://jobs:xyz/zy@db/b",
        "postgresql://jobs:xyzzy",
        "postgresql://db/b?password=xyzzy",
        "postgresql://db/b?sslpassword=xyzzy",
        "postgresql://db/b?PassWord=xyzzy",
        "postgresql://db/b?oauth_client_secret=xyzzy",
        "postgresql://xyz@zy@db/b",
        "postgresql://db/b?pass%77ord=xyzzy",
        "postgresql://u%3Axyzzy@db/b",
    ],
)
def test_a_password_is_refused_and_not_repeated(text):
    with pytest.raises(UsageFault, match=r"--ledger: the address holds a password.*\n.*pgpass.*PGPASSWORD") as met:
        read_address(text, "--ledger")
    assert "xyz" not in str(met.value)


@in_one_test(
    "text",
    [
        "mysql://u:xyzzy@db/b",
        "postgresql+psycopg://u:xyzzy@db/b",
        "postgresql://[xyzzy/b",
        "postgresql://db/b#xyzzy",
        "postgresql://db/\nxyzzy",
        "://xyzzy",
        "postgresql:u:xyzzy@db/b",
        "POSTGRES:host=db password=xyzzy",
        "host=db password=xyzzy",
        "dbname=b pass%77ord = 'xyzzy'",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(text):
    with pytest.raises(UsageFault, match="give the path of a file, or postgresql://HOST/DATABASE") as met:
        read_address(text, "DPQR_LEDGER")
    assert "xyzzy" not in str(met.value)


@in_one_test("schema", ["", "A", "a-b", 'a"b', "1a", "a" * 64, "a&schema=b"])
def test_the_name_of_a_schema_needs_no_quotes(schema):
    with pytest.raises(UsageFault, match="schema=NAME"):
        read_address(f"postgresql://db/b?schema={schema}", "--ledger")


@in_one_test("text", ["postgresql://u:xyzzy@db/b", "postgres:xyzzy", "host=db password=xyzzy"])
def test_an_anchor_is_no_address_and_repeats_none(text):
    with pytest.raises(UsageFault, match="--anchor: give the path of a file") as met:
        anchor_path(text)
    assert "xyzzy" not in str(met.value)


def test_paths_are_no_addresses():
    assert not any(map(is_address, ["survey.sqlite", "/a:/b", "C:\\x", "postgresql.sqlite", "a:b@c"]))
    assert require_displayable("a:b@c", "--ledger") == "a:b@c"
    assert require_displayable("postgres://db/b", "--ledger") == "postgresql://db/b?schema=dpqr"


# What a plan says of an address.


@in_one_test(
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
