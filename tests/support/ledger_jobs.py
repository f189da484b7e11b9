"""Ledgers for tests, and jobs that race for them or are killed at them.

As a command (`PYTHONPATH=tests python -m support.ledger_jobs race|kills|full DIRECTORY ...`) it forks the jobs from a
small process of its own and prints what happened as JSON; the caller then looks at the ledger itself.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from dpqr.kernel.budget import PURE, Pricing, PrivacyBudget
from dpqr.kernel.currency import PAIR, currency
from dpqr.kernel.errors import DpqrError
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.ledger.budgets import ledger_store
from dpqr.ledger.chain import Anchor, seal
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.ledger import BudgetTerms, DataKind
from dpqr.ledger.state import Charge
from dpqr.ledger.store import SqliteSession, SqliteStore
from support.process_races import race

SERVER = "DPQR_TEST_SERVER"
"""Names the server on which `ledger_in` keeps its ledgers; unset: in files."""
UNIT = PrivacyUnit()
PAGE = 4096
LONGEST_LIFE = 0.06
"""Seconds until a job is killed, at most, on a machine that has nothing else to do."""


def terms(dataset="survey", epsilon="5", delta="0", accountant="basic", cap=None, unit=UNIT):
    budget = PrivacyBudget(Fraction(epsilon), Fraction(delta))
    money = currency(accountant, pure=budget.pure)
    return BudgetTerms(
        dataset=dataset,
        budget=budget,
        accountant=accountant,
        limit=money.limit(budget),
        cap=None if cap is None else money.limit(PrivacyBudget(Fraction(cap), budget.delta)),
        neighbours=unit.neighbours,
        unit=unit.whom,
        kind=DataKind.PRIVATE,
    )


def draws(epsilon, count=1):
    """`count` selections of `epsilon` each."""
    return ((ExponentialEvent(epsilon=Fraction(epsilon)), count),)


def ledger_in(directory, *, anchored=True, **options):
    """The ledger of a directory: its file, or on a server (SERVER) the schema that is named after it."""
    anchor = Anchor(path=directory / "outside.anchor") if anchored else None
    return ChainedLedger(store=store_of(directory), anchor=anchor, unanchored=not anchored, **options)


def store_of(directory):
    if SERVER not in os.environ:
        return SqliteStore(directory / "ledger.sqlite")
    name = hashlib.sha256(str(directory).encode()).hexdigest()[:16]
    return ledger_store(f"{os.environ[SERVER]}&schema=ledger_{name}")


def session_of(store):
    """The class of its transactions."""
    if isinstance(store, SqliteStore):
        return SqliteSession
    from dpqr.ledger.postgres import PostgresSession

    return PostgresSession


def another(ledger, *, anchored=True):
    """The same ledger, as a new job opens it."""
    return ChainedLedger(store=ledger.store, anchor=ledger.anchor if anchored else None, unanchored=not anchored)


def reserve(
    ledger, epsilon, dataset="survey", neighbours=Neighbours.ADD_REMOVE, note="a test", pricing=PURE, **claimed
):
    unit = PrivacyUnit(neighbours=neighbours)
    charge = Charge(dataset=dataset, events=draws(epsilon), unit=unit, pricing=pricing)
    return ledger.reserve(charge, note=note, **claimed)


def by(delta):
    """What proves a run: advanced composition at this delta, or without one the pure sum."""
    return Pricing(accountant="advanced", delta=Fraction(delta)) if delta else PURE


@contextmanager
def opened(store):
    """A connection past the ledger's own code; what is done on it is kept."""
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store.path)) as connection:
            yield connection.execute
            connection.commit()
        return
    import psycopg

    with psycopg.connect(store.address.server) as connection:
        connection.execute(f"SET search_path = {store.address.schema}")
        yield lambda statement, values=(): connection.execute(statement.replace("?", "%s"), values or None)


def rows(store):
    """All stored rows, read past the ledger's own code."""
    return read(store, "SELECT number, entry, seal FROM entries ORDER BY number")


def read(store, statement):
    with opened(store) as execute:
        return execute(statement).fetchall()


def content(path):
    """All that an SQLite file holds, read past the ledger's own code: rows, tables and the program's mark."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        asked = ["entries", "keys", "state", "sqlite_master"]
        found = [connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall() for table in asked]
        found.append(connection.execute("PRAGMA application_id").fetchall())
    return found


def passed(ledger, position, change):
    """Whether `verify` passes a file with one byte changed, and if so, whether it still holds the same."""
    sound = ledger.store.path.read_bytes()
    before = content(ledger.store.path)
    ledger.store.path.write_bytes(sound[:position] + bytes([sound[position] ^ change]) + sound[position + 1 :])
    try:
        ledger.verify()
        return "same" if content(ledger.store.path) == before else "CHANGED"
    except DpqrError as error:
        return error.exit_code
    finally:
        ledger.store.path.write_bytes(sound)


def kept(store):
    """A copy of all that is stored, for `restore`."""
    if isinstance(store, SqliteStore):
        return store.path.read_bytes()
    return {table: read(store, f"SELECT * FROM {table}") for table in ("entries", "state", "keys")}


def restore(store, copy):
    """Put an older copy, or another ledger's, in the place of what is stored."""
    if isinstance(store, SqliteStore):
        store.path.write_bytes(copy)
        return
    for table, found in copy.items():
        added = [(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row) for row in found]
        tamper(store, (f"DELETE FROM {table}", ()), *added)


