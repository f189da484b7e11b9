"""Sessions of questions on a disk that fails, their comparisons scripted: a free question and a surprise differ in
nothing else. `case` finds thresholds that are compared after they were passed.
"""

import json
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest

from dpqr.kernel.errors import DpqrError
from dpqr.mechanisms.sparse_vector import ThresholdComparison
from dpqr.releases import journal as transcript_file
from dpqr.releases import questions as online
from dpqr.releases.loop import SILENT
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.sessions import folder as asking
from dpqr.sessions import folder as session_folder
from dpqr.sessions import turn
from dpqr.sessions.folder import SessionFolder
from dpqr.sessions.interactive import AskRequest, ask, open_session
from dpqr.sessions.planning import OpenRequest
from dpqr.tables.source import TableSource
from support.disk_faults import Faults, Killed
from support.ledger_jobs import ledger_in, terms
from support.paid_releases import payer

DOMAIN = {"sex": 2, "age": 4}
TABLE = "\n".join(["sex,age", *(f"{n % 2},{n % 4}" for n in range(200))]) + "\n"
ONE = {"queries": [{"where": "sex = 1 and age = 3"}]}
FREE, ABOVE, BELOW = (), (1,), (-1,)
"""Sides on which the question passes its threshold."""


@dataclass
class Trace:
    """Comparisons in their order, over all processes: the number of the threshold's draw, and the outcome."""

    found: list[tuple[int, bool]] = field(default_factory=list)

    @property
    def replayed(self):
        """Thresholds that were compared after they were passed."""
        passed, found = set(), []
        for number, outcome in self.found:
            if number in passed:
                found.append(number)
            if outcome:
                passed.add(number)
        return found


@contextmanager
def scripted(passed, trace):
    """Questions pass thresholds of these sides, and of no other."""
    original = online.is_above_threshold

    def passes(data, watch, question, noise):
        try:
            outcome = original(data, watch, question, noise)
        finally:
            trace.found.append((watch.charge_number, watch.epoch.side in passed))
        return outcome

    def sample(comparison, value, noise):
        return comparison.epoch.side in passed

    with patch.object(online, "is_above_threshold", passes), patch.object(ThresholdComparison, "sample", sample):
        yield


def asked(place, queries=ONE):
    return ask(AskRequest(name="desk", payer=payer(place), queries=queries), SILENT)


def ended(place, passed, trace, queries=ONE):
    """How an ask ends: its error, and what a user sees of it; None: it was answered."""
    with scripted(passed, trace):
        try:
            asked(place, queries)
        except Killed:
            return "killed"
        except DpqrError as error:
            return type(error).__name__, error.exit_code, str(error).replace(str(place), "PLACE")
    return None


def folder(place):
    return SessionFolder(ledger=place / "ledger.sqlite", name="desk")


def open_desk(place, table=TABLE):
    """A session that was asked one free question, its ledger with an anchor."""
    (place / "table.csv").write_text(table)
    ledger_in(place).open(terms(epsilon="100"))
    pay_and_measure(place)
    assert ended(place, FREE, Trace()) is None


def pay_and_measure(place):
    """Open the session."""
    run = ReleaseRequest(
        source=TableSource(paths=(str(place / "table.csv"),)),
        plan=PlanRequest(epsilon="40", domain=DOMAIN, surprises=12),
        payer=payer(place),
    )
    open_session(OpenRequest(name="desk", run=run), SILENT)


@dataclass(frozen=True)
class Found:
    """end: how a question ended. replayed: thresholds that were compared after they were passed. repeated: those that
    the failed question was compared with, and a later one again. lives: whether its first
    threshold was compared with again; None: it came to no comparison.
    """

    end: object
    replayed: list[int]
    repeated: set[int]
    lives: bool | None


def case(place, passed, queries=ONE, **fault):
    """A question on a failing disk, and one more once it is well."""
    trace = Trace()
    with pytest.MonkeyPatch.context() as patched:
        Faults(place, **fault).watched(patched)
        end = ended(place, passed, trace, queries)
    return judged(place, end, trace)


def judged(place, end, trace):
    """What a further question finds, which passes nothing."""
    failed_at, logged = len(trace.found), folder(place).log()
    assert ended(place, FREE, trace) is None, "the session goes on"
    used, later = ({number for number, _ in part} for part in (trace.found[:failed_at], trace.found[failed_at:]))
    ledger_in(place).verify()
    failed = end is not None and "ended" not in logged[-1]
    lives = trace.found[0][0] in later if used else None
    return Found(end, trace.replayed, used & later if failed else set(), lives)


def calls(place, passed, queries=ONE):
    """What one question writes."""
    with pytest.MonkeyPatch.context() as patched:
        faults = Faults(place).watched(patched)
        assert ended(place, passed, Trace(), queries) is None
    return [(name, what.rpartition(".")[2] if what.endswith(".draft") else what) for name, what in faults.calls]


@contextmanager
def old_protocol():
    """As version 0.10.0 kept its thresholds: they stay on the disk while answers are compared, a pass replaces their
    file by a new one, nothing is set aside, and every fault has its own words."""
    live = []

    def opened(state, *given):
        live.append(RESTORED(state, *given))
        return live[-1]

    def seal(made, line):
        made.log.say(line, durable=True)

    def begin_draws(made, line):
        remaining = {"asks": 0, "thresholds": turn.thresholds_of(live[-1].watches)}
        made.folder.replace("secret", json.dumps(remaining).encode())
        made.log.say(line)

    def kept(folder, _):
        return KEPT(folder, (folder.secret() or {}).get("asks"))

    RESTORED, KEPT = turn.RestoredSession.opened, turn.load_thresholds  # noqa: N806 (the originals)
    with ExitStack() as stack:
        for owner, name, other in (
            (turn.RestoredSession, "opened", opened),
            (asking.QuestionWriter, "begin_draws", begin_draws),
            (turn, "load_thresholds", kept),
            (turn, "refuse_on_disk_fault", lambda _: nullcontext()),
            (asking.QuestionWriter, "seal", seal),
            (asking.QuestionWriter, "rehearse", lambda made: None),
            (asking.QuestionWriter, "end", lambda made: made.log.trim()),
            (asking, "_ballasts", lambda *given: {}),
            (session_folder, "fill", lambda descriptor, size: None),
            (transcript_file, "fill", lambda descriptor, size: None),
        ):
            stack.enter_context(patch.object(owner, name, other))
        yield
