"""PostgreSQL as a source: the conformance kit, what is looked at before pay, and what is refused."""

import json
import shlex

import pytest
from click.testing import CliRunner
from support.guide_pages import ROOT, topic
from support.postgres_server import running

import dpqr
from dpqr.cli.main import main
from dpqr.data.attribute import Attribute, Codes, Labels
from dpqr.data.domain import Domain
from dpqr.errors import DataError, UsageFault
from dpqr.io.engines.known import engine_at
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table
from dpqr.testing import check_engine

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
TYPES = {
    "int16": "smallint",
    "int8": "smallint",
    "string": "text",
    "bool": "boolean",
    "int64": "bigint",
    "int32": "integer",
    "double": "double precision",
    "float": "real",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
    "timestamp[us, tz=UTC]": "timestamptz",
}


def test_a_password_is_refused_before_anything_is_opened():
    pytest.importorskip("psycopg")
    for address in ("postgresql://u:xyzzy@db/b", "postgres://u:xyzzy@db/b", "PostgreSQL://u:xy/zzy@db/b"):
        with pytest.raises(UsageFault, match="the address holds a password") as met:
            engine_at((f"{address}?table=t",))
        assert "zzy" not in str(met.value)
    with pytest.raises(UsageFault, match="names no table"):
        engine_at(("postgresql://db/b",))


@pytest.fixture(scope="module")
def place():
    with running() as server:
        server.execute(
            "CREATE TABLE people AS SELECT CASE i % 2 WHEN 0 THEN 'f' ELSE 'm' END AS sex, i % 4 % 3 AS k "
            "FROM generate_series(0, 7) AS i WHERE i % 4 % 3 < 2"
        )
        server.execute("CREATE VIEW viewed AS SELECT * FROM people")
        yield server, f"postgresql://owner@{str(server.folder).replace('/', '%2F')}/postgres"


def written(kind):
    text = str(kind)
    return f"numeric({kind.precision}, {kind.scale})" if text.startswith("decimal") else TYPES[text]


def test_a_role_without_a_grant_is_refused_before_anything_is_paid(place):
    """PostgreSQL itself checks grants when a statement is executed."""
    server, address = place
    server.execute("CREATE ROLE outsider LOGIN")
    engine = engine_at((f"{address.replace('owner@', 'outsider@')}?table=people",))
    with pytest.raises(DataError, match="this role may not read 'people'"):
        _ = engine.names


def test_a_query_without_a_grant_is_refused_before_anything_is_paid(place):
    server, address = place
    server.execute("CREATE TABLE wages (sex text, k integer, wage integer)")
    server.execute("CREATE ROLE clerk LOGIN")
    server.execute("GRANT SELECT (sex, k) ON wages TO clerk")

    def names(query):
        return engine_at((f"{address.replace('owner@', 'clerk@')}?query={query}",)).names

    assert names("SELECT sex, k, 1 AS k FROM wages") == ("sex", "k", "k")
    for query in (
        "SELECT sex, wage AS k FROM wages",
        "SELECT sex, k, wage AS k FROM wages",
        "SELECT sex FROM wages WHERE wage > 3",
        "SELECT sex FROM (SELECT * FROM wages) AS w",
    ):
        with pytest.raises(DataError, match="may not read all that the query names: wages; the owner grants SELECT"):
            names(query)
    assert server.execute("SELECT count(*) FROM pg_class WHERE relname = 'dpqr_asked'") == [(0,)]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, 10**6])
def test_the_conformance_kit(place, rows):
    import psycopg

    _, address = place

    def made(table):
        name = f"kit_{table.num_rows}"
        columns = ", ".join(f'"{field.name}" {written(field.type)}' for field in table.schema)
        with psycopg.connect(address) as connection:
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for batch in table.to_batches(max_chunksize=10**5):
                    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        copy.write_row(row)
        return engine_at((f"{address}?table={name}",))

    check_engine(made, rows=rows)


