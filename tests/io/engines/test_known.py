import pytest

from dpqr.errors import UsageFault
from dpqr.io.engines.address import Address
from dpqr.io.engines.known import address_in, engine_at, named_files
from dpqr.io.tables.source import TableSource

DUCK = "duckdb:people.duckdb?table=people"


@pytest.mark.parametrize(
    ("text", "place", "table", "query"),
    [
        (DUCK, "people.duckdb", "people", None),
        ("duckdb:a.duckdb?table=main.people", "a.duckdb", "main.people", None),
        ("duckdb:?query=select a % 10 as a\nfrom 'x?.parquet'", "", None, "select a % 10 as a\nfrom 'x?.parquet'"),
        ("duckdb:data/*.parquet", "data/*.parquet", None, None),
    ],
)
def test_the_parts_of_an_address(text, place, table, query) -> None:
    assert address_in(text) == Address(scheme="duckdb", place=place, table=table, query=query)


@pytest.mark.parametrize("path", ["t.csv", "C:/t.csv", "s3://t.parquet", "-", "other:t?table=a", "data/duckdb:x"])
def test_other_names_are_files(path) -> None:
    assert address_in(path) is None
    assert engine_at((path,)) is None


def test_what_the_plan_says_has_no_place() -> None:
    assert TableSource(paths=(DUCK,)).public == "duckdb:?table=people"
    assert TableSource(paths=("duckdb:a?query=select 1 as x",)).public == "duckdb:?query=select 1 as x"
    assert TableSource(paths=("duckdb:a.parquet",)).public == "duckdb:"
    assert TableSource(paths=("a.parquet",)).public is None


def test_parameters_are_not_repeated() -> None:
    for text in ("duckdb:s3://b/t.parquet?s3_secret_access_key=HIDDEN", "duckdb:t?token=HIDDEN&table=a"):
        with pytest.raises(UsageFault, match=r"takes \?table=NAME") as caught:
            engine_at((text,))
        assert "HIDDEN" not in str(caught.value)


def test_options_of_a_server_have_variables() -> None:
    with pytest.raises(UsageFault, match="PGHOST"):
        engine_at(("postgresql://u@/b?host=/tmp&table=t",))


def test_files_that_an_engine_reads_by_name() -> None:
    assert named_files(("duckdb:a/*.parquet",)) == "a/*.parquet"
    assert named_files((DUCK,)) is None
    assert named_files(("a.parquet",)) is None


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("duckdb:a?table=",), "is empty"),
        (("duckdb:a?query= ",), "is empty"),
        ((DUCK, "t.csv"), "cannot be joined"),
        (("duckdb:people.duckdb",), "names no table"),
        (("duckdb:t.csv",), "a CSV is read without DuckDB"),
    ],
)
def test_what_no_table_is(paths, words) -> None:
    with pytest.raises(UsageFault, match=words):
        TableSource(paths=paths)
