"""PostgreSQL as a source: the conformance kit, what is looked at before pay, and what is refused."""

import gc
import shlex
import time
from contextlib import suppress

import pytest
from click.testing import CliRunner
from support.guide_pages import ROOT, topic
from support.postgres_server import running

from dpqr.cli.main import main
from dpqr.domain.attribute import Attribute, Codes, Labels
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.known import ENGINES, engine_at
from dpqr.tables.engines.postgres import PostgresColumn, PostgresTable, _parsed
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table
from dpqr.testing import check_engine

SECRET = "Bob earns 7"
DOMAIN = Domain((Attribute(name="sex", axis=Labels(("f", "m"))), Attribute(name="k", axis=Codes(3))))
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


SCHEMA = (
    "CREATE VIEW viewed AS SELECT * FROM people",
    "CREATE VIEW invoked WITH (security_invoker = true) AS SELECT * FROM people",
    "CREATE MATERIALIZED VIEW stored AS SELECT * FROM people",
    "CREATE ROLE outsider LOGIN",
    "CREATE ROLE clerk LOGIN",
    "CREATE SCHEMA hidden; CREATE TABLE hidden.people2 (sex text, k integer); GRANT SELECT ON hidden.people2 TO clerk",
    "CREATE SCHEMA other; CREATE TABLE other.twice (sex text, k integer); CREATE TABLE twice (sex text, k integer)",
    "CREATE TABLE guarded AS SELECT * FROM people; ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; "
    "CREATE POLICY ones ON guarded USING (k = 1); GRANT SELECT ON guarded, people TO clerk",
    "CREATE TABLE parts (sex text, k integer) PARTITION BY LIST (k); CREATE TABLE part0 PARTITION OF parts FOR VALUES "
    "IN (0); CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1); INSERT INTO parts SELECT * FROM people",
    "CREATE TABLE shared (sex text, k integer) PARTITION BY LIST (k); CREATE TABLE shared0 PARTITION OF shared FOR "
    "VALUES IN (0); ALTER TABLE shared0 OWNER TO outsider",
    "CREATE TABLE parent (sex text, k integer); CREATE TABLE child () INHERITS (parent); "
    "INSERT INTO child SELECT * FROM people",
    "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing; "
    "CREATE FOREIGN TABLE foreign_people (sex text, k integer) SERVER nowhere",
    "CREATE TABLE with_foreign (sex text, k integer) PARTITION BY LIST (k); "
    "CREATE FOREIGN TABLE foreign_part PARTITION OF with_foreign FOR VALUES IN (0) SERVER nowhere",
    "CREATE TABLE computed (sex text, k integer GENERATED ALWAYS AS (1) STORED); "
    "INSERT INTO computed SELECT sex FROM people",
    "CREATE TABLE wages (sex text, k integer, wage integer)",
    "GRANT SELECT (sex, k) ON wages TO clerk",
)


def registered(address, user="owner", **told):
    """A source that the budget's owner has registered."""
    place = address.partition(":")[2].replace("owner@", f"{user}@")
    return PostgresTable(EngineAddress(scheme="postgresql", place=place, registered=True, **told))


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
        for statement in SCHEMA:
            server.execute(statement)
        yield server, f"postgresql://owner@{str(server.folder).replace('/', '%2F')}/postgres"


def written(kind):
    text = str(kind)
    return f"numeric({kind.precision}, {kind.scale})" if text.startswith("decimal") else TYPES[text]


def refused(engine):
    with pytest.raises(DataError) as caught:
        _ = engine.names
    assert str(caught.value) == ENGINES["postgresql"].before


@pytest.mark.parametrize(
    ("table", "user"),
    [
        ("people", "outsider"),
        ("nobody", "owner"),
        ("viewed", "owner"),
        ("invoked", "owner"),
        ("stored", "owner"),
        ("foreign_people", "owner"),
        ("with_foreign", "owner"),
        ("shared", "owner"),
        ("twice", "owner"),
        ("guarded", "clerk"),
        ("hidden.people2", "clerk"),
        ("pg_class", "owner"),
        ("pg_catalog.pg_stats", "owner"),
        ("information_schema.tables", "owner"),
        ("people' OR true --", "owner"),
        ("PEOPLE", "owner"),
        ("people", "nobody_at_all"),
        ("people", "owner/other"),
    ],
)
def test_one_sentence_for_all_that_is_refused_before_payment(place, table, user):
    """PostgreSQL itself checks grants when a statement is executed."""
    _, address = place
    refused(
        engine_at((f"{address.replace('owner@', f'{user}@') if '/' not in user else f'{address}x'}?table={table}",))
    )


def test_base_tables_partitions_children_and_stored_columns(place):
    _, address = place
    for table in ("people", "public.people", "parts", "parent", "computed", "other.twice"):
        assert engine_at((f"{address}?table={table}",)).names == ("sex", "k"), table


