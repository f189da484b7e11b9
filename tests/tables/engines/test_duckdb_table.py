"""DuckDB as a source: what is looked at before pay, what is refused, and what a release of it says."""

import json
import os
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.cases import in_one_test, slow_but, thinned

from dpqr.cli.main import main
from dpqr.domain.attribute import Attribute, Bins, Codes, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting
from dpqr.tables.csv_table import csv_batches
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.duckdb import DuckTable
from dpqr.tables.engines.known import ENGINES, local_files
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.points import require_public
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table, column_types

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
        made.execute("CREATE TABLE persons AS SELECT *, k AS who FROM people")
        made.execute('CREATE TABLE "odd "" name" AS SELECT * FROM people')
        made.execute("CREATE VIEW viewed AS SELECT * FROM people")
        made.execute(f"COPY people TO '{folder}/it''s.parquet'")
        made.execute(f"COPY people TO '{folder}/t.csv'")
        made.execute("CREATE TABLE computed (sex VARCHAR, one INT, k INT AS (one + 1))")
        made.execute("CREATE TABLE listed (sex VARCHAR, k INT[])")
        made.execute("CREATE MACRO made() AS TABLE SELECT * FROM people")
        made.execute('CREATE TABLE "twice.a" (k INT); CREATE SCHEMA twice; CREATE TABLE twice.a (k INT)')
        made.execute(f"CREATE VIEW of_csv AS FROM read_csv('{folder}/t.csv')")
        made.execute(f"CREATE VIEW of_parquet AS FROM '{folder}/it''s.parquet'")
        made.execute(f"CREATE VIEW of_csv_in_part AS FROM people WHERE EXISTS (FROM '{folder}/t.csv') AND false")
    (folder / "t.csv.parquet").write_bytes((folder / "t.csv").read_bytes())
    (folder / "other.parquet").write_bytes((folder / "it's.parquet").read_bytes())
    (folder / "folder.parquet").mkdir()
    os.mkfifo(folder / "fifo.parquet")
    for each in "ab":
        (folder / f"linked{each}.parquet").symlink_to(folder / "it's.parquet")
    return folder


def loaded(source):
    check_table(source, DOMAIN, Limits())
    return load_table(source, DOMAIN, Limits())


def registered(place, **told):
    """A source that the budget's owner has registered."""
    return TableSource(engine=DuckTable(EngineAddress(scheme="duckdb", place=str(place), registered=True, **told)))


def counts(source, **options):
    source = TableSource(paths=(source,)) if isinstance(source, str) else source
    found = load_table(source, DOMAIN, Limits(), **options)
    return found.counts._unseal(SealKey()).marginal((0, 1)).tolist()


def test_base_tables_and_parquet_files(place) -> None:
    types = column_types(TableSource(paths=(f"duckdb:{place}/t.duckdb?table=people",)))
    assert types == (("sex", "string"), ("k", "integer"))
    expected = counts(f"duckdb:{place}/t.duckdb?table=people")
    assert expected == [[2, 0, 0], [2, 2, 0]]
    for what in ("t.duckdb?table=main.people", "t.duckdb?table=PEOPLE", 't.duckdb?table=Odd " name', "it's.parquet"):
        assert counts(f"duckdb:{place}/{what}") == expected, what
    assert counts(f"duckdb:{place}/it*.parquet") == expected
    assert counts(f"duckdb:{place}/t.duckdb?table=people", column_sets=[(0, 1)]) == expected


def test_texts_that_mean_null_do_so_in_every_kind_of_table(tmp_path) -> None:
    """One table of texts, by five doors: the same counts."""
    from pyarrow import ipc, parquet

    table = pa.table({"sex": ["f", "", "NA", None, "x", " NA", "f", ""]})
    rules = {"null": Rule.CELL, "outside": Rule.CELL}
    declared = Domain((Attribute(name="sex", axis=Labels(("f",)), rules=rules, missing=("", "NA")),))
    parquet.write_table(table, tmp_path / "t.parquet")
    with ipc.new_file(tmp_path / "t.feather", table.schema) as file:
        file.write_table(table)
    (tmp_path / "t.csv").write_text('sex\nf\n""\nNA\n""\nx\n NA\nf\n""\n')
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute(f"CREATE TABLE people AS FROM '{tmp_path}/t.parquet'")
    doors = ["t.csv", "t.parquet", "t.feather", "t.duckdb?table=people", "t.parquet"]
    paths = [f"{'duckdb:' if place > 2 else ''}{tmp_path}/{door}" for place, door in enumerate(doors)]
    for path in paths:
        found = load_table(TableSource(paths=(path,)), declared, Limits()).counts._unseal(SealKey()).marginal((0,))
        assert found.tolist() == [2, 4, 2], path


