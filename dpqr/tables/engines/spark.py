"""Spark: a table, a Parquet lake, or a DataFrame of the caller, counted where its partitions lie.

Each partition is coded and counted by the core's own encoders and counters (mapInArrow); what leaves an executor are
counts of cells. They are added up in a tree: partitions' counts are brought together a few at a time, then in one task,
and the driver gets one sum. Where the unit is a person, all rows of a person are brought to one partition first, and
sorted there, so that a task holds those of one person at a time.

**Privacy** Counts must hold every row once, whatever Spark tries again. Of the attempts at one task, speculative ones
too, Spark takes one result and drops the others; a shuffle may ask for a task's output a second time, and must get the
same again. It does: counts are a function of the partition's rows and of the key that chooses a person's rows, which
was drawn before, whatever order the rows come in. Learners draw their parts in the task, so their counts are not
shuffled: the driver gets those of each partition. A partition that fails ends in a constant text: nothing of its rows
comes into Spark's logs. Spark's options to skip what it cannot read are off, whatever the session's settings are: a
cell that cannot be read would take the rest of its file with it, thousands of rows of other persons.

An address is a name or a place of Parquet files, by a grammar that is checked before Java starts. It never reaches
Spark's SQL: `session.sql` runs statements at once, and `json.` before a path has Spark guess columns from rows. Without
the budget's owner a name must be one of the catalogue's tables, whose rows lie in files that state their types. Of
Parquet the schema is that of a footer, and of folders' names (`day=1/`) columns of texts.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any, cast

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.tables.cell_values import is_text
from dpqr.tables.counting import Counting, TableCounts
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.engine import add_counts, encode_counts
from dpqr.tables.engines.known import ENGINES
from dpqr.tables.limits import discreetly

_SCHEMA = "place int, counts binary"
_FILES = re.compile(r".*(/|\.parquet$|\.pq$)", re.DOTALL)
_PART = r"\w[\w-]*"
_NAME = re.compile(rf"{_PART}(\.{_PART}){{0,2}}")
"""CATALOG.SCHEMA.TABLE, whose first parts may be left out; Spark gets each part in quotes of ours."""
SOURCE = "source"
"""What a registered query calls the Parquet files of its address."""
_STORED = ("MANAGED", "EXTERNAL")
_TYPED = ("Parquet", "Orc", "Avro")
"""Formats whose files state the types of their columns."""
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
_LONG_DIGITS, _MOST_DIGITS = 18, 38
"""Digits of decimals that Spark reads without looking at them, and of the longest ones."""
_SKIPPING = ("ignorecorruptfiles", "ignoremissingfiles")
"""Options of what reads files, under which a row that cannot be read takes the rest of its file with it."""
_EACH_ROW_ALONE = {
    "spark.sql.files.ignoreCorruptFiles": ("true", "false"),
    "spark.sql.files.ignoreMissingFiles": ("true", "false"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("EXCEPTION", "CORRECTED"),
    "spark.sql.parquet.int96RebaseModeInRead": ("EXCEPTION", "CORRECTED"),
    "spark.sql.avro.datetimeRebaseModeInRead": ("EXCEPTION", "CORRECTED"),
}
"""Settings whose first value lets one row decide over others, or over the run's end; what stands there instead."""


