"""The program's first moments: Ctrl-C before the command line is loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
from dpqr.__main__ import run

class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupting())
sys.argv = ["dpqr", "--version"]
run()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize(("handler", "code"), [("default_int_handler", -signal.SIGINT), ("SIG_IGN", 0)])
def test_an_interrupt_while_modules_are_loaded_ends_without_a_traceback(handler, code):
    """Where the caller ignores it (nohup), it stays ignored."""
    program = INTERRUPTED.format(handler=handler)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (code, "")
