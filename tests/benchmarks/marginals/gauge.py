"""Gauge: CPU seconds and peak memory of what a worker does after its imports. Standard library only, for any Python."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from pathlib import Path

STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(field: str) -> float | None:
    """`VmRSS` (now), `VmHWM` (peak) or `RssFile` (of it, pages of files, libraries most of all) of this process in MB;
    None where the system does not tell."""
    with suppress(OSError):
        found = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text())
        return int(found[1]) / 1024 if found else None
    return None


class Gauge:
    """Starts when it is made, after the imports. Why the peak is reset: imports have peaks of their own."""

    def __init__(self) -> None:
        _forget_peak()
        self.imports, self.before, self.files = time.process_time(), memory("VmRSS"), memory("RssFile")
        self.highest, self.own, self.held, self.algorithm = 0.0, 0.0, None, None

    def loaded(self) -> None:
        """The table is in memory: from here on it is the algorithm."""
        self._stage()
        self.held = memory("VmRSS")

    def answered(self) -> None:
        """The answers are in memory: the algorithm has ended."""
        peak = memory("VmHWM")
        if peak is not None and self.held is not None:
            self.algorithm = peak - self.held
        self._stage()

    def _stage(self) -> None:
        """A part of the job has ended. Pages of libraries are set against the peak of the part in which they came."""
        peak, files = memory("VmHWM") or 0.0, memory("RssFile") or 0.0
        self.highest = max(self.highest, peak)
        self.own = max(self.own, peak - (self.before or 0.0) - (files - (self.files or 0.0)))
        _forget_peak()

    def report(self, **more: object) -> str:
        """One JSON line: cpu (after imports), imports (CPU seconds), and MB: memory, the peak above that after imports;
        own, the same without pages of libraries that came in since, which all processes share; algorithm, the peak
        from the table in memory to the answers in memory, above what was held at first."""
        cpu = time.process_time() - self.imports
        self._stage()
        above, own = (None, None) if self.before is None else (self.highest - self.before, self.own)
        told = {"cpu": cpu, "imports": self.imports, "memory": above, "own": own, "algorithm": self.algorithm}
        return json.dumps({**told, **more})


def _forget_peak() -> None:
    with suppress(OSError):
        PEAK.write_text("5")