@dataclass(slots=True)
class SparkTable:
    """spark:TABLE, spark:FILES.parquet or spark:FOLDER/; or a DataFrame of the caller's session."""

    address: EngineAddress | None = None
    frame: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if find_spec("pyspark") is None:
            raise UsageFault("spark: is not installed; pip install 'dpqr[spark]'")
        if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
            raise UsageFault("spark: needs Java 17 or later; install it, or set JAVA_HOME")
        if self.address is not None and not _is_plain(self.address):
            raise UsageFault(
                "spark: takes the name of a table (TABLE, SCHEMA.TABLE or CATALOG.SCHEMA.TABLE), FILES.parquet or "
                "FOLDER/, and nothing else\nname a table of the catalogue, or a place of Parquet files"
            )
        if self.frame is not None:
            discreetly(lambda: _require_whole(self.frame), lambda _: ENGINES["spark"].before)

    @property
    def name(self) -> str:
        return "the Spark DataFrame" if self.address is None else f"spark:{self.address.place}"

    @property
    def public(self) -> str | None:
        return None if self.address is None else self.address.public

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._frame.columns)

    def kind(self, name: str) -> Any:
        from pyspark.sql.pandas.types import to_arrow_type

        return to_arrow_type(self._frame.schema[name].dataType, timezone="UTC")

    def count(self, counting: Counting) -> TableCounts:
        from pyarrow.types import is_decimal

        with quietly(), _with_settings(self._frame.sparkSession, _EACH_ROW_ALONE):
            columns = {name: self._frame[_quoted(name)] for name in counting.columns}
            for name in columns:
                # Arrow would end the run at a decimal of more digits than its type has: there is room for more.
                kind = self.kind(name)
                if is_decimal(kind) and kind.precision <= _LONG_DIGITS:
                    columns[name] = columns[name].try_cast(f"decimal({_MOST_DIGITS},{kind.scale})").alias(name)
            chosen = self._frame.select(*columns.values())
            if counting.unit.columns:
                first = counting.unit.columns[0]
                person = chosen[_quoted(first)]
                text = is_text(self.kind(first))  # sorted by its bytes, whatever collation the column has
                chosen = chosen.repartition(person).sortWithinPartitions(person.cast("binary") if text else person)
            counting = replace(counting, workers=1)
            parts = chosen.mapInArrow(partial(_counted, counting), _SCHEMA)
            if counting.last is None:
                some = parts.repartition("place").mapInArrow(partial(_added, counting), _SCHEMA)
                parts = some.repartition(1).mapInArrow(partial(_added, counting), _SCHEMA)
            return add_counts(parts.toArrow()["counts"].to_pylist(), counting)

    @property
    def _frame(self) -> Any:
        if self.frame is None:
            self.frame = discreetly(self._opened, lambda _: ENGINES["spark"].before)
        return self.frame

    def _opened(self) -> Any:
        """The table as Spark's analyser knows it; no row is read."""
        address = self.address
        assert address is not None
        with quietly():
            session = spark_session()
            if address.query is not None:
                # What the budget's owner registered: one query, by Spark's own grammar, which has no statement in it.
                text = address.query.strip().rstrip(";")
                session._jsparkSession.sessionState().sqlParser().parseQuery(text)
                if address.place:
                    _parquet(session, address.place).createOrReplaceTempView(SOURCE)
                return _require_whole(session.sql(text))
            if address.table is None and _FILES.fullmatch(address.place):
                return _parquet(session, address.place)
            name = ".".join(map(_quoted, (address.table or address.place).split(".")))
            if not address.registered:
                # ValueError for what is no table of the catalogue, or whose rows no file holds with their types.
                kind = session.catalog.getTable(name).tableType
                if kind not in _STORED:
                    raise ValueError(f"a {kind} is a program")
                leaves = session.table(name)._jdf.queryExecution().analyzed().collectLeaves()
                if leaves.size() != 1 or not _is_stored(leaves.head()):
                    raise ValueError("its rows do not lie in files that state their types")
            return _require_whole(session.table(name))


def _is_plain(address: EngineAddress) -> bool:
    """Whether an address is a name or a place, by its text alone."""
    files = _FILES.fullmatch(address.place) is not None
    if address.query is not None:
        return files or not address.place
    if address.table is not None:
        return not address.place and _NAME.fullmatch(address.table) is not None
    return files or _NAME.fullmatch(address.place) is not None


def _parquet(session: Any, place: str) -> Any:
    """The schema is that of one footer; no folder's name decides a type."""
    with _with_settings(session, {_INFERENCE: ("true", "false")}):
        return session.read.parquet(place, mergeSchema=False)


@contextmanager
def _with_settings(session: Any, changes: Mapping[str, tuple[str, str]]) -> Iterator[None]:
    """A session whose settings that have the first value have the second one; they are as before afterwards."""
    found = {name: session.conf.get(name) for name in changes}
    changed = [name for name, value in found.items() if value.lower() == changes[name][0].lower()]
    for name in changed:
        session.conf.set(name, changes[name][1])
    try:
        yield
    finally:
        for name in changed:
            session.conf.set(name, found[name])


def _require_whole(frame: Any) -> Any:
    """The frame. ValueError where options of what reads its files let a row that cannot be read take others with it.

    **Privacy** One person's cell could then remove thousands of rows, where noise covers K. Spark Connect shows no
    options: there they are the caller's choice.
    """
    if hasattr(frame, "_jdf"):
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        for leaf in map(leaves.apply, range(leaves.size())):
            kind = leaf.getClass().getSimpleName()
            reads = leaf.relation() if kind == "LogicalRelation" else leaf
            files = kind == "DataSourceV2Relation" or reads.getClass().getSimpleName() == "HadoopFsRelation"
            if files and any("true" in str(reads.options().get(name)).lower() for name in _SKIPPING):
                raise ValueError("rows could be left out because of others")
    return frame


def _is_stored(leaf: Any) -> bool:
    """Whether a leaf of a plan reads files that state their types: one of Spark's own formats, Hive's, or a catalogue's
    own, such as Iceberg's."""
    kind = leaf.getClass().getSimpleName()
    if kind != "LogicalRelation":
        return kind in ("HiveTableRelation", "DataSourceV2Relation")
    relation = leaf.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    return any(each in relation.fileFormat().getClass().getSimpleName() for each in _TYPED)


def is_spark_frame(table: object) -> bool:
    """Whether the caller's table is a DataFrame of Spark; pyspark is not imported for that."""
    return type(table).__module__.startswith("pyspark.sql") and type(table).__name__ == "DataFrame"


def _counted(counting: Counting, batches: Iterable[Any]) -> Iterator[Any]:
    """What one task does: the counts of its partition."""
    yield _row(lambda: counting.counted(lambda: batches, in_order=True))


