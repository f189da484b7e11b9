"""Processes of their own: jobs that race, one that is killed, and a module of support as a command."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

STRICT = (sys.executable, "-W", "error", "-W", "ignore::ImportWarning")
"""Python whose warnings are errors, but numpy's of instructions that it does not know."""


def race(jobs, attempt):
    """attempt: from a job's number to its exit code. The codes, in the order of the jobs."""
    reader, writer = os.pipe()
    children = []
    for number in range(jobs):
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(attempt(number))
        children.append(child)
    os.close(reader)
    os.close(writer)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def kill_after(seconds, work):
    """`work` in a child process that is killed after so many seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads that numpy has made are idle
        child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def run_module(name, *arguments):
    """Run a module of the tests as a command; its JSON."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [*STRICT, "-m", name, *map(str, arguments)],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)