@in_one_test("unit", [PrivacyUnit(), PrivacyUnit(columns=("who",), rows=1), PrivacyUnit(columns=("who", "k"), rows=2)])
def test_a_text_that_is_no_utf_8_is_malformed_as_in_the_core(tmp_path, unit) -> None:
    """DuckDB ends there. Of two kinds of cells that both readers know, each is read alike."""
    from pyarrow import parquet

    texts = pa.array([b"f", b"f\xff", b"m", b"m", b"\xc3", b"f?"]).view(pa.string())
    rows = {"sex": texts, "k": [0, 1, 2, 2, 1, 0], "who": texts}
    parquet.write_table(pa.table(rows), tmp_path / "t.parquet")
    parquet.write_table(pa.table(rows | {"sex": texts.cast(pa.binary()).view(pa.string())}), tmp_path / "u.parquet")
    for files in ("t.parquet", "*.parquet"):
        source = TableSource(paths=(f"duckdb:{tmp_path}/{files}",))
        found = load_table(source, DOMAIN, Limits(), unit=unit)
        expected = load_table(TableSource(paths=(f"{tmp_path}/{files}",)), DOMAIN, Limits(), unit=unit)
        for counted in ("counts", "dropped"):
            one, other = (getattr(each, counted)._unseal(SealKey()).marginal(()) for each in (found, expected))
            assert one == other > 0, (files, counted)
    moments = pa.array([0, 1], pa.int64()).view(pa.timestamp("ns"))
    bad = pa.table({"sex": texts[:2], "k": [0, 1], "t": moments})
    parquet.write_table(bad, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    bins = Bins((Fraction(0), Fraction(9)), integral=True, kind="date")
    domain = Domain((*DOMAIN.attributes, Attribute(name="t", axis=bins)))
    with pytest.raises(DataError) as caught:
        load_table(TableSource(paths=(f"duckdb:{tmp_path}/old.parquet",)), domain, Limits())
    assert str(caught.value) == ENGINES["duckdb"].after


def test_a_text_that_is_no_utf_8_ends_no_registered_query_unless_it_names_a_person(tmp_path) -> None:
    """Of its row the cell alone is another one; two names of persons could become one, which noise does not cover."""
    from pyarrow import parquet

    texts = pa.array([b"f", b"f\xff", b"m", b"m", b"\xc3"]).view(pa.string())
    parquet.write_table(pa.table({"sex": texts, "k": [0, 1, 2, 2, 1], "who": texts}), tmp_path / "t.parquet")
    for query in ("SELECT sex, k FROM source", "SELECT sex, k FROM source WHERE upper(sex) <> '' ORDER BY sex"):
        assert counts(registered(f"{tmp_path}/t.parquet", query=query)) == [[1, 0, 0], [0, 0, 2]]
    asked = registered(f"{tmp_path}/t.parquet", query="SELECT * FROM source")
    with pytest.raises(DataError) as caught:
        load_table(asked, DOMAIN, Limits(), unit=PrivacyUnit(columns=("who",), rows=1))
    assert str(caught.value) == ENGINES["duckdb"].after


@pytest.mark.slow
def test_views_and_queries_of_the_owner(place) -> None:
    """A query of Parquet files calls them `source`."""
    file = place / "t.duckdb"
    for source in (
        registered(file, table="viewed"),
        registered(file, query="SELECT * FROM people -- all;"),
        registered(file, query="WITH x AS (SELECT * FROM people) SELECT k, sex FROM x;"),
        registered(file, query="SELECT * FROM people WHERE k <> 2 % 4"),
        registered(f"{place}/it*.parquet", query="SELECT k, sex FROM source WHERE k < 2"),
    ):
        assert counts(source) == [[2, 0, 0], [2, 2, 0]], source


@pytest.mark.parametrize(
    "what",
    thinned(
        [
            "none.duckdb?table=people",
            "t.csv?table=people",
            "it's.parquet?table=people",
            "t.duckdb?table=nobody",
            "t.duckdb?table=viewed",
            "t.duckdb?table=computed",
            "t.duckdb?table=made",
            "t.duckdb?table=range(3)",
            "t.duckdb?table=duckdb_tables",
            "t.duckdb?table=information_schema.tables",
            "t.duckdb?table=twice.a",
            "t.duckdb?table=people' OR true --",
            "t.duckdb?table=read_csv('{place}/t.csv')",
            "t.duckdb?table={place}/t.csv",
            "t.duckdb?table={place}/it's.parquet",
            "none.parquet",
            "t.csv.parquet",
            "folder.parquet",
            "fifo.parquet",
            "linked*.parquet",
        ],
        4,
    ),
)
def test_one_sentence_for_all_that_is_refused_before_payment(place, what) -> None:
    source = TableSource(paths=(f"duckdb:{place}/{what.format(place=place)}",))
    with pytest.raises(DataError) as caught:
        check_table(source, DOMAIN, Limits())
    assert str(caught.value) == ENGINES["duckdb"].before


@pytest.mark.parametrize(
    "query",
    thinned(
        [
            "SELECT * FROM nobody",
            "SELECT nothing FROM people",
            "SELEC",
            "SELECT 1; SELECT 2",
            "COPY people TO 'leak.csv'",
            "DROP TABLE people",
            "SELECT * FROM read_csv('{place}/t.csv')",
            "SELECT * FROM '{place}/t.csv' LIMIT 0",
            "SELECT * FROM read_text('{place}/t.csv')",
            "SELECT * FROM glob('{place}/*')",
            "SELECT * FROM '{place}/other.parquet'",
            "ATTACH '{place}/other.duckdb'",
            "INSTALL httpfs",
            "SET enable_external_access = true",
        ],
        2,
    ),
)
@pytest.mark.parametrize("file", ["t.duckdb", "it's.parquet"])
def test_a_registered_query_reads_its_own_source_and_nothing_else(place, query, file) -> None:
    with pytest.raises(DataError) as caught:
        check_table(registered(place / file, query=query.format(place=place)), DOMAIN, Limits())
    assert str(caught.value) == ENGINES["duckdb"].before
    assert not (place / "leak.csv").exists()


def test_a_registered_view_reads_no_other_file(place) -> None:
    for table in ("of_csv", "of_parquet", "of_csv_in_part"):
        with pytest.raises(DataError) as caught:
            check_table(registered(place / "t.duckdb", table=table), DOMAIN, Limits())
        assert str(caught.value) == ENGINES["duckdb"].before


def test_a_file_is_its_own_table_and_columns_come_from_the_catalogue(place) -> None:
    """Also of a link, and of a file whose name is one of DuckDB's own or another program's."""
    (place / "system").symlink_to(place / "t.duckdb")
    assert counts(f"duckdb:{place}/system?table=people") == [[2, 0, 0], [2, 2, 0]]
    with pytest.raises(DataError, match="column 'k' has the type"):
        check_table(TableSource(paths=(f"duckdb:{place}/t.duckdb?table=listed",)), DOMAIN, Limits())


def test_settings_are_closed_and_locked(place) -> None:
    for file in ("t.duckdb", "it's.parquet"):
        engine = registered(place / file, query="SELECT 1").engine
        with engine._opened() as connection:
            for statement in (
                "SET enable_external_access = true",
                "SET threads = 1",
                "LOAD httpfs",
                "INSTALL httpfs",
                f"ATTACH '{place}/g.duckdb'",
                f"COPY (SELECT 1) TO '{place}/leak.csv'",
                f"FROM read_csv('{place}/t.csv')",
                "CREATE TABLE t AS SELECT 1",
            ):
                if statement.startswith("CREATE") and "parquet" in file:
                    continue  # in memory
                with pytest.raises(duckdb.Error):
                    connection.execute(statement)


def test_names_of_folders_are_no_columns(place) -> None:
    """DuckDB would guess their types, from names that are cells of rows."""
    folder = place / "lake" / "k=2000-01-01"
    folder.mkdir(parents=True)
    (folder / "t.parquet").write_bytes((place / "it's.parquet").read_bytes())
    engine = TableSource(paths=(f"duckdb:{place}/lake/*/*.parquet",)).engine
    assert engine.names == ("sex", "k")
    assert str(engine.kind("k")) == "int64"


@in_one_test("record", ['x, "y"', '"x" ,y'])
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
    source = registered(place / "t.duckdb", query=f"SELECT error('{SECRET}') AS sex, k FROM people")
    check_table(source, DOMAIN, Limits())
    with pytest.raises(DataError) as caught:
        load_table(source, DOMAIN, Limits())
    assert SECRET not in str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)