def _added(counting: Counting, batches: Iterable[Any]) -> Iterator[Any]:
    """The sum of several partitions' counts, of which one at a time is held."""
    yield _row(lambda: add_counts((value.as_py() for batch in batches for value in batch.column("counts")), counting))


def _row(count: Callable[[], TableCounts]) -> Any:
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    place = 0 if context is None else context.partitionId()
    return pa.record_batch(
        {"place": pa.array([place], pa.int32()), "counts": pa.array([encode_counts(count)], pa.binary())}
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# Spark's session: the caller's as it is, or one of our own that nobody else on the machine can look into.
#
# **Privacy** While a release of persons runs, Spark writes their rows to shuffle files, shows row counts on its
# page and quotes cells in its errors. So a session of our own has a scratch folder that only this user can enter,
# with encrypted files, which is removed when the process ends, or else by Java when the process was killed. It has
# no page, no event log and no log; Java's output goes nowhere. On one machine it listens on the loopback only, and
# its parts authenticate to each other over encrypted connections. On a cluster addresses and secrets are an
# agreement with other machines, which Spark's own configuration makes. A session of the caller is used as it is:
# what it shows and logs is the caller's choice.

BATCH = 2**17
"""Rows of a record batch, where the session is ours."""
_QUOTING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of PySpark that write an error's text to standard error, with the cells that it quotes."""
_PATIENCE = 20.0
_CLOSED = {
    "spark.app.name": "dpqr",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.driver.log.persistToDfs.enabled": "false",
    "spark.io.encryption.enabled": "true",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
}
_ON_ONE_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}
_creation = Lock()


def spark_session() -> Any:
    """The caller's session; else one of our own, which lasts as long as the process."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _creation, _unwarned():
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        if SparkContext._active_spark_context is not None:  # made in another thread
            return SparkSession.builder.getOrCreate()
        folder = Path(mkdtemp(prefix="dpqr-spark-"))  # 0700
        gateway = None
        try:
            (folder / "tmp").mkdir()
            gateway = _gateway(folder)
            SparkContext._ensure_initialized(gateway=gateway)
            java = gateway.jvm
            java.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(java.java.io.File(str(folder)))
            configured = SparkConf(_jvm=java)
            for name, value in _settings(folder, dict(configured.getAll())).items():
                configured.set(name, value)
            session = SparkSession(SparkContext(conf=configured, gateway=gateway))
        except BaseException:
            _end(gateway, folder)
            raise
        atexit.register(_ended, os.getpid(), session, gateway, folder)
        return session


@contextmanager
def quietly() -> Iterator[None]:
    """Without PySpark's loggers that quote cells, whoever's the session is; they are as before afterwards."""
    with _unwarned():
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(name) for name in _QUOTING]
        before = [logger.disabled for logger in loggers]
        for logger in loggers:
            logger.disabled = True
        try:
            yield
        finally:
            for logger, disabled in zip(loggers, before, strict=True):
                logger.disabled = disabled


@contextmanager
def _unwarned() -> Iterator[None]:
    """Nothing on standard error of PySpark's opinions on other packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _settings(folder: Path, configured: Mapping[str, str]) -> dict[str, str]:
    """Ours, which hold against the configuration. One machine's are left out where that names a cluster."""
    ours = {**_CLOSED, "spark.local.dir": str(folder)}
    if configured.get("spark.master", "local").startswith("local"):
        ours |= _ON_ONE_MACHINE
    if "spark.sql.warehouse.dir" not in configured:
        ours["spark.sql.warehouse.dir"] = str(folder / "warehouse")
    return ours


def _gateway(folder: Path) -> Any:
    """Java, whose output goes nowhere, and whose temporary files lie in the folder."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    unseen = "-XX:-UsePerfData"  # no file of counters in /tmp
    options = f"{unseen} -Djava.io.tmpdir={folder / 'tmp'} -Dderby.stream.error.file={folder / 'derby.log'}"
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    wanted: dict[str, str | None] = {"SPARK_LAUNCHER_OPTS": unseen, "SPARK_LOCAL_DIRS": None}
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set_environment(wanted)
        conf = SparkConf(loadDefaults=False).set("spark.driver.defaultJavaOptions", options)
        return cast("Any", launch_gateway)(conf, nowhere)
    finally:
        _set_environment(before)


def _set_environment(values: Mapping[str, str | None]) -> None:
    """Variables of this process; None: not set."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _ended(process: int, session: Any, gateway: Any, folder: Path) -> None:
    """Stop the session when its own process ends, and no other that was forked from it."""
    if os.getpid() != process:
        return
    with suppress(Exception), _unwarned():
        session.stop()
    _end(gateway, folder)


def _end(gateway: Any, folder: Path) -> None:
    """End Java, and remove the folder, whatever either says."""
    from pyspark import SparkContext

    process = None if gateway is None else gateway.proc
    with suppress(Exception):
        if gateway is not None:
            gateway.shutdown()
    if process is not None:
        with suppress(OSError):
            process.stdin.close()  # Java ends when nobody holds it
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if SparkContext._gateway is gateway:
        SparkContext._gateway = SparkContext._jvm = None
    shutil.rmtree(folder, ignore_errors=True)
