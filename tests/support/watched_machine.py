"""A machine for one test: its own /tmp and its own network, in which another user looks around while a command runs.

Run as a program, by `unshare --mount --net`: the command's own files and ports are then all that there are.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from glob import glob
from pathlib import Path

ROOMS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")
NOBODY = 65534
LISTENS = "0A"
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
"""As the kernel prints 127.0.0.1, ::ffff:127.0.0.1 and ::1."""


def main(task: str) -> None:
    """task: JSON with `command`, `signal` (sent once rows are shuffled; or none) and `files` (text by path)."""
    given = json.loads(task)
    for room in filter(os.path.isdir, ROOMS):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", room], check=True)
    _up()
    work = Path("/tmp/work")
    work.mkdir(mode=0o700)
    for name, lines in given["files"].items():
        (work / name).write_text(lines)
    os.chdir(work)
    os.umask(0)
    reader, writer = os.pipe()
    stopped = Path("/tmp/work-is-done")
    observer = os.fork()
    if observer == 0:
        os.close(reader)
        _look_around(writer, stopped)
        os._exit(0)
    os.close(writer)
    try:
        found = _run(given["command"], given.get("signal"))
    finally:
        stopped.touch()  # or the observer would look on for ever, and hold the output open
    with os.fdopen(reader) as seen:
        found["seen"] = json.load(seen)
    os.waitpid(observer, 0)
    stopped.unlink()
    found["left"] = sorted(str(path) for room in ROOMS for path in Path(room).glob("*") if path != work)
    json.dump(found, sys.stdout)


def _up() -> None:
    """The loopback, and no other device."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, 0x8914, struct.pack("16sH14s", b"lo", 0x49, b""))  # SIOCSIFFLAGS


def _run(command: list[str], signalled: int | None) -> dict[str, object]:
    with open("/tmp/work/out", "wb") as out, open("/tmp/work/err", "wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        shuffled: set[str] = set()
        while process.poll() is None:
            # By the shell's rules, which pass over a folder that is removed while it is listed.
            files = set(glob("/tmp/dpqr-spark-*/blockmgr-*/*/shuffle_*.data"))
            shuffled |= files
            if files and signalled is not None:
                process.send_signal(signalled)
                signalled = None
            time.sleep(0.02)
    end = time.monotonic() + 60
    while time.monotonic() < end and list(Path("/tmp").glob("dpqr-spark-*")):
        time.sleep(0.05)
    told = {name: Path("/tmp/work", name).read_text(errors="replace") for name in ("out", "err")}
    return {"code": process.returncode, "shuffled": len(shuffled), **told}


def _look_around(writer: int, stopped: Path) -> None:
    """As nobody: every file that can be opened, every folder that can be entered, and every port that is open to other
    machines or that Spark's page would have."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    opened, scratch, open_ports, looks = set(), set(), set(), 0
    while not stopped.exists():
        for room in ROOMS:
            for folder, folders, names in os.walk(room):
                scratch |= {name for name in folders if name.startswith("dpqr-spark-")}
                opened |= {path for path in (os.path.join(folder, name) for name in names) if _opens(path)}
        open_ports |= set(_open_ports())
        looks += 1
        time.sleep(0.05)
    opened.discard(str(stopped))
    with os.fdopen(writer, "w") as told:
        json.dump(
            {"opened": sorted(opened), "scratch": len(scratch), "ports": sorted(open_ports), "looks": looks}, told
        )


def _opens(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _open_ports() -> list[str]:
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            place, state = line.split()[1], line.split()[3]
            address, _, port = place.partition(":")
            page = 4040 <= int(port, 16) < 4140
            if state == LISTENS and (address not in LOOPBACK or page):
                found.append(place)
    return found


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main(sys.argv[1])