@pytest.mark.slow
def test_the_local_files_that_hold_all_that_is_read(place) -> None:
    """None where something else may be read: a killed release of it is not continued."""
    with duckdb.connect(str(place / "g.duckdb")) as made:
        made.execute("CREATE TABLE people (sex VARCHAR, k DOUBLE AS (random())); CREATE SCHEMA other")
        made.execute("CREATE TABLE other.seen AS SELECT 1 AS k; CREATE VIEW seen AS FROM range(3)")

    def files(what):
        return local_files(TableSource(paths=(f"duckdb:{what}",)).engine)

    assert files(f"{place}/t.duckdb?table=people") == (f"{place}/t.duckdb",)
    assert files(f"{place}/it's.parquet") == (f"{place}/it's.parquet",)
    for source in (
        registered(place / "t.duckdb", table="viewed"),
        registered(place / "t.duckdb", query="FROM people"),
        registered(place / "g.duckdb", table="people"),
        registered(place / "g.duckdb", table="seen"),
    ):
        assert local_files(source.engine) is None, source
    assert local_files(registered(place / "t.duckdb", table="people").engine) == (f"{place}/t.duckdb",)
    (place / "t.duckdb.wal").touch()
    assert files(f"{place}/t.duckdb?table=people") == (f"{place}/t.duckdb", f"{place}/t.duckdb.wal")
    (place / "t.duckdb.wal").unlink()