@pytest.mark.slow
def test_the_command_of_the_guide(place, tmp_path, monkeypatch):
    """With this server's socket in the place of the example's name."""
    import psycopg
    from pyarrow import parquet

    _, address = place
    table = parquet.read_table(ROOT / "sample_data" / "survey.parquet")
    with psycopg.connect(address) as connection:
        columns = ", ".join(f'"{name}" {TYPES[kind]}' for name, kind in kinds(table))
        connection.execute(f"CREATE TABLE survey ({columns})")
        with connection.cursor().copy("COPY survey FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.setenv("PGUSER", "owner")
    (block,) = topic("scale").all_of("postgres")
    line = block.replace("\\\n", " ").replace("postgresql://reader@db.example.org/surveys", address)
    done = CliRunner().invoke(main, shlex.split(line)[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "from_postgres" / "release.json").exists()


def kinds(table):
    """Names and Arrow types of the columns; of dictionaries, those of their values."""
    return [(field.name, str(getattr(field.type, "value_type", field.type))) for field in table.schema]


@pytest.mark.slow
class TestSource:
    def counts(self, address):
        from dpqr.privacy.sealed import SealKey

        source = TableSource(paths=(address,))
        check_table(source, DOMAIN, Limits())
        return load_table(source, DOMAIN, Limits()).counts._unseal(SealKey()).marginal((0, 1)).tolist()

    def test_tables_views_and_queries(self, place):
        for what in (
            "table=people",
            "table=public.viewed",
            "query=SELECT * FROM people -- all;",
            "query=WITH x AS (SELECT * FROM people) SELECT k, sex FROM x;",
        ):
            assert self.counts(f"{place[1]}?{what}") == [[2, 0, 0], [2, 2, 0]], what

    def test_a_release_holds_the_query_and_not_the_place(self, place, tmp_path):
        query = "SELECT sex, k FROM people WHERE k < 2"
        found = dpqr.release(f"{place[1]}?query={query}", queries=QUERIES, eps="200", out=tmp_path / "out")
        assert found.answers["estimate"].round().tolist() == [2, 0, 0, 2, 2, 0]
        record = (tmp_path / "out" / "release.json").read_text()
        assert json.loads(record)["plan"]["request"]["reading"]["table"] == f"postgresql:?query={query}"
        assert "%2F" not in record

    @pytest.mark.parametrize(
        "what",
        [
            "table=nobody",
            "table=pg_class",
            "table=pg_catalog.pg_stats",
            "table=information_schema.tables",
            "query=SELECT * FROM nobody",
            "query=SELECT nothing FROM people",
            "query=SELEC",
            "query=SELECT 1; SELECT 2",
            "query=DELETE FROM people",
            "query=SELECT sex FROM people",
            "query=SELECT sex, ARRAY[k] AS k FROM people",
        ],
    )
    def test_what_is_refused_before_anything_is_executed(self, place, what):
        with pytest.raises(DataError):
            check_table(TableSource(paths=(f"{place[1]}?{what}",)), DOMAIN, Limits())
        assert self.counts(f"{place[1]}?table=people") == [[2, 0, 0], [2, 2, 0]]

    def test_nothing_is_executed_before_the_count_and_no_row_is_quoted(self, place):
        source = TableSource(paths=(f"{place[1]}?query=SELECT sex, (sex || '{SECRET}')::int AS k FROM people",))
        check_table(source, DOMAIN, Limits())
        with pytest.raises(DataError) as caught:
            load_table(source, DOMAIN, Limits())
        assert SECRET not in str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)

    def test_the_transaction_is_read_only(self, place):
        place[0].execute("CREATE SEQUENCE IF NOT EXISTS s")
        source = TableSource(paths=(f"{place[1]}?query=SELECT sex, nextval('s')::int AS k FROM people",))
        with pytest.raises(DataError, match="ended with ReadOnlySqlTransaction"):
            load_table(source, DOMAIN, Limits())

    def test_days_beyond_the_calendar_end_no_job(self, place):
        place[0].execute("DROP TABLE IF EXISTS days")
        place[0].execute("CREATE TABLE days (sex text, k integer, d date, t timestamp, z timestamptz)")
        for text in ("infinity", "-infinity", "2000-01-01 BC", None):
            place[0].execute("INSERT INTO days VALUES ('f', 1, %s, %s, %s)", text, text, text)
        engine = engine_at((f"{place[1]}?table=days",))
        with engine._opened() as connection:
            (batch,) = engine._batches(connection, list(engine._schema), None)
        found = batch.to_pydict()
        assert [str(day) for day in found["d"]] == ["9999-12-31", "0001-01-01", "0001-01-01", "None"]
        assert [str(moment)[:19] for moment in found["z"]] == [
            "9999-12-31 23:59:59",
            "0001-01-01 00:00:00",
            "0001-01-01 00:00:00",
            "None",
        ]
