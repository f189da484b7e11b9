"""One arithmetic on all x86-64 processors with AVX2 under Linux, so that each repeats what another has released.

numpy and its linear algebra choose instructions by the processor. With others they add up in another order, sums differ
in their last digits, and where a fit stops, or which rows are drawn from it, can follow from these. So the program uses
those that nearly every processor since 2013 has, and one thread. They are as fast here, for what is multiplied is
small. Other processors and systems, and Python programs that import dpqr, compute in their own way; `dpqr verify` tries
that too.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

NAME = "DPQR_ARITHMETIC"
"""Variable: "portable" once the program has chosen the common instructions, "native" where it must not."""


def common_instructions() -> dict[str, str]:
    """The variables that the libraries read when they are loaded, with the values of the common instructions. AVX-512
    is named as the installed numpy knows it, for it warns of other names.
    """
    numpy = find_spec("numpy")
    origin = numpy.origin if numpy else None
    assert origin is not None, "it is installed"
    stated = re.findall(r'version = "(\d+)\.(\d+)', Path(origin).with_name("version.py").read_text(encoding="utf-8"))
    version = tuple(map(int, stated[0]))
    until_2_4 = "AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL"
    names = f"{'X86_V4' if version >= (2, 4) else until_2_4} AVX512_ICL{' AVX512_SPR' if version >= (2, 3) else ''}"
    return {
        "OPENBLAS_CORETYPE": "Haswell",
        "OPENBLAS_NUM_THREADS": "1",
        "NPY_DISABLE_CPU_FEATURES": names,
    }


def choose_common_instructions() -> None:
    """Set them, but for what the user has set, where the processor has AVX2 and FMA; before numpy is loaded."""
    if os.environ.get(NAME, "") == "" and _has_avx2():
        os.environ.update({**common_instructions(), **os.environ, NAME: "portable"})


def start_again_natively() -> None:
    """Start this program anew with the processor's own instructions; nothing happens where it did not choose others."""
    if os.environ.get(NAME) == "portable":
        common = common_instructions()
        kept = {name: value for name, value in os.environ.items() if common.get(name) != value}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept | {NAME: "native"})


def _has_avx2() -> bool:
    if platform.machine() != "x86_64":
        return False
    with suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as processors:
        return {"avx2", "fma"} <= set(processors.read(2**13).split())  # of the first one: all are alike
    return False
