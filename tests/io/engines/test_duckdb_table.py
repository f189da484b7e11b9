"""DuckDB as a source: what is looked at before pay, what is refused, and what a release of it says."""

import json

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import dpqr
from dpqr.cli.main import main
from dpqr.data.attribute import Attribute, Codes, Labels
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import DataError, UsageFault
from dpqr.io.engines.known import local_files
from dpqr.io.tables.counting import Counting
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.points import require_public
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table, column_types
from dpqr.io.tables.text.csv_table import csv_batches
from dpqr.privacy.sealed import SealKey

SECRET = "Bob earns 7"
DOMAIN = Domain((Attribute(name="sex", axis=Labels(("f", "m"))), Attribute(name="k", axis=Codes(3))))
QUERIES = {
    "domain": {
        "fields": [
            {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
            {"name": "k", "type": "integer", "constraints": {"minimum": 0, "maximum": 2}},
        ]
    },
    "queries": [{"marginals": {"ways": 2}}],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("duck")
    with duckdb.connect(str(folder / "t.duckdb")) as made:
        made.execute("CREATE TABLE people AS SELECT if(i % 2 = 0, 'f', 'm') AS sex, i % 4 % 3 AS k FROM range(8) t(i)")
        made.execute("DELETE FROM people WHERE k = 2")
        made.execute('CREATE TABLE "odd "" name" AS SELECT * FROM people')
        made.execute("CREATE VIEW viewed AS SELECT * FROM people")
        made.execute(f"COPY people TO '{folder}/it''s.parquet'")
        made.execute(f"COPY people TO '{folder}/t.csv'")
    return folder


def loaded(source):
    check_table(source, DOMAIN, Limits())
    return load_table(source, DOMAIN, Limits())


def counts(address, **options):
    found = load_table(TableSource(paths=(address,)), DOMAIN, Limits(), **options)
    return found.counts._unseal(SealKey()).marginal((0, 1)).tolist()


def test_tables_views_queries_and_parquet_files(place) -> None:
    expected = counts(f"duckdb:{place}/t.duckdb?table=people")
    assert expected == [[2, 0, 0], [2, 2, 0]]
    for what in (
        "t.duckdb?table=viewed",
        "t.duckdb?table=main.people",
        't.duckdb?table=Odd " name',
        "t.duckdb?query=SELECT * FROM people -- all;",
        "t.duckdb?query=WITH x AS (SELECT * FROM people) SELECT k, sex FROM x;",
        "it's.parquet",
        "*.parquet",
    ):
        assert counts(f"duckdb:{place}/{what}") == expected, what
    assert counts(f"duckdb:?query=SELECT * FROM '{place}/*.parquet'") == expected
    assert counts(f"duckdb:{place}/t.duckdb?query=SELECT * FROM people WHERE k <> 2 % 4", asked=[(0, 1)]) == expected


def test_a_release_holds_the_query_and_not_the_place(place, tmp_path) -> None:
    query = "SELECT sex, k FROM people WHERE k < 2"
    found = dpqr.release(f"duckdb:{place}/t.duckdb?query={query}", queries=QUERIES, eps="200", out=tmp_path / "out")
    assert found.answers["estimate"].round().tolist() == [2, 0, 0, 2, 2, 0]
    record = (tmp_path / "out" / "release.json").read_text()
    assert json.loads(record)["plan"]["request"]["reading"]["table"] == f"duckdb:?query={query}"
    assert str(place) not in record


def test_columns_for_a_domain_file(place) -> None:
    assert column_types(TableSource(paths=(f"duckdb:{place}/t.duckdb?table=people",))) == (
        ("sex", "string"),
        ("k", "integer"),
    )


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("none.duckdb?table=people", DataError, "no such database file"),
        ("t.csv?table=people", DataError, "DuckDB refuses it with"),
        ("t.duckdb?table=nobody", DataError, "has no table or view 'nobody'"),
        ("t.duckdb?table=duckdb_tables", DataError, "has no table or view"),
        ("t.duckdb?table=information_schema.tables", DataError, "has no table or view"),
        ("t.duckdb?query=SELECT * FROM nobody", DataError, "DuckDB refuses it with CatalogException"),
        ("t.duckdb?query=SELECT nothing FROM people", DataError, "DuckDB refuses it with BinderException"),
        ("t.duckdb?query=SELEC", DataError, "DuckDB refuses it with ParserException"),
        ("t.duckdb?query=SELECT 1; SELECT 2", UsageFault, "one SELECT"),
        ("t.duckdb?query=COPY people TO 'leak.csv'", UsageFault, "one SELECT"),
        ("t.duckdb?query=DROP TABLE people", UsageFault, "one SELECT"),
        ("t.duckdb?query=SELECT sex FROM people", DataError, "has no column 'k'"),
        ("t.duckdb?query=SELECT sex, [k] AS k FROM people", DataError, "column 'k' has the type list"),
        ("t.duckdb?query=SELECT * FROM read_csv('{place}/t.csv')", DataError, "guesses from rows"),
        ("t.duckdb?query=SELECT * FROM '{place}/t.csv'", DataError, "guesses from rows"),
        ("t.duckdb?query=SELECT * FROM '{place}/t.csv' LIMIT 0", DataError, "guesses from rows"),
        (
            "t.duckdb?query=SELECT * FROM people WHERE EXISTS (FROM '{place}/t.csv') AND false",
            DataError,
            "guesses from",
        ),
        ("none.parquet", DataError, "check that the files are there and are Parquet"),
    ],
)
def test_what_is_refused_before_anything_is_executed(place, what, kind, words) -> None:
    source = TableSource(paths=(f"duckdb:{place}/{what.format(place=place)}",))
    with pytest.raises(kind, match=words):
        check_table(source, DOMAIN, Limits())


