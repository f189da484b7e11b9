"""The program's first moments: Ctrl-C before the command line is loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpqr.cli.arithmetic import NAME, common_instructions

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


INSTRUCTIONS = """
import json, os
from dpqr.cli.arithmetic import choose_common_instructions
choose_common_instructions()
import numpy
print(json.dumps([numpy.show_config(mode="dicts")["SIMD Extensions"]["found"], dict(os.environ)]))
"""
MADE = """
import dpqr, pandas
table = pandas.DataFrame({"a": range(0, 400, 2), "b": range(100, 300), "c": range(200)}) % 7
asked = dpqr.queries().marginal("a", "b").marginal("b", "c").marginal("a", "c")
dpqr.release(table, queries=asked, domain=dict.fromkeys("abc", 7), eps=1).save("made")
"""
FLAGS = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
has_common_instructions = pytest.mark.skipif(
    not {"avx2", "fma"} <= {*FLAGS}, reason="this processor does not say that it has AVX2"
)


COMMON = common_instructions()


def process(*arguments, place=".", **variables):
    """A process that is told of instructions only what is given."""
    told = {name: value for name, value in os.environ.items() if name not in (*COMMON, NAME)} | variables
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=place, env=told, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@has_common_instructions
def test_the_program_uses_the_instructions_that_processors_share():
    used, variables = json.loads(process("-W", "error", "-c", INSTRUCTIONS, OPENBLAS_NUM_THREADS="2"))
    assert [name for name in used if name.startswith(("AVX512", "X86_V4"))] == []
    assert {name: variables[name] for name in COMMON} == COMMON | {
        "OPENBLAS_NUM_THREADS": "2"
    }  # as the user has set it


@has_common_instructions
@pytest.mark.parametrize("chosen", [{}, {"OPENBLAS_CORETYPE": "Prescott"}])
def test_verify_repeats_what_python_made_with_other_instructions(tmp_path, chosen):
    process("-c", MADE, place=tmp_path, **chosen)
    assert "repeated bit for bit" in process("-m", "dpqr", "verify", "made", place=tmp_path, **chosen)
