import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import UsageFault
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.known import address_in, engine_at, named_files
from dpqr.tables.source import TableSource

DUCK = "duckdb:people.duckdb?table=people"


@in_one_test(
    ("text", "scheme", "place", "table"),
    [
        (DUCK, "duckdb", "people.duckdb", "people"),
        ("duckdb:a.duckdb?table=main.people", "duckdb", "a.duckdb", "main.people"),
        ("duckdb:data/*.parquet", "duckdb", "data/*.parquet", None),
        ("DuckDB:s3://b/t.parquet", "duckdb", "s3://b/t.parquet", None),
        ("postgres://u@db:5433/b?table=t", "postgresql", "//u@db:5433/b", "t"),
        ("postgresql://o@%2Ftmp%2Fx:5433/b?table=s.t", "postgresql", "//o@%2Ftmp%2Fx:5433/b", "s.t"),
        ("postgresql:?table=t", "postgresql", "", "t"),
        ("spark:SURVEY", "spark", "SURVEY", None),
    ],
)
def test_the_parts_of_an_address(text, scheme, place, table) -> None:
    assert address_in(text) == EngineAddress(scheme=scheme, place=place, table=table)


@in_one_test(
    "text",
    [
        "duckdb:?query=select 1 as x",
        "duckdb:a.duckdb?query= ",
        "postgresql://u@db/b?QUERY=select 1",
        "postgresql://u@db/b?table=t&query=select 1",
        "spark:?query=CREATE TABLE x AS SELECT 1",
        "duckdb:a.duckdb?qu%65ry=select 1",
    ],
)
def test_a_query_is_no_part_of_an_address(text) -> None:
    with pytest.raises(UsageFault, match=r"no part of an address.*\n.*base table.*--source-query FILE"):
        TableSource(paths=(text,))


@in_one_test(
    "text",
    [
        "postgresql://u:HIDDEN@db/b?table=t",
        "POSTGRES://u:HIDDEN@db/b?table=t",
        "postgresql://u:HID/HIDDEN@db/b?table=t",
        "postgresql://u:HID@HIDDEN@db/b?table=t",
        "postgresql://u:HID?HIDDEN@db/b?table=t",
        "postgresql://u%3AHIDDEN@db/b?table=t",
        "postgresql://u%253AHIDDEN@db/b?table=t",
        "postgresql://u@db:HIDDEN/b?table=t",
        "postgresql://db/b?password=HIDDEN",
        "postgresql://db/b?pass%77ord=HIDDEN&table=t",
        "postgresql://db/b?table=t&password=HIDDEN",
        "postgresql:host=db password=HIDDEN?table=t",
        "postgresql:host=db password = 'HIDDEN'?table=t",
        "postgresql://[HIDDEN/b?table=t",
        "duckdb:s3://key:HIDDEN@b/t.parquet",
        "duckdb:s3://b/t.parquet?s3_secret_access_key=HIDDEN",
        "duckdb:md:b?motherduck_token=HIDDEN",
        "duckdb:host=db password=HIDDEN?table=t",
        "duckdb:t?token=HIDDEN&table=a",
        "spark:jdbc:postgresql://u:HIDDEN@db/b",
        "mysql://u:HIDDEN@db/b",
        "postgresql+psycopg://u:HIDDEN@db/b",
        "jdbc:postgresql://u:HIDDEN@db/b",
        "host=db password=HIDDEN dbname=b",
        "s3://key:HIDDEN@b/t.parquet",
    ],
)
def test_a_password_is_refused_and_not_repeated(text) -> None:
    for paths in ((text,), (text, "t.csv"), ("t.csv", text)):
        with pytest.raises(UsageFault) as met:
            TableSource(paths=paths)
        assert "HID" not in str(met.value)


@in_one_test("path", ["t.csv", "C:/t.csv", "-", "other:t?table=a", "data/duckdb:x", "token=1/t.parquet"])
def test_other_names_are_files(path) -> None:
    assert address_in(path) is None
    assert engine_at((path,)) is None


def test_what_the_plan_says_has_no_place_and_some_engines_read_files_by_name() -> None:
    assert TableSource(paths=(DUCK,)).public == "duckdb:?table=people"
    assert TableSource(paths=("duckdb:a.parquet",)).public == "duckdb:"
    assert TableSource(paths=("a.parquet",)).public is None
    texts = {"duckdb:a/*.parquet": "a/*.parquet", DUCK: "people.duckdb"}
    texts |= dict.fromkeys(("postgresql://db/b?table=t", "a.parquet"))
    assert {text: named_files((text,)) for text in texts} == texts


def test_parameters_are_not_repeated_and_options_of_a_server_have_variables() -> None:
    for text in ("duckdb:s3://b/t.parquet?region=HIDDEN", "duckdb:t?mode=HIDDEN&table=a", "duckdb:t?table=a&x=HIDDEN"):
        with pytest.raises(UsageFault, match=r"takes \?table=NAME") as caught:
            engine_at((text,))
        assert "HIDDEN" not in str(caught.value)
    with pytest.raises(UsageFault, match="PGHOST"):
        engine_at(("postgresql://u@/b?host=/tmp&table=t",))


def test_what_no_table_is() -> None:
    for paths, words in (
        (("duckdb:a?table=",), "is empty"),
        ((DUCK, "t.csv"), "cannot be joined"),
        (("duckdb:people.duckdb",), "names no table"),
        (("duckdb:t.csv",), "a CSV is read without DuckDB"),
    ):
        with pytest.raises(UsageFault, match=words):
            TableSource(paths=paths)
