"""Spark's session of our own: while a release of persons runs, another user of the machine finds nothing of it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import watched_machine
from support.postgres_server import missing

from dpqr.tables.engines import spark as spark_session
from dpqr.tables.engines.spark import quietly

SECRET = "Bob earns 7"
RELEASE = (
    "release spark:/tmp/work/persons.parquet --queries q.json --unit who --max-rows 2 --eps 1 --neighbours replace "
    "--n 500 --out released --json"
)
MAKE = """
import pyarrow, pyarrow.parquet
rows = range(20000)
table = pyarrow.table({"who": [f"person {i % 500}" for i in rows], "k": [i % 3 for i in rows]})
pyarrow.parquet.write_table(table, "/tmp/work/persons.parquet")
"""
RUN = (
    MAKE
    + f"""
from dpqr.cli.main import main
main({RELEASE.split()!r})
"""
)
FAILS = (
    MAKE
    + f"""
from dpqr.kernel.errors import DataError
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.spark import SparkTable
from dpqr.tables.load import load_table
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
query = "SELECT cast(concat(who, ' {SECRET}') AS int) AS k FROM source"
address = EngineAddress(scheme="spark", place="/tmp/work/persons.parquet", query=query, registered=True)
source = TableSource(engine=SparkTable(address))
try:
    load_table(source, Domain((Attribute(name="k", axis=Codes(3)),)), Limits())
except DataError as error:
    print(error)
"""
)
QUERIES = {
    "domain": {
        "malformed": "drop",
        "fields": [
            {"name": "k", "type": "integer", "constraints": {"minimum": 0, "maximum": 2}, "dpqr": {"otherwise": "drop"}}
        ],
    },
    "queries": [{"marginals": {"ways": 1}}],
}


def watched(script, **more):
    """What a script does on a machine of its own, and what another user sees of it."""
    if shutil.which("java") is None:
        missing("there is no Java here: apt-get install default-jre-headless")
    pytest.importorskip("pyspark")
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("another user is tried where tests run as root, on Linux")
    if subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True).returncode:
        pytest.skip("this container may not make a machine of its own (unshare --mount --net)")
    root = str(Path(spark_session.__file__).parents[3])
    if any(Path(hidden) in Path(root).parents for hidden in watched_machine.ROOMS):
        pytest.skip(f"this machine hides the checkout at {root}, for it has a /tmp of its own")
    task = {"command": [sys.executable, "-c", script], "files": {"q.json": json.dumps(QUERIES)}, **more}
    program = [sys.executable, watched_machine.__file__, json.dumps(task)]
    done = subprocess.run(
        ["unshare", "--mount", "--net", *program],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": root, "HOME": "/tmp/work"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["seen"]["looks"] > 2
    assert found["seen"]["scratch"] == 1
    assert found["seen"]["opened"] == []
    assert found["seen"]["ports"] == []
    assert found["left"] == []
    return found


@pytest.mark.slow
def test_another_user_finds_nothing_while_a_release_of_persons_runs():
    found = watched(RUN)
    assert found["code"] == 0, found
    assert found["shuffled"]
    assert json.loads(found["out"])
    assert not re.search(r"spark|java|WARN|Exception|Traceback|person \d", found["err"], re.IGNORECASE), found["err"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_written_is_removed_when_the_process_is_killed(ending):
    found = watched(RUN, signal=ending)
    assert found["code"] == -ending
    assert found["shuffled"]


@pytest.mark.slow
def test_an_error_that_quotes_a_cell_is_on_no_output():
    found = watched(FAILS)
    assert found["code"] == 0
    assert "Spark ended before the table was counted" in found["out"]
    assert SECRET not in found["out"] + found["err"]
    assert found["err"] == ""


def test_loggers_that_quote_cells_are_as_before_afterwards(capfd):
    logger = pytest.importorskip("pyspark.logger").PySparkLogger.getLogger("SQLQueryContextLogger")
    with quietly():
        logger.exception(SECRET, errorClass="x")
    assert SECRET not in "".join(capfd.readouterr())
    assert not logger.disabled


def test_settings_of_one_machine_and_of_a_cluster(tmp_path):
    """A cluster's addresses and secrets are an agreement with other machines."""
    alone = spark_session._settings(tmp_path, {"spark.master": "local[*]", "spark.ui.enabled": "true"})
    assert alone["spark.ui.enabled"] == "false"
    assert alone["spark.driver.bindAddress"] == "127.0.0.1"
    assert alone["spark.authenticate"] == alone["spark.network.crypto.enabled"] == "true"
    shared = spark_session._settings(tmp_path, {"spark.master": "spark://host:7077", "spark.sql.warehouse.dir": "/w"})
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.authenticate", "spark.sql.warehouse.dir"} & {
        *shared
    }
    for settings in (alone, shared):
        assert settings["spark.io.encryption.enabled"] == "true"
        assert settings["spark.eventLog.enabled"] == settings["spark.ui.enabled"] == "false"
        assert settings["spark.local.dir"] == str(tmp_path)