def test_columns_that_the_role_may_not_read_are_none(place):
    _, address = place
    engine = engine_at((f"{address.replace('owner@', 'clerk@')}?table=wages",))
    assert engine.names == ("sex", "k")


def test_a_query_without_a_grant_is_refused_before_anything_is_paid(place):
    server, address = place
    query = "SELECT sex, k, 1 AS k FROM public.wages"
    assert registered(address, "clerk", query=query).names == ("sex", "k", "k")
    for query in (
        "SELECT sex, wage AS k FROM public.wages",
        "SELECT sex, k, wage AS k FROM public.wages",
        "SELECT sex FROM public.wages WHERE wage > 3",
        "SELECT sex FROM (SELECT * FROM public.wages) AS w",
    ):
        refused(registered(address, "clerk", query=query))
    assert server.execute("SELECT count(*) FROM pg_class WHERE relname = 'dpqr_asked'") == [(0,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM nobody",
        "SELECT * FROM people",
        "SELECT nothing FROM public.people",
        "SELEC",
        "SELECT 1; SELECT 2",
        "DELETE FROM public.people",
    ],
)
def test_a_registered_query_is_one_select_and_names_schemas(place, query):
    refused(registered(place[1], query=query))


def test_nothing_of_an_address_reaches_the_parser_before_payment(place):
    """All that names the table or its columns is bound; so the catalogue alone is read."""
    server, address = place
    server.execute("ALTER SYSTEM SET log_statement = 'all'")
    server.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)
    before = len(server.log)
    for table in ("people", "viewed", "no'body"):
        with suppress(DataError):
            _ = engine_at((f"{address}?table={table}",)).names
    server.execute("ALTER SYSTEM RESET log_statement")
    server.execute("SELECT pg_reload_conf()")
    told = [line for line in server.log[before:].splitlines() if "people" in line or "viewed" in line or "body" in line]
    assert told
    assert all("parameters: $1 =" in line for line in told), told


def test_functions_and_operators_of_other_schemas_run_nowhere(place):
    """A role that may create in `public` plants what a name without its schema could find."""
    server, address = place
    server.execute("CREATE TABLE called (by text)")
    server.execute("CREATE TABLE days (sex text, k integer, day date, who text)")
    server.execute("INSERT INTO days VALUES ('f', 1, '2000-01-01', 'a')")
    body = "BEGIN INSERT INTO public.called VALUES ('{0}'); RAISE EXCEPTION 'called'; END"
    for name, parameters, returned in (
        ("format", "text, text", "text"),
        ("row_security_active", "oid", "boolean"),
        ("has_column_privilege", "oid, smallint, text", "boolean"),
        ("has_schema_privilege", "oid, text", "boolean"),
        ("earlier", "date, date", "boolean"),
    ):
        head = f"CREATE FUNCTION public.{name}({parameters}) RETURNS {returned} LANGUAGE plpgsql"
        server.execute(f"{head} AS $${body.format(name)}$$")
    server.execute("CREATE OPERATOR public.< (FUNCTION = public.earlier, LEFTARG = date, RIGHTARG = date)")
    server.execute("ALTER ROLE owner SET search_path = public, pg_catalog")
    server.execute("CREATE TYPE public.text AS ENUM ('x')")
    try:
        engine = engine_at((f"{address}?table=days",))
        with engine._opened() as connection:
            _ = engine.names
            assert connection.execute("SHOW search_path").fetchone() == ("pg_catalog, pg_temp",)
        found = engine.count(Counting(domain=DOMAIN, unit=PrivacyUnit(columns=("who",), rows=1)))
        assert found.units == 1
    finally:
        server.execute("ALTER ROLE owner RESET search_path")
        server.execute("DROP TYPE public.text; DROP OPERATOR public.< (date, date)")
        server.execute("DROP FUNCTION public.format, public.row_security_active, public.has_column_privilege")
        server.execute("DROP FUNCTION public.has_schema_privilege, public.earlier")


