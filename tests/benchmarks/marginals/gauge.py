"""Gauge: CPU seconds and peak memory of what a worker does after its imports. Standard library only, for any Python."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from pathlib import Path

STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(field: str) -> float | None:
    """`VmRSS` (now) or `VmHWM` (peak) of this process in MB; None where the system does not tell."""
    with suppress(OSError):
        found = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text())
        return int(found[1]) / 1024 if found else None
    return None


class Gauge:
    """Starts when it is made, after the imports. Why the peak is reset: imports have peaks of their own."""

    def __init__(self) -> None:
        with suppress(OSError):
            PEAK.write_text("5")
        self.imports, self.before = time.process_time(), memory("VmRSS")

    def report(self, **more: object) -> str:
        """One JSON line: cpu (after imports), imports (CPU seconds), memory (peak above that after imports, MB)."""
        peak = memory("VmHWM")
        above = None if peak is None or self.before is None else peak - self.before
        cpu = time.process_time() - self.imports
        return json.dumps({"cpu": cpu, "imports": self.imports, "memory": above, **more})
