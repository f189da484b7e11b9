"""Spark's standalone cluster on the loopback: a master and two workers, each of which runs an executor of its own."""

import os
import re
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

WORKERS = 2
_DEPLOY = "org.apache.spark.deploy"
_LOOPBACK = "127.0.0.1"
_PATIENCE = 120.0


@contextmanager
def cluster(folder):
    """The master's address. Its processes end with the context; what they write is in `folder`."""
    with ExitStack() as stack:
        place = ("--host", _LOOPBACK, "--port", "0", "--webui-port", "0")
        log = folder / "master.log"
        stack.enter_context(_running(log, f"{_DEPLOY}.master.Master", *place))
        (address,) = _logged(log, r"Starting Spark master at (spark://\S+)", 1)
        for worker in range(WORKERS):
            place = ("--host", f"127.0.0.{worker + 2}", "--port", "0", "--webui-port", "0")  # a task runs once a host
            work = ("--cores", "2", "--memory", "1g", "--work-dir", folder / f"worker{worker}", address)
            stack.enter_context(_running(folder / f"worker{worker}.log", f"{_DEPLOY}.worker.Worker", *place, *work))
        _logged(log, r"Registering worker (\S+)", WORKERS)
        yield address


@contextmanager
def _running(log, *command):
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": _LOOPBACK, "SPARK_DAEMON_MEMORY": "256m"}
    with open(log, "wb") as output:
        spark_class = [home / "bin" / "spark-class", *command]
        process = subprocess.Popen(spark_class, stdout=output, stderr=output, env=os.environ | settings)
    try:
        yield
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _logged(log, pattern, count):
    """What the pattern's group has found in a log, once it has so often."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        found = re.findall(pattern, log.read_text(errors="replace"))
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{log.name}: {pattern!r} is not there {count} times")
