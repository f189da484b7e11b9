"""Spark as a source, in a local session and on a cluster of two workers: the conformance kit, what is looked at before
pay, and what is refused."""

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.cases import in_one_test
from support.guide_pages import ROOT, topic
from support.postgres_server import missing
from support.spark_cluster import WORKERS, cluster

import dpqr
from dpqr.cli.main import main
from dpqr.domain.attribute import Attribute, Bins, Codes, Labels
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting
from dpqr.tables.engines import spark as spark_table
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.known import ENGINES, engine_at
from dpqr.tables.engines.spark import SparkTable, is_spark_frame
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table
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


def test_a_missing_part_is_one_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr("dpqr.tables.engines.spark.find_spec", lambda _: None)
    with pytest.raises(UsageFault, match=r"pip install 'dpqr\[spark\]'"):
        engine_at(("spark:people",))
    monkeypatch.setattr("dpqr.tables.engines.spark.find_spec", lambda _: True)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageFault, match="needs Java 17"):
        engine_at(("spark:people",))


def test_other_tables_are_no_frames_of_spark():
    assert not any(map(is_spark_frame, ([], {}, QUERIES, "spark:x")))


LOCAL, RETRYING, STANDALONE = "local[2]", "local[2,3]", "a master and two workers"
"""Two threads; the same, a task being tried three times; two executors."""
SPECULATIVE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
}
"""A task that takes longer than most others is run a second time, at once."""
NAMED = (
    "spark.driver.host",
    "spark.driver.bindAddress",
    "spark.driver.memory",
    "spark.executor.memory",
    "spark.executor.cores",
    "spark.cores.max",
)


@pytest.fixture(scope="module", params=[LOCAL])
def session(request, tmp_path_factory):
    """In local mode, where a test does not choose."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        missing("there is no Spark here: pip install 'dpqr[spark]', apt-get install default-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": str(WORKERS),
        "spark.sql.session.timeZone": "America/St_Johns",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    }
    with ExitStack() as stack:
        master = request.param
        if master == STANDALONE:
            master = stack.enter_context(cluster(tmp_path_factory.mktemp("cluster")))
            settings |= SPECULATIVE
        made = SparkSession.builder.master(master).config(map=settings).getOrCreate()
        yield made
        made.stop()


@pytest.fixture(scope="module")
def place(session, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    rows = [("f" if i % 2 == 0 else "m", i % 4 % 3) for i in range(8) if i % 4 % 3 < 2]
    frame = session.createDataFrame(rows, "sex string, k int")
    frame.repartition(3).write.parquet(f"file:{folder}/lake")
    frame.write.saveAsTable("people")
    frame.write.partitionBy("sex").parquet(f"file:{folder}/by_sex")
    session.sql("CREATE TABLE lines (sex string, k int) USING csv")
    session.sql("CREATE VIEW viewed AS SELECT * FROM people")
    frame.createOrReplaceTempView("passing")
    frame.createOrReplaceGlobalTempView("everywhere")
    frame.write.json(f"file:{folder}/rows")
    yield folder
    for table in ("viewed", "people", "lines"):
        session.sql(f"DROP {'VIEW' if table == 'viewed' else 'TABLE'} IF EXISTS {table}")


def registered(place="", **told):
    """A source that the budget's owner has registered."""
    return TableSource(engine=SparkTable(EngineAddress(scheme="spark", place=place, registered=True, **told)))


