"""The kept screens made again: `PYTHONPATH=tests python -m screens` types every command in tmux and keeps what stands
there. `python -m screens dpqr ...` is dpqr with the same noise every time."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dpqr.cli.arithmetic import choose_common_instructions

choose_common_instructions()  # before numpy is loaded: the kept screens are the same on all processors

from screens.cases import CASES, COLUMNS, LINES, kept, masked, prepare  # noqa: E402
from support.repeatable_noise import repeatable_noise  # noqa: E402

TMUX = ("tmux", "-L", f"screens-{os.getpid()}")
END, SECONDS = "the-end-of-the-screen", 60
LEFT_OUT = ("CI", "COLUMNS", "LINES", "DPQR_LEDGER", "DPQR_ANCHOR")


def main() -> None:
    if sys.argv[1:2] == ["dpqr"]:
        from dpqr.cli.main import main as commands

        with repeatable_noise():
            commands(sys.argv[2:])
    tmux("-u", "new-session", "-d", "-s", "server", f"sleep {SECONDS * len(CASES)}")
    try:
        keep()
    finally:
        tmux("kill-server")


def keep() -> None:
    with tempfile.TemporaryDirectory() as desk:
        prepare(Path(desk))
        for name, arguments in CASES.items():
            kept(name).write_text(masked(typed(arguments, desk)), encoding="utf-8")


def typed(arguments: tuple[str, ...], desk: str) -> str:
    """All that a terminal shows of one command, what has scrolled away included."""
    path = os.pathsep.join(os.path.abspath(each) for each in sys.path if each)
    given = {"PYTHONPATH": path, "PAGER": "cat", "LC_ALL": "C.UTF-8"}
    environment = ["env", *(f"-u{name}" for name in LEFT_OUT), *(f"{name}={value}" for name, value in given.items())]
    command = shlex.join([*environment, sys.executable, "-m", "screens", "dpqr", *arguments])
    waiting = f"cd {shlex.quote(desk)}; {command}; echo {END}; sleep {SECONDS}"
    size = ("-x", str(COLUMNS), "-y", str(LINES))
    tmux("new-session", "-d", "-s", "screen", *size, waiting)
    try:
        for _ in range(SECONDS * 5):
            shown = tmux("capture-pane", "-p", "-S", "-", "-t", "screen")
            if f"\n{END}" in f"\n{shown}":
                break
            time.sleep(0.2)
        return "".join(f"{line.rstrip()}\n" for line in f"\n{shown}".partition(f"\n{END}")[0][1:].splitlines())
    finally:
        tmux("kill-session", "-t", "screen")


def tmux(*arguments: str) -> str:
    return subprocess.run([*TMUX, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