def tamper(store, *statements):
    """Change what is stored as somebody with any tool of the database would."""
    with opened(store) as execute:
        for statement, values in statements:
            execute(statement, values)


def forge(store, make):
    """Rewrite all entries and chain them anew, as an owner who knows the format can."""
    previous, forged = "", []
    for number, text, _ in rows(store):
        text = make(number, text)
        previous = seal(previous, text)
        forged.append(("UPDATE entries SET entry = ?, seal = ? WHERE number = ?", (text, previous, number)))
    tamper(store, *forged)


def payments(directory, jobs, pricing=PURE):
    """All jobs ask for one unit at the same moment. Exit codes, counted."""
    return Counter(str(code) for code in race(jobs, lambda number: attempt(directory, f"job {number}", pricing)))


def attempt(directory, note, pricing):
    """Pay one unit, then publish a file; the exit code that a command would end with."""
    try:
        paid = reserve(ledger_in(directory), 1, note=note, pricing=pricing)
    except DpqrError as error:
        return error.exit_code
    except BaseException:
        return 1
    publish(directory, paid)
    return 0


def publish(directory, paid):
    (directory / "published" / str(paid.number)).write_text(paid.receipt)


def kills(directory, count, seed, crowd, pricing=PURE):
    """Kill at least `count` jobs that reserve, publish and settle without end, `crowd` of them racing.

    Every fifth of them, on average, meets a full disk.
    """
    moments = random.Random(seed)
    done = {"killed": 0, "ended": 0, "unsound": []}
    began = time.monotonic()
    cycle(directory, pricing)
    longest = max(LONGEST_LIFE, 4 * (time.monotonic() - began))  # on a busy machine jobs get further in no less of it
    while done["killed"] < count:
        children = [start(directory, full=moments.random() < 0.2, pricing=pricing) for _ in range(crowd)]
        for child in children:
            time.sleep(moments.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            done["killed" if code == -signal.SIGKILL else "ended"] += 1
        if fault := unsound(directory):
            done["unsound"].append(fault)
    return done


def start(directory, *, full, pricing):
    child = os.fork()
    if child:
        return child
    if full:
        fill(directory)
    while True:
        try:
            cycle(directory, pricing)
        except DpqrError as error:
            if error.exit_code != 7:
                os._exit(error.exit_code)
        except BaseException:
            os._exit(1)


def fill(directory):
    """From now on no file of this process grows beyond the ledger's size by a page: a disk that is about to be full."""
    if SERVER in os.environ:
        return
    size = (directory / "ledger.sqlite").stat().st_size + PAGE
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def full(directory):
    """Go on with a full disk until the ledger gives up; what it says."""
    fill(directory)
    while True:
        try:
            cycle(directory)
        except DpqrError as error:
            return {"exit": error.exit_code, "said": str(error)}


def cycle(directory, pricing=PURE):
    ledger = ledger_in(directory)
    paid = reserve(ledger, "0.001", pricing=pricing)
    publish(directory, paid)
    ledger.settle(paid, draws("0.0005"), note="released")


def unsound(directory):
    """What is wrong with the ledger after a kill: nothing, or a sentence. Other jobs may go on meanwhile."""
    published = {path.name: path.read_text() for path in (directory / "published").iterdir()}
    try:
        ledger = ledger_in(directory)
        ledger.verify()
        paid = {str(entry.number): entry.hash for entry in ledger.entries() if entry.kind == "reserve"}
    except DpqrError as error:
        return str(error)
    for name, receipt in published.items():
        if name not in paid or receipt not in {paid[name], ""}:
            return f"{name} was published and not paid"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["race", "kills", "full"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--crowd", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delta", type=by, default=PURE)
    given = parser.parse_args()
    SystemNoise().words(1)  # numpy is here before the jobs are forked, whose lives are short
    PAIR.price(draws("0.001"), given.delta)  # and so are the accountants
    (given.directory / "published").mkdir(exist_ok=True)
    if given.what == "race":
        print(json.dumps(payments(given.directory, given.jobs, given.delta)))
    elif given.what == "full":
        print(json.dumps(full(given.directory)))
    else:
        print(json.dumps(kills(given.directory, given.count, given.seed, given.crowd, given.delta)))


if __name__ == "__main__":
    main()
