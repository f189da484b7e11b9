"""Releases that a ledger pays for, one of them killed at a chosen point, and what must hold afterwards."""

import contextlib
import json
import os
import signal
import warnings

from dpqr.kernel.budget import PURE
from dpqr.kernel.errors import DpqrError, UsageFault
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import DataKind
from dpqr.releases import paying as module
from dpqr.releases.loop import SILENT
from dpqr.releases.release import release
from dpqr.releases.requests import LedgerRequest, OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.limits import Limits
from dpqr.tables.policy import Policy
from dpqr.tables.source import TableSource
from support.command_desk import DOMAIN, TABLE
from support.ledger_jobs import ledger_in, store_of, terms

QUERIES = {
    "dpqr": "queries/1",
    "domain": DOMAIN,
    "queries": [{"marginal": pair} for pair in (["sex", "age"], ["sex", "income"], ["age", "income"])],
}


def lay(directory, epsilon="5", kind=DataKind.PRIVATE, policy=Policy(), **more):  # noqa: B008 (frozen)
    """A desk with a table, its queries and a ledger."""
    (directory / "table.csv").write_text(TABLE)
    (directory / "q.json").write_text(json.dumps(QUERIES))
    ledger = ledger_in(directory)
    ledger.open(replace(terms(epsilon=epsilon, **more), kind=kind, policy=policy))
    return ledger


def payer(directory, **more):
    return LedgerRequest(
        dataset="survey", ledger=store_of(directory).place, anchor=str(directory / "outside.anchor"), **more
    )


def request(directory, **more):
    plain = {"rounds": 2, "no_count_dropped": "count_dropped" not in more}
    return PlanRequest(**{"queries": str(directory / "q.json"), "epsilon": "1", **plain, **more})


def run(directory, *, out="out", resume=False, table="table.csv", observer=None, limits=None, counts=None, **more):
    """One release of the desk. after: of a counter, the release before."""
    after = more.pop("after", None)
    asked = ReleaseRequest(
        source=TableSource(
            paths=(table if table == "-" or ":" in table else str(directory / table),), count_column=counts
        ),
        plan=request(directory, **more),
        output=OutputRequest(directory=None if out is None else str(directory / out)),
        limits=limits or Limits(),
        payer=payer(directory, resume=resume),
        after=None if after is None else str(directory / after),
    )
    return release(asked, observer or SILENT)


def killed_at(directory, moment, **more):
    """A release in a child process that is killed at `moment`; how the child ended (9: killed)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads that numpy has made are idle
        child = os.fork()
    if child == 0:
        try:
            arm(*moment)
            run(directory, **more)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def arm(owner, name, count, after):
    """Kill this process at call number `count` of owner.name, before or after it."""
    original, calls = getattr(owner, name), []

    def fatal(*given, **stated):
        calls.append(name)
        if len(calls) == count and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = original(*given, **stated)
        if len(calls) == count and after:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, fatal)


def transcript(directory, out="out"):
    return module.transcript_path(directory / out)


def document(directory, out="out"):
    return json.loads((directory / out / "release.json").read_text())


def continue_all(directory, **asked):
    """Continue every release that waits; none of them pays a second time, and no price is left without its release."""
    ledger = ledger_in(directory)
    reserved = ledger.account("survey").reservations
    for path in [path for path in directory.glob(".*.transcript") if path.stat().st_size]:
        out = path.name[1:].removesuffix(".transcript")
        with path.open() as opened, contextlib.suppress(ValueError):
            while "receipt" not in (line := json.loads(opened.readline())):
                pass
            if line["entry"] in {one.settles for one in ledger.entries()}:
                continue  # killed after its settlement
        try:
            run(directory, out=out, resume=True, **asked)
        except UsageFault as fault:
            if "no killed release waits" not in str(fault):
                raise
            continue  # killed before it was paid
        assert document(directory, out)["ledger"]["entry"] in {one.settles for one in ledger.entries()}
    assert (ledger.account("survey").reservations, ledger.account("survey").unsettled) == (reserved, 0)
    assert unsound(directory) is None


def begun(entries):
    """Events of all draws that the ledger knows to have been begun, by reservation."""
    found = {}
    for entry in entries:
        if entry.kind == "draw":
            found.setdefault(entry.run, []).extend(event for event, _ in entry.events)
    return found


def unsound(directory):
    """What is wrong with the desk: nothing, or a sentence.

    Everything that was published was paid before, files are whole, and no draw is charged below its price. The
    ledger is free for the next job, and can be walked.
    """
    ledger = ledger_in(directory, wait=5)
    try:
        entries = ledger.verify().entries
    except DpqrError as error:
        return str(error)
    return _unpaid(directory, entries) or _undercharged(entries)


def _unpaid(directory, entries):
    paid, lengths = {entry.hash: entry for entry in entries if entry.kind == "reserve"}, set()
    for path in directory.iterdir():
        if not path.is_dir() or path.name.startswith("."):
            continue
        found = {each.name for each in path.iterdir()}
        if not {"answers.csv", "release.json"} <= found:
            return f"{path.name} is half a release"
        record = json.loads((path / "release.json").read_text())
        if found != {*record["files"], *record["hashes"], "release.json"}:
            return f"{path.name} is half a release"
        told = record["ledger"]
        if told["seal"] not in paid or paid[told["seal"]].number != told["entry"]:
            return f"{path.name} was published and not paid"
        lengths.add((path / "answers.csv").read_text().count("\n"))
    return "some answers are cut off" if len(lengths) > 1 else None


def _undercharged(entries):
    settled = {entry.settles: entry.cost for entry in entries if entry.kind == "settle"}
    for number, events in begun(entries).items():
        if not price(entries, events, number) <= settled.get(number, entries[number].cost):
            return f"entry {number} drew more than it paid"
    return None


def price(entries, events, number=2):
    """What they cost the only dataset of a desk, in the run that entry `number` has paid for."""
    money, paid = next(entry.terms for entry in entries if entry.kind == "init").currency, entries[number]
    return money.settled(paid.cost, tuple((event, 1) for event in events), paid.pricing or PURE)


def published(directory, out="out"):
    """The draws of a published release as its transcript kept them: choices, answers, errors."""
    record, found = document(directory, out), []
    for one in record["transcript"]:
        found += [] if one["choice"] is None else [one["choice"]]
        found += [] if one["measured"] is None else [[each["values"] for each in one["measured"]]]
    return found + [[each["values"]] for each in (record["errors"] or {"draws": []})["draws"]]
