"""A PostgreSQL server of the tests' own: on a socket in a directory of its own, run by another user than root."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

REQUIRED = "DPQR_ENGINES"
"""Set to `required` where a missing engine is a failure, not a skip."""
HBA = "local all guarded scram-sha-256\nlocal all all trust\n"


def missing(reason):
    """Skip the test, or fail it where engines are required."""
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(frozen=True)
class Server:
    """bin: of its programs; folder: of its data and its socket."""

    bin: Path
    folder: Path

    def address(self, schema="dpqr", user="owner", host=None, database="postgres"):
        return f"postgresql://{user}@/{database}?host={host or self.folder}&schema={schema}"

    def run(self, program, *arguments):
        return subprocess.run(
            [self.bin / program, *arguments],
            check=True,
            capture_output=True,
            timeout=120,
            cwd=self.folder,
            **self._user,
        )

    def start(self):
        settings = f"-k {self.folder} -c listen_addresses= -c shared_buffers=16MB -c max_connections=60"
        log = self.folder / "log"
        self.run("pg_ctl", "start", "-w", "-D", self.folder / "data", "-l", log, "-o", settings)

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "stop", "-w", "-D", self.folder / "data", "-m", mode)

    def execute(self, statement, *values):
        import psycopg

        with psycopg.connect(f"postgresql://owner@/postgres?host={self.folder}", autocommit=True) as connection:
            done = connection.execute(statement, values or None)
            return done.fetchall() if done.description else []

    @property
    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    @property
    def _user(self):
        if os.geteuid() != 0:
            return {}
        other = _other_user()
        return {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}


def _other_user():
    known = {user.pw_name: user for user in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def programs():
    """The folder of the newest server on this machine; None: there is none."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0)
    )
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextmanager
def running() -> Iterator[Server]:
    """A new server, and nothing of it afterwards."""
    pytest.importorskip("psycopg") if os.environ.get(REQUIRED) != "required" else __import__("psycopg")
    found = programs()
    if found is None:
        missing("there is no PostgreSQL server: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="dpqr-pg-", dir="/tmp"))
    server = Server(bin=found, folder=folder)
    try:
        if user := server._user:
            os.chown(folder, user["user"], user["group"])
        folder.chmod(0o755)
        server.run("initdb", "-D", folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale")
        (folder / "data" / "pg_hba.conf").write_text(HBA)
        server.start()
        yield server
    finally:
        _end(server)


def _end(server):
    try:
        pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        for _ in range(100):
            os.kill(pid, 0)
            import time

            time.sleep(0.05)
    except (OSError, ValueError):
        pass
    shutil.rmtree(server.folder, ignore_errors=True)
