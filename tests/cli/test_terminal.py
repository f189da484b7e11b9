"""On a terminal: progress bars that go away, colours that can be refused, text that fits a narrow window."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from support.cases import slow_but

pytestmark = [
    pytest.mark.slow,  # every test starts a process
    pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are for POSIX systems"),
]

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


def watched(desk, *arguments, columns=100, **environment):
    """Exit code and everything that a terminal of that width would be sent."""
    import fcntl
    import pty
    import struct
    import termios

    inner, outer = pty.openpty()
    fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "CI")}
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "dpqr", *arguments],
        {**env, "TERM": "xterm-256color", "PAGER": "cat", "PWD": str(desk.path), **environment},
        file_actions=[(os.POSIX_SPAWN_DUP2, outer, stream) for stream in (0, 1, 2)],
    )
    os.close(outer)
    sent = b"".join(iter(lambda: _read(inner), b""))
    os.close(inner)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sent.decode()


def _read(inner):
    try:
        return os.read(inner, 2**16)
    except OSError:  # the other side was closed
        return b""


RELEASE = ("release", "table.csv", "--queries", "q.json", "--eps", "1")


def test_bars_and_colours(desk):
    code, sent = watched(desk, *RELEASE)
    assert code == 0
    assert "reading" in sent
    assert COLOURS.search(sent)
    shown = CONTROL.sub("", sent[sent.rindex("Guarantee") :])
    assert "reading" not in shown
    assert "measuring" not in shown
    assert "marginal(sex,age)" in shown


@pytest.mark.parametrize(
    ("options", "environment"),
    slow_but({1}, [(("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})]),
    ids=["--no-color", "NO_COLOR", "dumb"],
)
def test_no_colours(desk, options, environment):
    code, sent = watched(desk, *RELEASE, *options, **environment)
    assert code == 0
    assert not COLOURS.search(sent)


def test_a_narrow_window(desk):
    code, sent = watched(desk, *RELEASE, "--schedule", "rounds", "--progress", "none", columns=64)
    assert code == 0
    lines = CONTROL.sub("", sent).split("\r\n")
    assert len(lines) > 30
    assert max(map(len, lines)) <= 64


def test_an_error_on_a_terminal(desk):
    code, sent = watched(desk, *RELEASE[:-1], "0")
    assert (code, sent) == (2, "dpqr: --eps 0: epsilon must lie between 1e-9 and 1000, for example --eps 1\r\n")


@pytest.mark.parametrize("mode", ["auto", "json"])
def test_a_terminal_that_is_closed_does_not_stop_a_release(desk, mode):
    import pty

    inner, outer = pty.openpty()
    command = [sys.executable, "-m", "dpqr", *RELEASE, "--out", "out", "--progress", mode]
    run = subprocess.Popen(command, cwd=desk.path, stderr=outer, env={**os.environ, "TERM": "xterm-256color"})
    os.close(outer)
    os.close(inner)
    assert run.wait(timeout=50) == 0
    assert (desk.path / "out" / "release.json").exists()


def test_a_rehearsal_reads_no_table_and_shows_its_measurements(desk):
    given = ("release", "no.csv", "--queries", "q.json", "--eps", "1", "--rehearse")
    code, sent = watched(desk, *given)
    assert code == 0, sent
    assert "measuring" in sent
    assert "reading" not in sent
