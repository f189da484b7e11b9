"""The ledger with age: what damage is found, and how long one use takes.

python tests/benchmarks/ledger.py damage
python tests/benchmarks/ledger.py speed [--entries 1000 10000 100000]
python tests/benchmarks/ledger.py jobs [--entries 1000 10000]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import postgres_server
from support.ledger_jobs import draws, ledger_in, passed, reserve, terms

from dpqr.kernel.budget import Cost
from dpqr.ledger import chained_ledger as transactions
from dpqr.ledger.budgets import ledger_store
from dpqr.ledger.chain import Anchor
from dpqr.ledger.chained_ledger import ChainedLedger, Transaction
from dpqr.ledger.record import walk_ledger
from dpqr.ledger.store import Store

USES = 20


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for run, options in (
        (damage, {}),
        (speed, {"--entries": [1000, 10000, 100000]}),
        (jobs, {"--entries": [1000, 10000]}),
    ):
        command_line = commands.add_parser(run.__name__)
        for name, default in options.items():
            command_line.add_argument(name, type=int, default=default, nargs="+" if isinstance(default, list) else None)
        command_line.set_defaults(run=run)
    given = vars(parser.parse_args())
    given.pop("run")(**given)


def damage() -> None:
    """Change every byte of a ledger's file in turn: is it found, and if not, did it hold anything?"""
    with tempfile.TemporaryDirectory() as name:
        ledger = ledger_in(Path(name))
        ledger.open(terms(epsilon="1000"))
        for _ in range(4):
            ledger.settle(reserve(ledger, 1), draws("1/2"), note="released")
        reserve(ledger, 1)
        size = ledger.store.path.stat().st_size
        found = Counter(str(passed(ledger, position, 1 + position % 255)) for position in range(size))
        print(f"{size} bytes: found by exit code 7: {found['7']}; not found, and the content the same: {found['same']}")
        print(f"not found, and the content another: {found['CHANGED']}")


def speed(entries: list[int]) -> None:
    """A reservation with an anchor: by a job that has used the ledger before, and by a new one."""
    for count in entries:
        with tempfile.TemporaryDirectory() as name:
            ledger = ledger_in(Path(name))
            ledger.open(terms(epsilon="100000"))
            age(ledger, count)
            reserve(ledger, "0.001")
            again = middle([clocked(lambda used=ledger: reserve(used, "0.001")) for _ in range(USES)])
            new = middle([clocked(lambda place=Path(name): reserve(ledger_in(place), "0.001")) for _ in range(USES)])
            looked, walked = clocked(lambda used=ledger: used.account("survey")), clocked(ledger.verify)
            size = ledger.store.path.stat().st_size / 2**20
            print(f"{count:,} entries ({size:.1f} MiB), milliseconds of CPU (by the clock):")
            print(
                f"    reserve {words(again)}, by a new job {words(new)}; show {words(looked)}, verify {words(walked)}"
            )


def jobs(entries: list[int]) -> None:
    """A reservation by a role of jobs, in a ledger on a server that no owner has used for so many entries."""
    with postgres_server.running() as server, tempfile.TemporaryDirectory() as name, ExitStack() as undone:
        server.execute("CREATE ROLE jobs LOGIN")
        for count in entries:
            anchor = Anchor(path=Path(name) / f"{count}.anchor")
            owner = ChainedLedger(store=ledger_store(server.address(f"aged_{count}")), anchor=anchor)
            owner.open(terms(epsilon="100000"))
            owner.grant("jobs")
            stride, transactions.STRIDE = transactions.STRIDE, 10**9
            undone.callback(setattr, transactions, "STRIDE", stride)
            age(owner, count)
            store = ledger_store(server.address(f"aged_{count}", user="jobs"))

            def job(store: Store = store, anchor: Anchor = anchor) -> ChainedLedger:
                return ChainedLedger(store=store, anchor=anchor)

            reserve(used := job(), "0.001")
            again = middle([clocked(lambda used=used: reserve(used, "0.001")) for _ in range(USES)])
            new = middle([clocked(lambda job=job: reserve(job(), "0.001")) for _ in range(USES)])
            owner.checkpoint()
            short = middle([clocked(lambda job=job: reserve(job(), "0.001")) for _ in range(USES)])
            print(f"{count:,} entries since the last checkpoint, milliseconds of CPU (by the clock):")
            print(f"    by a job {words(again)}, by a new job {words(new)}, after a checkpoint {words(short)}")


def age(ledger: ChainedLedger, count: int) -> None:
    """Bring a new ledger to `count` entries, most of them settled in turn, in one transaction."""
    with ledger.writing() as session:
        transaction = Transaction(session=session, state=walk_ledger(session, ledger.anchor).state, clock=ledger.clock)
        while transaction.state.length < count:
            content = {"dataset": "survey", "cost": Cost(Fraction("0.001")), "events": draws("0.001")}
            paid = transaction.add("reserve", key=bytes(32), **content, note="a release")
            transaction.checkpoint()
            transaction.add("settle", **content, settles=paid.number, note="released")
            transaction.checkpoint()
        transaction.finish(ledger.anchor)


def clocked(use: Callable[[], object]) -> tuple[float, float]:
    cpu, clock = time.process_time(), time.perf_counter()
    use()
    return 1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - clock)


def middle(times: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(cpu for cpu, _ in times), statistics.median(clock for _, clock in times)


def words(times: tuple[float, float]) -> str:
    return f"{times[0]:.1f} ({times[1]:.1f})"


if __name__ == "__main__":
    main()
