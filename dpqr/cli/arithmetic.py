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
import sys
from contextlib import suppress

NAME = "DPQR_ARITHMETIC"
"""Variable: "portable" once the program has chosen the common instructions, "native" where it must not."""
COMMON = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    # Names of numpy before 2.4, and since. Those that it does not know, it warns of.
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL "
    "AVX512_SPR X86_V4",
}
"""What the libraries read when they are loaded."""


def choose_common_instructions() -> None:
    """Set COMMON, but for what the user has set, where the processor has AVX2 and FMA; before numpy is loaded."""
    if os.environ.get(NAME, "") == "" and _has_avx2():
        os.environ.update(
            {name: value for name, value in COMMON.items() if name not in os.environ}, **{NAME: "portable"}
        )


def start_again_natively() -> None:
    """Start this program anew with the processor's own instructions; nothing happens where it did not choose others."""
    if os.environ.get(NAME) == "portable":
        kept = {name: value for name, value in os.environ.items() if COMMON.get(name) != value}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept | {NAME: "native"})


def _has_avx2() -> bool:
    if platform.machine() != "x86_64":
        return False
    with suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as processors:
        return {"avx2", "fma"} <= set(processors.read(2**13).split())  # of the first one: all are alike
    return False