@in_one_test(
    "what",
    [
        "",
        "json.`/etc/passwd`",
        "csv.`a.csv`",
        "delta.`/data/lake`",
        "`people`",
        "people; DROP TABLE people",
        "people -- ",
        "range(3)",
        "SELECT * FROM people",
        "a.b.c.d",
        "a..b",
        "people ",
        "people/*",
        "people VERSION AS OF 1",
        "people@v1",
        "/data/table.csv",
        "/data/table.json",
        "json.`x`.parquet\0",
        "/data/lake/?table=people",
        "x?table=people",
        "?table=json.`/etc/passwd`",
        "?table=",
    ],
)
def test_what_is_no_name_and_no_place_is_refused_before_java_starts(what, monkeypatch):
    monkeypatch.setattr("dpqr.tables.engines.spark.find_spec", lambda _: True)
    monkeypatch.setattr("dpqr.tables.engines.spark.spark_session", lambda: pytest.fail("Java starts"))
    monkeypatch.setenv("JAVA_HOME", "/java")
    with pytest.raises(UsageFault):
        engine_at((f"spark:{what}",))


one_worker = pytest.mark.xdist_group
"""Tests of one session run in one process of xdist, so that each session is made once (`--dist loadgroup`)."""
on_a_cluster = pytest.mark.parametrize(
    "session", [pytest.param(STANDALONE, marks=one_worker("cluster"))], indirect=True
)


UNITS = (PrivacyUnit(), PrivacyUnit(columns=("who",), rows=2))


def counts_stay(frame):
    """That the frame of `rows_of` counts as the same rows in the core: all rows, then two of each person."""
    for unit in UNITS:
        count_stays(frame, unit)


def count_stays(frame, unit):
    rows = np.arange(1000)
    table = pa.table({"k": rows % 3, "who": rows % 100})
    asked = Counting(domain=Domain(DOMAIN.attributes[1:]), unit=unit)
    counted, expected = (SparkTable(frame=frame).count(asked), asked.counted(table.select([*asked.columns]).to_batches))
    assert (counted.counts.marginal((0,)) == expected.counts.marginal((0,))).all()
    assert (counted.read, counted.units, counted.dropped) == (expected.read, expected.units, expected.dropped)


def rows_of(session, attempt):
    """attempt: what each task does with its rows before they are counted."""
    columns = session.range(1000, numPartitions=4).selectExpr("id % 3 AS k", "id % 100 AS who")
    return columns.mapInArrow(attempt, "k long, who long")


@pytest.mark.slow
@pytest.mark.parametrize("session", [pytest.param(RETRYING, marks=one_worker("local"))], indirect=True)
@pytest.mark.filterwarnings("ignore")
def test_a_task_that_fails_and_is_tried_again_counts_once(session, tmp_path):
    def fails_once(batches):
        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        (tmp_path / f"{task.stageId()}-{task.partitionId()}-{task.attemptNumber()}").touch()
        if task.attemptNumber() == 0:
            raise ValueError(SECRET)

    counts_stay(rows_of(session, fails_once))
    tried = [path.name.rpartition("-")[2] for path in tmp_path.iterdir()]
    assert tried.count("1") == tried.count("0") >= 8


@pytest.mark.slow
@on_a_cluster
@pytest.mark.filterwarnings("ignore")
def test_a_task_whose_worker_dies_counts_once(session):
    def dies_once(batches):
        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().attemptNumber() == 0:
            os._exit(1)

    counts_stay(rows_of(session, dies_once))
    assert len(session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) == 1 + WORKERS


@pytest.mark.slow
@on_a_cluster
@pytest.mark.filterwarnings("ignore")
def test_a_task_that_runs_twice_at_the_same_time_counts_once(session, tmp_path):
    """Speculative execution: the first attempt at one task waits until the second one has begun."""

    def waits_for_another(batches):
        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        begun = tmp_path / f"{task.stageId()}-{task.partitionId()}-{task.attemptNumber()}"
        begun.touch()
        end = time.monotonic() + 60
        while task.partitionId() == 0 and len(list(tmp_path.glob(f"{task.stageId()}-0-*"))) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)

    counts_stay(rows_of(session, waits_for_another))
    assert {path.name.partition("-")[2] for path in tmp_path.iterdir()} >= {"0-0", "0-1"}


