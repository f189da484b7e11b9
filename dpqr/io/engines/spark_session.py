"""Spark's session: the caller's as it is, or one of our own that nobody else on the machine can look into.

**Privacy** While a release of persons runs, Spark writes their rows to shuffle files, shows row counts on its page and
quotes cells in its errors. So a session of our own has a scratch folder that only this user can enter, with encrypted
files, which is removed when the process ends, or else by Java when the process was killed. It has no page, no event log
and no log; Java's output goes nowhere. On one machine it listens on the loopback only, and its parts authenticate to
each other over encrypted connections. On a cluster addresses and secrets are an agreement with other machines, which
Spark's own configuration makes. A session of the caller is used as it is: what it shows and logs is
the caller's choice.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any, cast

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
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        if SparkContext._active_spark_context is not None:  # made in another thread
            return SparkSession.builder.getOrCreate()
        return _private_session()


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


def _private_session() -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

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
    with _environment({"SPARK_LAUNCHER_OPTS": unseen, "SPARK_LOCAL_DIRS": None}):
        conf = SparkConf(loadDefaults=False).set("spark.driver.defaultJavaOptions", options)
        return cast("Any", launch_gateway)(conf, nowhere)


@contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Variables of this process while Java starts; None: not set."""
    before = {name: os.environ.get(name) for name in values}
    _set_all(values)
    try:
        yield
    finally:
        _set_all(before)


def _set_all(values: Mapping[str, str | None]) -> None:
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
