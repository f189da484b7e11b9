"""Start-up: median wall time of `dpqr --help` over 20 runs. Bar: 0.25 s."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 20


def main() -> None:
    seconds = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "dpqr", "--help"], check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    print(f"dpqr --help: median {statistics.median(seconds):.3f} s, largest {max(seconds):.3f} s, {RUNS} runs")


if __name__ == "__main__":
    main()