@pytest.mark.slow
@on_a_cluster
@pytest.mark.filterwarnings("ignore")
def test_a_stage_whose_output_is_lost_is_counted_once_again(session, tmp_path, monkeypatch):
    """An executor is killed while partitions' counts are added up: its own are lost with it, and so are the rows of
    persons that it had shuffled. Spark repeats those tasks, as first attempts in a second run of their stage."""
    added = spark_table._added

    def written(batches):
        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        (tmp_path / f"{task.partitionId()}-{task.attemptNumber()}-{task.taskAttemptId()}").touch()

    def killing(asked, batches):
        with suppress(FileExistsError):
            (tmp_path / "killed").touch(exist_ok=False)
            parent = Path(f"/proc/{os.getppid()}/stat").read_text()  # of all of an executor's Python workers
            os.kill(int(parent.rpartition(")")[2].split()[1]), signal.SIGKILL)
        yield from added(asked, batches)

    monkeypatch.setattr(spark_table, "_added", killing)
    for unit in UNITS:
        count_stays(rows_of(session, written), unit)
        assert (tmp_path / "killed").exists()
        begun = [path.name.partition("-")[0] for path in tmp_path.glob("*-0-*")]
        assert max(map(begun.count, begun)) > 1
        for path in tmp_path.iterdir():
            path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "session",
    [pytest.param(STANDALONE, marks=one_worker("cluster")), pytest.param(LOCAL, marks=one_worker("local"))],
    indirect=True,
)
@pytest.mark.parametrize("rows", [200_000])
@pytest.mark.filterwarnings("ignore")
def test_the_conformance_kit(session, rows, tmp_path):
    """Three partitions of some batches each."""
    from pyarrow import parquet

    def made(table):
        path = tmp_path / f"{table.num_rows}.parquet"
        parquet.write_table(table, path, row_group_size=max(1, table.num_rows // 4))
        return SparkTable(frame=session.read.parquet(f"file:{path}").repartition(3))

    check_engine(made, rows=rows)


@pytest.mark.slow
@on_a_cluster
def test_the_cluster_that_a_configuration_names(session, tmp_path):
    """The guide's command in a process of its own, which knows the cluster by `SPARK_CONF_DIR` alone."""
    settings = {name: session.conf.get(name) for name in NAMED} | {"spark.master": session.sparkContext.master}
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    place = {"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    (block,) = topic("scale").all_of("spark")
    words = [word.replace("spark:SURVEY", "spark:sample_data/survey.parquet") for word in shlex.split(block)[1:]]
    command = [sys.executable, "-m", "dpqr", *words[:-1], str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "release.json").exists()
    (log,) = tmp_path.parent.glob("cluster[0-9]*/master.log")
    assert "Registered app dpqr" in log.read_text()


@pytest.mark.slow
@one_worker("local")
@pytest.mark.filterwarnings("ignore")
def test_the_command_of_the_guide(session, tmp_path, monkeypatch):
    session.read.parquet(f"file:{ROOT}/sample_data/survey.parquet").write.mode("overwrite").saveAsTable("survey")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    (block,) = topic("scale").all_of("spark")
    done = CliRunner().invoke(main, shlex.split(block)[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "from_spark" / "release.json").exists()


@pytest.mark.slow
@one_worker("local")
@pytest.mark.filterwarnings("ignore")
class TestSource:
    def counts(self, source):
        from dpqr.kernel.sealed import SealKey

        check_table(source, DOMAIN, Limits())
        return load_table(source, DOMAIN, Limits()).counts._unseal(SealKey()).marginal((0, 1)).tolist()

    def test_tables_lakes_queries_and_frames(self, session, place):
        for source in (
            TableSource(paths=("spark:people",)),
            TableSource(paths=("spark:default.people",)),
            TableSource(paths=("spark:?table=spark_catalog.default.people",)),
            TableSource(paths=(f"spark:file:{place}/lake/",)),
            TableSource(paths=(f"spark:file:{place}/lake/*.parquet",)),
            registered("viewed"),
            registered("passing"),
            registered(table="global_temp.everywhere"),
            registered("people"),
            registered(query="SELECT k, sex FROM people WHERE k < 2"),
            registered(f"file:{place}/lake/", query="SELECT k, sex FROM source;"),
        ):
            assert self.counts(source) == [[2, 0, 0], [2, 2, 0]], source
        frame = session.table("people")
        assert is_spark_frame(frame)
        assert self.counts(TableSource(engine=SparkTable(frame=frame))) == [[2, 0, 0], [2, 2, 0]]

    def test_names_of_folders_are_texts(self, session, place):
        engine = TableSource(paths=(f"spark:file:{place}/by_sex/",)).engine
        assert engine.names == ("k", "sex")
        assert str(engine.kind("sex")) == "string"
        session.range(4).selectExpr("id", "id AS k").write.partitionBy("k").parquet(f"file:{place}/by_k")
        assert str(TableSource(paths=(f"spark:file:{place}/by_k/",)).engine.kind("k")) == "string"
        assert session.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled") == "true"

    def test_a_release_of_a_frame(self, session, place, tmp_path):
        found = dpqr.release(session.table("people"), queries=QUERIES, eps="200", out=tmp_path / "out")
        assert found.answers["estimate"].round().tolist() == [2, 0, 0, 2, 2, 0]

    @pytest.mark.parametrize(
        "what",
        [
            "nobody",
            "/nowhere/*.parquet",
            "viewed",
            "passing",
            "global_temp.everywhere",
            "lines",
            "json.rows",
            "parquet.lake",
            "csv.lines",
            "default.nobody",
            "nowhere.default.people",
            "file:{place}/rows/",
        ],
    )
    def test_one_sentence_for_all_that_is_refused_before_payment(self, session, place, what, monkeypatch):
        monkeypatch.chdir(place)
        with pytest.raises(DataError) as caught:
            check_table(TableSource(paths=(f"spark:{what.format(place=place)}",)), DOMAIN, Limits())
        assert str(caught.value) == ENGINES["spark"].before

    @pytest.mark.parametrize(
        "query",
        [
            "SELEC",
            "SELECT nothing FROM people",
            "SELECT 1; SELECT 2",
            "CREATE TABLE stolen AS SELECT * FROM people",
            "INSERT OVERWRITE DIRECTORY '{place}/stolen' USING csv SELECT * FROM people",
            "BEGIN IF (SELECT count(*) FROM people) > 0 THEN SELECT 'f' AS sex, 1 AS k; END IF; END",
            "FROM people INSERT INTO people SELECT *",
            "SET spark.sql.ansi.enabled = false",
            "DROP TABLE people",
            "EXECUTE IMMEDIATE 'DROP TABLE people'",
            "CALL something()",
        ],
    )
    def test_a_registered_query_is_one_query(self, session, place, query):
        with pytest.raises(DataError) as caught:
            check_table(registered(query=query.format(place=place)), DOMAIN, Limits())
        assert str(caught.value) == ENGINES["spark"].before
        assert not (place / "stolen").exists()
        assert not session.catalog.tableExists("stolen")
        assert session.catalog.tableExists("people")

    def test_no_row_is_quoted(self, session, place, capfd):
        for query in (
            f"SELECT sex, raise_error('{SECRET}') AS k FROM people",
            f"SELECT sex, cast(concat(sex, '{SECRET}') AS int) AS k FROM people",
        ):
            with pytest.raises(DataError) as caught:
                load_table(registered(query=query), DOMAIN, Limits())
            assert str(caught.value) == ENGINES["spark"].after
            assert SECRET not in repr(caught.value.__context__) + repr(caught.value.__cause__)
        assert SECRET not in "".join(capfd.readouterr())

    def test_the_limit_on_records_says_the_same_in_a_part_and_in_the_sum(self, session, place):
        for most in (1, 5):
            with pytest.raises(DataError, match="more records than the declared limit"):
                load_table(TableSource(paths=("spark:people",)), DOMAIN, Limits(records=most))

    def test_a_cell_that_cannot_be_read_takes_no_other_row_with_it(self, session, tmp_path):
        """Spark cannot read a time of 2^63 - 1 milliseconds. Where it skips damaged files, 4,999 rows were lost too."""
        from pyarrow import parquet

        name = "spark.sql.files.ignoreCorruptFiles"
        times = pa.array([2**63 - 1] + [0] * 4999).view(pa.timestamp("ms"))
        parquet.write_table(pa.table({"k": [0] * 5000, "t": times}), tmp_path / "t.parquet")
        domain = Domain((Attribute(name="t", axis=Bins((Fraction(0), Fraction(9)), integral=True, kind="date")),))
        frame = session.read.parquet(f"file:{tmp_path}/t.parquet")
        session.conf.set(name, "true")
        try:
            assert frame.select("t").toArrow().num_rows == 0
            for source in (
                TableSource(paths=(f"spark:file:{tmp_path}/t.parquet",)),
                TableSource(engine=SparkTable(frame=frame)),
            ):
                with pytest.raises(DataError) as caught:
                    load_table(source, domain, Limits())
                assert str(caught.value) == ENGINES["spark"].after
            assert session.conf.get(name) == "true"
        finally:
            session.conf.unset(name)

    @pytest.mark.parametrize("option", ["ignoreCorruptFiles", "ignoreMissingFiles"])
    @pytest.mark.parametrize("readers", ["parquet", ""])
    def test_what_may_leave_rows_out_because_of_others_is_refused_before_payment(self, session, place, option, readers):
        name = "spark.sql.sources.useV1SourceList"
        session.conf.set(name, readers)
        try:
            frame = session.read.option(option, "true").parquet(f"file:{place}/lake")
            frame.createOrReplaceTempView("skipping")
            with pytest.raises(DataError) as caught:
                SparkTable(frame=frame.select("k"))
            assert str(caught.value) == ENGINES["spark"].before
            with pytest.raises(DataError, match="none that may be read"):
                check_table(registered("skipping"), DOMAIN, Limits())
            assert SparkTable(frame=session.read.option(option, "false").parquet(f"file:{place}/lake")).names
        finally:
            session.conf.unset(name)

    def test_decimals_and_days_that_spark_ends_at_are_cells(self, session, tmp_path):
        """Decimals of more digits than their type has, and days before 1582 where Spark asks which calendar they are
        of."""
        from pyarrow import parquet

        name = "spark.sql.parquet.datetimeRebaseModeInRead"
        raw = b"".join(each.to_bytes(16, "little") for each in (5, 2 * 10**9))
        table = {
            "small": pa.Array.from_buffers(pa.decimal128(9, 0), 2, [None, pa.py_buffer(raw)]),
            "wide": pa.Array.from_buffers(
                pa.decimal128(18, 0), 2, [None, pa.py_buffer(raw[:16] + b"\xff" * 7 + bytes(9))]
            ),
            "day": pa.array([5, -200_000], pa.int32()).view(pa.date32()),
        }
        bins = (Fraction(0), Fraction(9))
        axes = {"day": Bins(bins, integral=True, kind="date")}
        session.conf.set(name, "EXCEPTION")
        try:
            for column, cells in table.items():
                parquet.write_table(pa.table({column: cells}), tmp_path / f"{column}.parquet")
                domain = Domain((Attribute(name=column, axis=axes.get(column, Bins(bins))),))
                source = TableSource(paths=(f"spark:file:{tmp_path}/{column}.parquet",))
                from dpqr.kernel.sealed import SealKey

                check_table(source, domain, Limits())
                found = load_table(source, domain, Limits()).counts._unseal(SealKey()).marginal((0,))
                assert found.tolist() == [1], column
            assert session.conf.get(name) == "EXCEPTION"
        finally:
            session.conf.unset(name)
