"""The ledger under races, kills and age: figures of what must hold in every repeat, and how long one use takes.

python tests/benchmarks/ledger.py race [--repeats 20] [--jobs 24]
python tests/benchmarks/ledger.py kills [--count 200] [--crowd 4]
python tests/benchmarks/ledger.py speed [--entries 1000 10000]

Bars: in all repeats exactly 5 of 24 jobs win a budget of 5, and the ledger says so; after every kill, some of them on
a full disk, the ledger verifies against its anchor and everything that was published had been paid.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ledgers import command, draws, ledger_in, reserve, terms, unsound

from dpqr.io.ledger.chain import Link, seal
from dpqr.io.ledger.database import append, commit, stored_links, writing
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.sqlite_ledger import SqliteLedger
from dpqr.privacy.ledger import Entry

USES = 20


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for run, options in (
        (race, {"--repeats": 20, "--jobs": 24}),
        (kills, {"--count": 200, "--crowd": 4}),
        (speed, {"--entries": [1000, 10000]}),
    ):
        command_line = commands.add_parser(run.__name__)
        for name, default in options.items():
            command_line.add_argument(name, type=int, default=default, nargs="+" if isinstance(default, list) else None)
        command_line.set_defaults(run=run)
    given = vars(parser.parse_args())
    given.pop("run")(**given)


def race(repeats: int, jobs: int) -> None:
    right, seconds = 0, []
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            ledger = ledger_in(Path(name))
            ledger.open(terms(epsilon="5"))
            began = time.perf_counter()
            codes = command("race", name, "--jobs", jobs)
            seconds.append(time.perf_counter() - began)
            published = len(list((Path(name) / "published").iterdir()))
            account = ledger.account("survey")
            good = codes == {"0": 5, "4": jobs - 5} and published == account.spent == 5 and not unsound(Path(name))
            right += good
            print(f"repeat {repeat + 1}: exit codes {codes}, published {published}, spent {account.spent}, good {good}")
    print(f"{right} of {repeats} repeats good; median {statistics.median(seconds):.2f} s")


def kills(count: int, crowd: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        ledger = ledger_in(Path(name))
        ledger.open(terms(epsilon="1000"))
        began = time.perf_counter()
        done = command("kills", name, "--count", count, "--crowd", crowd)
        account, verified = ledger.account("survey"), ledger.verify()
        published = len(list((Path(name) / "published").iterdir()))
        print(f"killed {done['killed']}, ended otherwise {done['ended']}, unsound {done['unsound']}")
        print(f"reserved {account.reservations}, published {published}, never settled {account.unsettled}")
        print(f"{verified.mark.entries} entries, {time.perf_counter() - began:.1f} s")


def speed(entries: list[int]) -> None:
    for count in entries:
        with tempfile.TemporaryDirectory() as name:
            ledger = ledger_in(Path(name), anchored=False)
            ledger.open(terms(epsilon="1000"))
            age(ledger, count)
            paid = [clocked(lambda aged=ledger: reserve(aged, "0.001")) for _ in range(USES)]
            walked = clocked(ledger.verify)
            print(f"{count} entries: reserve {1000 * statistics.median(paid):.1f} ms, verify {walked:.2f} s")


def age(ledger: SqliteLedger, count: int) -> None:
    """Bring a new ledger to `count` entries, half of them settlements, in one transaction."""
    with writing(ledger.path, 1) as connection:
        previous = stored_links(connection)[-1].seal
        for number in range(2, count):
            made = Entry(number=number, kind="reserve", time=ledger.clock(), dataset="survey", note="a release")
            made = replace(made, cost=Fraction("0.001"), events=draws("0.001"))
            if number % 2:
                made = replace(made, kind="settle", settles=number - 1)
            text = encode_entry(made)
            previous = seal(previous, text)
            append(connection, number, Link(text=text, seal=previous))
        commit(connection)


def clocked(use: Callable[[], object]) -> float:
    began = time.perf_counter()
    use()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
