"""Spark: a table, a Parquet lake, a query, or a DataFrame, counted where its partitions lie.

Each partition is coded and counted by the core's own encoders and counters (mapInArrow); what leaves an executor are
counts of cells. They are added up in a tree: partitions' counts are brought together a few at a time, then in one task,
and the driver gets one sum. Where the unit is a person, all rows of a person are brought to one partition first, and
sorted there, so that a task holds those of one person at a time.

**Privacy** Counts must hold every row once, whatever Spark tries again. Of the attempts at one task, speculative ones
too, Spark takes one result and drops the others; a shuffle may ask for a task's output a second time, and must get the
same again. It does: counts are a function of the partition's rows and of the key that chooses a person's rows, which
was drawn before, whatever order the rows come in. Learners draw their parts in the task, so their counts are not
shuffled: the driver gets those of each partition. A partition that fails ends in a constant text: nothing of its rows
comes into Spark's logs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from dpqr.errors import UsageFault
from dpqr.io.engines.address import Address
from dpqr.io.engines.partial_counts import added, carried
from dpqr.io.tables.arrow_arrays import is_text
from dpqr.io.tables.counting import Counted, Counting
from dpqr.io.tables.limits import discreetly

_SCHEMA = "place int, counts binary"
_FILES = re.compile(r".*(/|\.parquet$|\.pq$)", re.DOTALL)
BATCH = 2**17
"""Rows of a record batch, where the session is ours."""


@dataclass(slots=True)
class SparkTable:
    """spark:TABLE, spark:FILES.parquet, spark:FOLDER/, spark:?query=SELECT; or a DataFrame of the caller's session."""

    address: Address | None = None
    frame: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if find_spec("pyspark") is None:
            raise UsageFault("spark: is not installed; pip install 'dpqr[spark]'")
        if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
            raise UsageFault("spark: needs Java 17 or later; install it, or set JAVA_HOME")
        if self.address and not (self.address.place or self.address.table or self.address.query):
            raise UsageFault("spark: names no table; give spark:TABLE, spark:FILES.parquet or spark:?query=SELECT")

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

    def count(self, asked: Counting) -> Counted:
        chosen = self._frame.select(*(_quoted(name) for name in asked.columns))
        if asked.unit.column is not None:
            person = chosen[_quoted(asked.unit.column)]
            text = is_text(self.kind(asked.unit.column))  # sorted by its bytes, whatever collation the column has
            chosen = chosen.repartition(person).sortWithinPartitions(person.cast("binary") if text else person)
        asked = replace(asked, workers=1)
        parts = chosen.mapInArrow(partial(_counted, asked), _SCHEMA)
        if asked.last is None:
            some = parts.repartition("place").mapInArrow(partial(_added, asked), _SCHEMA)
            parts = some.repartition(1).mapInArrow(partial(_added, asked), _SCHEMA)
        return added(parts.toArrow()["counts"].to_pylist(), asked)

    @property
    def _frame(self) -> Any:
        if self.frame is None:
            self.frame = discreetly(self._opened, self._explained)
        return self.frame

    def _opened(self) -> Any:
        """The table as Spark's planner knows it; no row is read."""
        session, address = _session(), self.address
        assert address is not None
        if address.query is not None:
            return session.sql(address.query)
        if address.table is None and _FILES.fullmatch(address.place):
            return session.read.parquet(address.place)
        return session.table(address.table or address.place)

    def _explained(self, error: Exception) -> str:
        """By the class alone: the words may quote rows."""
        return f"{self.name}: Spark ends with {type(error).__name__}; check Java, the session and the table's name"


def is_spark_frame(table: object) -> bool:
    """Whether the caller's table is a DataFrame of Spark; pyspark is not imported for that."""
    return type(table).__module__.startswith("pyspark.sql") and type(table).__name__ == "DataFrame"


def _session() -> Any:
    """The session that is there, or one by Spark's own configuration, in which Spark logs nothing."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    made = SparkSession.getActiveSession()
    if made is not None:
        return made
    settings: dict[str, Any] = {
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
    }
    return SparkSession.builder.appName("dpqr").config(map=settings).getOrCreate()


def _counted(asked: Counting, batches: Iterable[Any]) -> Iterator[Any]:
    """What one task does: the counts of its partition."""
    yield _row(lambda: asked.counted(lambda: batches, in_order=True))


def _added(asked: Counting, batches: Iterable[Any]) -> Iterator[Any]:
    """The sum of several partitions' counts, of which one at a time is held."""
    yield _row(lambda: added((value.as_py() for batch in batches for value in batch.column("counts")), asked))


def _row(count: Callable[[], Counted]) -> Any:
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    place = 0 if context is None else context.partitionId()
    return pa.record_batch({"place": pa.array([place], pa.int32()), "counts": pa.array([carried(count)], pa.binary())})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