def test_variables_of_the_process_are_no_tables(place, monkeypatch) -> None:
    """DuckDB's Python client would take a data frame of the calling module for a table."""
    frame = pa.table({"sex": ["f"], "k": [0]})
    monkeypatch.setattr("dpqr.tables.engines.duckdb.planted", frame, raising=False)
    with pytest.raises(DataError, match="DuckDB cannot open the table"):
        check_table(registered(place / "t.duckdb", query="SELECT * FROM planted"), DOMAIN, Limits())


def test_the_database_is_read_only(place) -> None:
    """What looks like a SELECT and writes ends in DuckDB's refusal."""
    with duckdb.connect(str(place / "s.duckdb")) as made:
        made.execute("CREATE SEQUENCE s; CREATE TABLE people AS SELECT 'f' AS sex, 0 AS k")
    with pytest.raises(DataError):
        loaded(registered(place / "s.duckdb", query="SELECT sex, nextval('s') AS k FROM people"))


def test_points_are_no_files_that_the_engine_reads_and_no_engines_table(place) -> None:
    private = TableSource(paths=(f"duckdb:{place}/it*.parquet",))
    with pytest.raises(UsageFault, match="is a file of the private table"):
        require_public(TableSource(paths=(f"{place}/it's.parquet",)), private)
    with pytest.raises(UsageFault, match="--points takes files"):
        require_public(private, TableSource(paths=(f"{place}/t.csv",)))
    require_public(TableSource(paths=(f"{place}/t.csv",)), private)


def test_remote_files_are_refused_and_without_duckdb_one_line_says_what_to_install(place, monkeypatch) -> None:
    with pytest.raises(UsageFault, match="reads no remote file"):
        TableSource(paths=("duckdb:s3://bucket/a.parquet",))
    monkeypatch.setattr("dpqr.tables.engines.duckdb.find_spec", lambda _: None)
    with pytest.raises(UsageFault, match=r"pip install 'dpqr\[duckdb\]'"):
        TableSource(paths=(f"duckdb:{place}/t.duckdb?table=people",))


@pytest.mark.parametrize(
    ("who", "kind"),
    slow_but(
        {0},
        [
            ("i % 300", "BIGINT"),
            ("i % 300", "UBIGINT"),
            ("i % 300", "DOUBLE"),
            ("i % 300", "VARCHAR"),
            ("chr(65 + (i % 60)::INT) || i // 60 % 5", "VARCHAR COLLATE NOCASE"),
        ],
    ),
)
def test_persons_come_in_order_whatever_their_type_and_collation(place, who, kind) -> None:
    """K rows of each person are kept; sorted without regard to case, rows of "a" and "A" would be mixed."""
    with duckdb.connect(str(place / "p.duckdb")) as made:
        made.execute(f"CREATE OR REPLACE TABLE p (sex VARCHAR, k INT, who {kind})")
        made.execute(f"INSERT INTO p SELECT 'f', 0, {who} FROM range(3000) t(i)")
    engine = TableSource(paths=(f"duckdb:{place}/p.duckdb?table=p",)).engine
    found = engine.count(Counting(domain=DOMAIN, unit=PrivacyUnit(columns=("who",), rows=4)))
    assert (found.units, found.dropped, int(found.counts.marginal(()))) == (300, 300 * 4, 300 * 4)


@pytest.mark.slow
def test_a_learner_of_the_rows_order_is_refused(place, tmp_path) -> None:
    """An engine may hand out rows in any order, so one row more would move others; persons' places are drawn."""
    table = f"duckdb:{place}/t.duckdb?table=persons"
    fields = [field | {"dpqr": {"otherwise": "drop"}} for field in QUERIES["domain"]["fields"]]
    (tmp_path / "domain.json").write_text(json.dumps({"malformed": "drop", "fields": fields}))
    words = f"--target k --learner online --release function --eps 1 --neighbours replace --n 5 --domain {tmp_path}"
    for unit in ((), ("--unit", "who", "--max-rows", "2")):
        done = CliRunner().invoke(
            main, ["predict", table, *f"{words}/domain.json".split(), *unit, "--out", f"{tmp_path}/model.json"]
        )
        assert done.exit_code == 2, done.output
        assert "have no fixed places" in done.stderr
    with pytest.raises(UsageFault, match="have no fixed places"):
        load_table(TableSource(paths=(f"duckdb:{place}/it's.parquet",)), DOMAIN, Limits(), declared=5, slots=True)
