"""Releases verified with other kernels than those that made them: how many are repeated, and how.

python tests/benchmarks/processors.py [--eps .1 .5 1 3]

Each release of the sample, and of all its pairs, is made with SkylakeX' kernels and verified with `--tolerance` with
Haswell's and, of numpy too, with those of an old processor, every time with DPQR_ARITHMETIC=native; then made and
verified as the command line does by itself, on this processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__

SAMPLE = Path(__file__).parent.parent.parent / "sample_data"
MADE = {"OPENBLAS_CORETYPE": "SkylakeX"}
ELSEWHERE = {
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "old-processor": {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)},
}
NATIVE = {"DPQR_ARITHMETIC": "native"}


def dpqr(*words: str, **variables: str) -> str:
    """What the program prints on stdout."""
    command, told = [sys.executable, "-m", "dpqr", *words], os.environ | variables
    return subprocess.run(command, env=told, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def outcome(out: str, **variables: str) -> str:
    """Of a verification, in words; of one that is refused with what did not fit."""
    found = json.loads(dpqr("verify", out, "--tolerance", "--json", **variables))
    failed = (f": {check['check']}: {check['text']}" for check in found["checks"] if check["state"] == "FAILED")
    return found["outcome"] + "".join(failed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eps", nargs="+", default=[".1", ".5", "1", "3"])
    given, found = parser.parse_args(), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as place:
        pairs, out = Path(place, "pairs.json"), str(Path(place, "out"))
        asked = {"domain": str(SAMPLE / "domain.json"), "queries": [{"marginals": {"ways": 2}}]}
        pairs.write_text(json.dumps(asked), encoding="utf-8")
        budgets = [(eps, *delta) for eps in given.eps for delta in ((), ("--delta", "1e-6"))]
        for queries, budget in product((SAMPLE / "queries.json", pairs), budgets):
            command = ["release", str(SAMPLE / "survey.csv"), "--queries", str(queries), "--eps", *budget]
            command += ["--out", out, "--if-exists", "replace"]
            dpqr(*command, **NATIVE, **MADE)
            for name, variables in ELSEWHERE.items():
                found[f"native, {name}", outcome(out, **NATIVE, **variables)] += 1
            dpqr(*command)
            found["by itself", outcome(out)] += 1
    for (way, words), times in sorted(found.items()):
        print(f"{times:>4}  {way:<24} {words}")


if __name__ == "__main__":
    main()