@pytest.mark.parametrize("record", ['x, "y"', '"x" ,y'])
def test_duckdb_cuts_other_records_out_of_a_csv(tmp_path, record) -> None:
    """Without an error, and with nothing to guess: why CSV is refused (guide: `scale`)."""
    (tmp_path / "t.csv").write_text(f"a,b\n{record}\n")
    found = duckdb.sql(
        f"FROM read_csv('{tmp_path}/t.csv', auto_detect = false, header = true, "
        "columns = {'a': 'VARCHAR', 'b': 'VARCHAR'}, delim = ',', quote = '\"', escape = '\"', "
        "strict_mode = true, force_not_null = ['a', 'b'])"
    ).fetchall()
    file = TableSource(paths=(f"{tmp_path}/t.csv",)).files()[0]
    batches = list(csv_batches(file, ("a", "b"), Limits(), lambda _: None))
    kept = [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]
    assert found == [("x", "y")] != kept


def test_nothing_is_executed_before_the_count(place) -> None:
    source = TableSource(
        paths=(f"duckdb:{place}/t.duckdb?query=SELECT error('{SECRET}') AS sex, k FROM people",),
    )
    check_table(source, DOMAIN, Limits())
    with pytest.raises(DataError) as caught:
        load_table(source, DOMAIN, Limits())
    assert "ended with InvalidInputException" in str(caught.value)
    assert SECRET not in str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)


def test_the_local_files_that_hold_all_that_is_read(place) -> None:
    """None where something else may be read: a killed release of it is not continued."""
    with duckdb.connect(str(place / "g.duckdb")) as made:
        made.execute("CREATE TABLE people (sex VARCHAR, k DOUBLE AS (random())); CREATE SCHEMA other")
        made.execute("CREATE TABLE other.seen AS SELECT 1 AS k; CREATE VIEW seen AS FROM range(3)")

    def files(what):
        return local_files(TableSource(paths=(f"duckdb:{what}",)).engine)

    assert files(f"{place}/t.duckdb?table=people") == (f"{place}/t.duckdb",)
    assert files(f"{place}/*.parquet") == files(f"{place}/it's.parquet") == (f"{place}/it's.parquet",)
    for what in ("t.duckdb?table=viewed", "t.duckdb?query=FROM people", "g.duckdb?table=people", "g.duckdb?table=seen"):
        assert files(f"{place}/{what}") is None, what
    assert files("s3://bucket/a.parquet") is None
    (place / "t.duckdb.wal").touch()
    assert files(f"{place}/t.duckdb?table=people") == (f"{place}/t.duckdb", f"{place}/t.duckdb.wal")
    (place / "t.duckdb.wal").unlink()