@pytest.mark.slow
def test_a_table_that_was_changed_after_payment_ends_the_run(place):
    server, address = place
    server.execute("CREATE TABLE moved AS SELECT * FROM people")
    engine = engine_at((f"{address}?table=moved",))
    _ = engine.names
    server.execute("DROP TABLE moved; CREATE VIEW moved AS SELECT * FROM people")
    source = TableSource(engine=engine)
    with pytest.raises(DataError) as caught:
        load_table(source, DOMAIN, Limits())
    assert str(caught.value) == ENGINES["postgresql"].after


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "taken"), [("LATIN1", True), ("WIN1252", False), ("SQL_ASCII", False)])
def test_texts_in_an_encoding_of_another_order_are_refused_before_payment(place, encoding, taken):
    """In WIN1252 the euro sign comes before the letters with accents, and one byte is no character at all: the run
    would end where two persons have such names, or one."""
    import psycopg

    server, address = place
    server.execute(f"CREATE DATABASE {encoding} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    address = f"{address.rpartition('/')[0]}/{encoding.lower()}"
    with psycopg.connect(address, client_encoding="utf8") as connection:
        connection.execute("CREATE TABLE people (sex text, k integer, who text)")
        for who in ("\x7f", "\xa5", "\xe9") if taken else ():
            connection.execute("INSERT INTO people VALUES ('f', 1, %s)", (who,))
    engine, unit = engine_at((f"{address}?table=people",)), PrivacyUnit(columns=("who",), rows=1)
    if taken:
        assert engine.count(Counting(domain=DOMAIN, unit=unit)).units == 3
        return
    with pytest.raises(DataError) as caught:
        check_table(TableSource(engine=engine), DOMAIN, Limits(), unit)
    assert str(caught.value) == ENGINES["postgresql"].before


def test_a_byte_order_mark_is_a_part_of_its_text_wherever_a_piece_begins():
    column = PostgresColumn(name="sex", of="text", listed=False)
    (batch,) = _parsed("\ufeffa\n\ufeffb\n".encode(), [column])
    assert batch.column(0).to_pylist() == ["\ufeffa", "\ufeffb"]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, 200_000])
def test_the_conformance_kit(place, rows):
    """The longer table comes in several pieces of text (PIECE)."""
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
    def counts(self, engine):
        from dpqr.kernel.sealed import SealKey

        source = TableSource(engine=engine)
        check_table(source, DOMAIN, Limits())
        return load_table(source, DOMAIN, Limits()).counts._unseal(SealKey()).marginal((0, 1)).tolist()

    def test_tables_views_and_queries(self, place):
        for engine in (
            engine_at((f"{place[1]}?table=people",)),
            engine_at((f"{place[1]}?table=parts",)),
            engine_at((f"{place[1]}?table=parent",)),
            registered(place[1], table="public.viewed"),
            registered(place[1], table="invoked"),
            registered(place[1], table="stored"),
            registered(place[1], query="SELECT * FROM public.people -- all;"),
            registered(place[1], query="WITH x AS (SELECT * FROM public.people) SELECT k, sex FROM x;"),
        ):
            assert self.counts(engine) == [[2, 0, 0], [2, 2, 0]], engine

    @pytest.mark.parametrize("query", ["SELECT sex FROM public.people", "SELECT sex, ARRAY[k] AS k FROM public.people"])
    def test_columns_that_are_missing_or_of_no_type_that_is_read(self, place, query):
        with pytest.raises(DataError, match="column 'k'"):
            check_table(TableSource(engine=registered(place[1], query=query)), DOMAIN, Limits())

    def test_nothing_is_executed_before_the_count_and_no_row_is_quoted(self, place):
        query = f"SELECT sex, (sex || '{SECRET}')::int AS k FROM public.people"
        source = TableSource(engine=registered(place[1], query=query))
        check_table(source, DOMAIN, Limits())
        with pytest.raises(DataError) as caught:
            load_table(source, DOMAIN, Limits())
        assert str(caught.value) == ENGINES["postgresql"].after
        assert SECRET not in repr(caught.value.__context__) + repr(caught.value.__cause__)

    def test_the_transaction_is_read_only(self, place):
        place[0].execute("CREATE SEQUENCE IF NOT EXISTS s")
        query = "SELECT sex, nextval('public.s')::int AS k FROM public.people"
        with pytest.raises(DataError) as caught:
            load_table(TableSource(engine=registered(place[1], query=query)), DOMAIN, Limits())
        assert str(caught.value) == ENGINES["postgresql"].after
        assert place[0].execute("SELECT is_called FROM s") == [(False,)]

    def test_a_policy_ends_a_registered_view_and_hides_no_row(self, place):
        place[0].execute("CREATE OR REPLACE VIEW over_guarded AS SELECT * FROM guarded")
        place[0].execute("ALTER VIEW over_guarded OWNER TO clerk; GRANT SELECT ON over_guarded TO outsider")
        source = TableSource(engine=registered(place[1], "outsider", table="over_guarded"))
        with pytest.raises(DataError) as caught:
            load_table(source, DOMAIN, Limits())
        assert str(caught.value) == ENGINES["postgresql"].after

    def test_a_limit_on_records_ends_the_run_at_once(self, place, capfd):
        """Amid the rows, of which the server has more to send than a socket holds."""
        place[0].execute("CREATE TABLE crowd AS SELECT 'f' AS sex, 1 AS k FROM generate_series(1, 1000000)")
        source = TableSource(paths=(f"{place[1]}?table=crowd",))
        begun = time.monotonic()
        with pytest.raises(DataError, match="more records than the declared limit"):
            load_table(source, DOMAIN, Limits(records=5))
        gc.collect()
        assert time.monotonic() - begun < 60
        assert capfd.readouterr() == ("", "")

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
