"""Sound Parquet files, each with one bit flipped or cut short, released one after the other in a process of its own.

As a command (`python tests/hostile/fuzz.py DIRECTORY COUNT SEED`) it writes how each release ended, one line of JSON
each, and at last the megabytes that the process took at its peak.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent.parent
FORMS = ({}, {"compression": "zstd", "use_dictionary": False}, {"compression": "none", "data_page_version": "2.0"})


def damaged(data: bytes, chance: random.Random) -> tuple[str, bytes]:
    """What was done, and what came of it: two in three times a flip, half of these in the last kilobyte, the footer."""
    if chance.random() < 1 / 3:
        length = chance.randrange(len(data))
        return f"cut at {length}", data[:length]
    place = chance.randrange(len(data) - 1000, len(data)) if chance.random() < 0.5 else chance.randrange(len(data))
    bit = 1 << chance.randrange(8)
    return f"byte {place} ^ {bit}", data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


def sound(form: dict[str, object]) -> bytes:
    """A table with the desk's columns, 300 rows in two row groups, nulls among them."""
    import pyarrow as pa
    from support.forged_parquet import table_bytes

    rows = range(300)
    made = pa.table(
        {
            "sex": [("F", "M", None, "PRIVATEVALUE")[row % 4] for row in rows],
            "age": [row % 97 for row in rows],
            "income": [None if row % 11 == 0 else row / 3 for row in rows],
        }
    )
    return table_bytes(made, row_group_size=200, **form)


def endings(place: Path, count: int, seed: int) -> Iterator[dict[str, object]]:
    from support.command_desk import QUERIES, Desk

    desk, chance = Desk(place), random.Random(seed)
    desk.write(q__json=QUERIES)
    files = [sound(form) for form in FORMS]
    for each in range(count):
        done, data = damaged(files[each % len(files)], chance)
        desk.put("t.parquet", data)
        ended = desk.release("--json", data="t.parquet")
        yield {"done": f"file {each % len(files)}: {done}", "code": ended.code, "out": ended.out, "err": ended.err}


def fuzz(place: Path, count: int, seed: int) -> tuple[list[dict[str, object]], float]:
    """The endings, and the megabytes at the peak. Errors: CalledProcessError, where the process itself ended badly."""
    command = [sys.executable, __file__, str(place), str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    *told, peak = map(json.loads, done.stdout.splitlines())
    return told, peak


def peak() -> float:
    """Megabytes that this process took at most; what ran before it in its place is not counted."""
    facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(facts["VmHWM"].split()[0]) / 2**10


def main() -> None:
    place, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.chdir(place)
    for ended in endings(place, count, seed):
        print(json.dumps(ended), flush=True)
    print(peak())


if __name__ == "__main__":
    sys.path[0] = str(HERE)
    main()