def test_variables_of_the_process_are_no_tables(place, monkeypatch) -> None:
    """DuckDB's Python client would take a data frame of the calling module for a table."""
    frame = pa.table({"sex": ["f"], "k": [0]})
    monkeypatch.setattr("dpqr.io.engines.duckdb_table.planted", frame, raising=False)
    with pytest.raises(DataError, match="DuckDB refuses it with CatalogException"):
        check_table(TableSource(paths=("duckdb:?query=SELECT * FROM planted",)), DOMAIN, Limits())


def test_the_database_is_read_only(place) -> None:
    """What looks like a SELECT and writes ends in DuckDB's refusal."""
    with duckdb.connect(str(place / "s.duckdb")) as made:
        made.execute("CREATE SEQUENCE s; CREATE TABLE people AS SELECT 'f' AS sex, 0 AS k")
    source = TableSource(paths=(f"duckdb:{place}/s.duckdb?query=SELECT sex, nextval('s') AS k FROM people",))
    with pytest.raises(DataError, match=r"DuckDB refuses it|the engine ended"):
        loaded(source)


def test_points_are_no_files_that_the_engine_reads_and_no_engines_table(place) -> None:
    private = TableSource(paths=(f"duckdb:{place}/*.parquet",))
    with pytest.raises(UsageFault, match="is a file of the private table"):
        require_public(TableSource(paths=(f"{place}/it's.parquet",)), private)
    with pytest.raises(UsageFault, match="--points takes files"):
        require_public(private, TableSource(paths=(f"{place}/t.csv",)))
    require_public(TableSource(paths=(f"{place}/t.csv",)), private)


def test_without_duckdb_one_line_says_what_to_install(place, monkeypatch) -> None:
    monkeypatch.setattr("dpqr.io.engines.duckdb_table.find_spec", lambda _: None)
    with pytest.raises(UsageFault, match=r"pip install 'dpqr\[duckdb\]'"):
        TableSource(paths=(f"duckdb:{place}/t.duckdb?table=people",))


@pytest.mark.parametrize(
    ("who", "kind"),
    [
        ("i % 300", "BIGINT"),
        ("i % 300", "UBIGINT"),
        ("i % 300", "VARCHAR"),
        ("chr(65 + (i % 60)::INT) || i // 60 % 5", "VARCHAR COLLATE NOCASE"),
    ],
)
def test_persons_come_in_order_whatever_their_type_and_collation(place, who, kind) -> None:
    """K rows of each person are kept; sorted without regard to case, rows of "a" and "A" would be mixed."""
    with duckdb.connect(str(place / "p.duckdb")) as made:
        made.execute(f"CREATE OR REPLACE TABLE p (sex VARCHAR, k INT, who {kind})")
        made.execute(f"INSERT INTO p SELECT 'f', 0, {who} FROM range(3000) t(i)")
    engine = TableSource(paths=(f"duckdb:{place}/p.duckdb?table=p",)).engine
    found = engine.count(Counting(domain=DOMAIN, unit=PrivacyUnit(column="who", rows=4)))
    assert (found.units, found.dropped, int(found.counts.marginal(()))) == (300, 300 * 4, 300 * 4)


def test_a_learner_of_the_rows_order_is_refused(place, tmp_path) -> None:
    """A query may order rows by what they hold, so one row more would move others; persons' places are drawn."""
    query = f"duckdb:{place}/t.duckdb?query=SELECT sex, k, k AS who FROM people ORDER BY k"
    fields = [field | {"dpqr": {"otherwise": "drop"}} for field in QUERIES["domain"]["fields"]]
    (tmp_path / "domain.json").write_text(json.dumps({"malformed": "drop", "fields": fields}))
    words = f"--target k --learner online --release function --eps 1 --neighbours replace --n 5 --domain {tmp_path}"
    for unit in ((), ("--unit", "who", "--max-rows", "2")):
        done = CliRunner().invoke(
            main, ["predict", query, *f"{words}/domain.json".split(), *unit, "--out", f"{tmp_path}/model.json"]
        )
        assert done.exit_code == 2, done.output
        assert "have no fixed places" in done.stderr
    with pytest.raises(UsageFault, match="have no fixed places"):
        load_table(TableSource(paths=(f"duckdb:{place}/*.parquet",)), DOMAIN, Limits(), declared=5, slots=True)
