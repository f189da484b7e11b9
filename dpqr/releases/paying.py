"""A run that a ledger pays for: reserved before the data is opened, settled when the release is published, continued
where it was killed in between.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dpqr.domain.domain import LearnedPart
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.accountants.accountant import EveryFilter, PrivacyFilter
from dpqr.kernel.budget import Pricing, upward_text
from dpqr.kernel.errors import RESUMABLE, STAYS_SPENT, DataError, DocumentError, DpqrError, GoalMissed, UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.noise.source import KeyedNoise, NoiseSource
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import DEFAULT, NO_REASON, RELEASED, Reason, Reservation
from dpqr.ledger.location import ledger_origin
from dpqr.releases.draws import Journal, NoJournal
from dpqr.releases.files.atomic import read_record
from dpqr.releases.fingerprints import has_another_form, release_note
from dpqr.releases.journal import (
    TUNED_ELSEWHERE,
    LedgerJournal,
    TranscriptFile,
    begin_journal,
    continue_journal,
    open_transcript,
    run_of,
    table_mark,
)
from dpqr.releases.record.plan_document import plan_hash
from dpqr.releases.requests import LedgerRequest
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.tables.policy import UTF_8, Policy
from dpqr.tables.source import TableSource

if TYPE_CHECKING:
    from dpqr.ledger.chained_ledger import ChainedLedger
    from dpqr.ledger.state import Charge

ENDING = ".transcript"
NOTHING_WAITS = "--resume: no killed release waits there; leave --resume out to make one"
_ROWS_OF_PERSONS = b"dpqr: rows of persons"
_FIRST_LINE = 2**16
"""Characters of a transcript that are read before its form is checked."""


class PaidRun(Struct, kw_only=True):
    """One run, with the reservation that pays for it, if there is a ledger.

    If the release goes to a directory, every draw is kept in a transcript beside it until the run is settled.

    looked: whether rows may have been read, by this job or by the one that it continues. repeatable: whether the table
    can be read again. done: whether the reservation is settled, or left for --resume, and the user was told.
    """

    guard: EveryFilter
    ledger: ChainedLedger | None = None
    paid: Reservation | None = None
    kept: LedgerJournal | None = None
    looked: bool = False
    repeatable: bool = True
    done: bool = False

    @property
    def journal(self) -> Journal:
        return self.kept or NoJournal()

    def look(self, source: TableSource) -> None:
        """From here on rows may decide how the run ends.

        Raises: DataError unless a continued run has the table that it began with; that closes the run (`table_mark`).
        UsageFault for standard input or a stream, of which nothing is left to continue with.
        """
        continued, self.looked, self.repeatable = self.looked, True, source.repeatable
        if not self.kept or not self.ledger or not self.paid:
            return
        if not source.repeatable and continued:
            self.done = True
            raise UsageFault(f"--resume: {_unrepeatable(source)}; the run stays as it is, and paid")
        if self.kept.same_table(table_mark(source, self.ledger.key(self.paid))):
            return
        self._settle(self.paid.events, "closed: it was to be continued on another table")
        self._forget()
        self.done = True
        raise DataError(
            "the table is not the one that the release began with\n"
            "the run is closed and stays paid in full; a release of this table is a new one, paid anew"
        )

    def drawing(self, noise: NoiseSource) -> NoiseSource:
        """What the key is drawn from that chooses the rows of each person: where the run can be continued, a stream of
        a key that stays in the ledger, so that a job that continues it keeps the same rows.

        Privacy:
            The key is made once for each reservation, independent of the table, as `Bounding` asks; the guarantee holds
            for every key, to somebody who knows it too. It is never exported, is used for no other purpose than the
            table's mark (for which it is hashed in another way), and is erased with the settlement.
        """
        if not self.kept or not self.ledger or not self.paid or not self.repeatable:
            return noise
        return KeyedNoise(hmac.digest(self.ledger.key(self.paid), _ROWS_OF_PERSONS, "sha256"))

    def released(self, drawn: str) -> None:
        """The release is published: settle at what was charged, and do without the transcript.

        drawn: the SHA-256 of what its record says was drawn, which binds the record to this entry of the ledger.

        What was not charged comes back: draws of a plan whose loop has ended early. The end is a function of the
        released transcript, unless a draw was lost: what was left out for that is no such function, and stays paid.
        """
        if not self.paid:
            return
        self._settle(self.paid.events if self._whole else self.guard.events, RELEASED, drawn)
        self._forget()

    @property
    def _whole(self) -> bool:
        """Whether a draw was lost, so that what was left out is no function of the released transcript."""
        return self.kept is not None and self.kept.lost

    @property
    def charged(self) -> str:
        """The figures of what the ledger will keep, where they are less than those of what it has set aside; else
        empty."""
        if not self.paid or self._whole:
            return ""
        kept = self.paid.currency.settled(self.paid.cost, self.guard.events, self.paid.pricing)
        told, whole = (self.paid.currency.words(cost, upward_text) for cost in (kept, self.paid.cost))
        return "" if told == whole else told

    def failed(self, error: BaseException) -> None:
        """Decide what becomes of the reservation of a run that ends with `error`, and add a note on it to the error.

        | the run ends                                                  | reservation     | transcript         |
        |---------------------------------------------------------------|-----------------|--------------------|
        | before the first look at rows                                 | settled at zero | removed            |
        | by a DataError (the table's contract), before the first draw  | settled in full | removed            |
        | by anything else, or by anything after the first draw:        |                 |                    |
        | - where there is a transcript, and the table is repeatable    | stays spent     | waits for --resume |
        | - without --out, or on standard input or a stream             | settled in full | removed            |
        | continued on another table (`look`)                           | settled in full | removed            |
        | continued on standard input or a stream (`look`)              | stays spent     | as it was          |
        | killed, at any point                                          | stays spent     | waits for --resume |

        Privacy:
            An ending that rows decide is an output. All that lies behind the first look is therefore paid for in full,
            and settled sums never depend on how such a run ended. A contract that the table broke once it breaks again,
            so nothing would be gained by waiting.
        """
        if not self.paid or self.done:
            return
        with suppress(DpqrError):  # the error that ended the run is the one to report
            # Whether the run can be continued.
            waits = self.kept and self.repeatable and (self.kept.begun or not isinstance(error, DataError))
            if not self.looked:
                self._close((), error, "before")
            elif waits:
                error.add_note(RESUMABLE)
            else:
                error.add_note(STAYS_SPENT)
                self._close(self.paid.events, error, "after")

    def _close(self, events: Composition, error: BaseException, when: str) -> None:
        self._settle(events, f"ended by {type(error).__name__} {when} rows were read")
        self._forget()

    def _settle(self, events: Composition, note: str, drawn: str = "") -> None:
        if self.ledger and self.paid:
            self.ledger.settle(self.paid, events, note=note, drawn=drawn)

    def _forget(self) -> None:
        if self.kept:
            self.kept.file.cut(0)


def _unrepeatable(source: TableSource) -> str:
    """Why a table cannot be read again, and be known to be the same."""
    if source.engine is not None:
        return (
            f"{source.engine.name}: it may read more than local files, whose bytes could be compared\n"
            "counts are not compared: that they are the same would tell somebody that a guess of them is right"
        )
    return f"{'standard input' if source.from_stdin else 'a stream'} cannot be read a second time"


def ledger_request(
    dataset: str | None,
    ledger: str | None,
    anchor: str | None,
    resume: bool,
    environment: Mapping[str, str] = os.environ,
) -> LedgerRequest | None:
    """Who pays, from options; None: no ledger is named or configured. UsageFault for a ledger without a dataset."""
    if dataset is not None:
        return LedgerRequest(dataset=dataset, ledger=ledger, anchor=anchor, resume=resume)
    if origin := ledger_origin(ledger, environment):
        raise UsageFault(f"{origin} names a ledger, and not whose budget pays: add --dataset NAME")
    stated = "--anchor" if anchor is not None else "--resume" if resume else None
    if stated:
        raise UsageFault(f"{stated} is about a release that a ledger pays for: add --dataset NAME")
    return None


@contextmanager
def paid_run(
    payer: LedgerRequest | None, bill: Bill, directory: Path | None, *, ready: Callable[[], None] = lambda: None
) -> Iterator[PaidRun]:
    """Pay for `bill` in full, or find the run that has paid for it, and end it as it ended.

    Args:
        directory: where the release goes.
        ready: looks at the table's structure, and so may connect an engine. It is called once it is known that the
            budget would pay (policy, approval, balance) or has paid, and before anything is reserved.

    Raises:
        BudgetRefused, DocumentError, LedgerError, UsageFault: nothing was opened then. DpqrError: from `ready`; nothing
            was reserved.
    """
    if payer is None:
        ready()
        yield PaidRun(guard=EveryFilter(filters=(bill.guard(),)))
        return
    if payer.resume and directory is None:
        raise UsageFault("--resume: name the directory of the release that was killed: add --out DIR")
    from dpqr.ledger.budgets import configured_ledger

    ledger = configured_ledger(payer.ledger, payer.anchor)
    with open_transcript(transcript_path(directory)) if directory else nullcontext() as file:
        continued = _continue_run(payer, ledger, bill, file)
        if continued is None:
            bill.require_fit(ledger, payer.dataset, locked=True)
        ready()
        if continued is None:
            kept = (
                begin_journal(file, ledger, payer.dataset, partial(bill.reserve, ledger, payer.dataset))
                if file
                else None
            )
            paid = kept.paid if kept else bill.reserve(ledger, payer.dataset)
            guard = EveryFilter(filters=(bill.guard(), paid.guard()))
            run = PaidRun(guard=guard, ledger=ledger, paid=paid, kept=kept)
        else:
            run = continued
        try:
            yield run
        except BaseException as error:
            run.failed(error)
            raise


def transcript_path(directory: Path) -> Path:
    """Where the transcript of a release to `directory` lies until it is settled."""
    return directory.parent / f".{directory.name}{ENDING}"


def is_published(directory: Path) -> bool:
    """Whether the release in `directory` is the one whose transcript lies beside it: only the settlement is missing."""
    try:
        published = read_record(directory)
        return waiting_receipt(directory) == str(published["ledger"]["seal"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def waiting_receipt(directory: Path, payer: LedgerRequest | None = None) -> str | None:
    """The receipt of the reservation whose transcript lies beside `directory`; None where none does.

    payer: whose ledger is asked where the transcript claims a reservation and does not name it yet; None: it is not.
    """
    transcript = transcript_path(directory)
    try:
        if not transcript.is_file():  # a pipe would let the job wait for ever
            return None
        with transcript.open(encoding="utf-8") as opened:
            stated = json.loads(opened.readline(_FIRST_LINE))
            if "receipt" not in stated and (line := opened.readline(_FIRST_LINE)).endswith("\n"):
                stated |= json.loads(line)
        if payer is None or "receipt" in stated:
            return str(stated["receipt"])
        dataset, claim, identity = (str(stated[name]) for name in ("dataset", "claim", "ledger"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    from dpqr.ledger.budgets import configured_ledger

    run = configured_ledger(payer.ledger, payer.anchor).claimed_run(dataset, claim, identity)
    return None if run is None else run.reservation.receipt


def _continue_run(
    payer: LedgerRequest, ledger: ChainedLedger, bill: Bill, file: TranscriptFile | None
) -> PaidRun | None:
    """The run whose transcript lies there; None where there is none, and none was asked for."""
    if file is None or not file.lines:
        if payer.resume:
            raise UsageFault(NOTHING_WAITS)
        return None
    run = run_of(file, ledger)
    if run is None and not payer.resume:
        file.cut(0)
        return None
    if run is None:
        raise _already_settled(file)
    if not payer.resume:
        raise UsageFault(
            "a killed release to that --out is paid and waits: --resume continues it\n"
            f"to give it up, remove {file.path}; its price stays spent"
        )
    if has_another_form(run.note):
        raise UsageFault(
            "--resume: that release was begun by another version of dpqr, which writes its plans in another form\n"
            f"continue it with that version; to give it up, remove {file.path}; its price stays spent"
        )
    if (run.reservation.dataset, run.note, run.reservation.plan) != (payer.dataset, bill.note, bill.plan):
        raise UsageFault(
            "--resume: the plan is not the one that the release began with; "
            "give the same documents, options and --dataset, to the same version of dpqr\n"
            f"{TUNED_ELSEWHERE}"
        )
    journal = continue_journal(file, ledger, run)
    guard = EveryFilter(filters=(bill.guard(), run.reservation.guard()))
    return PaidRun(guard=guard, ledger=ledger, paid=run.reservation, kept=journal, looked=True)


def _already_settled(file: TranscriptFile) -> UsageFault:
    """The answer to --resume for a run that was settled before its job was killed, or closed, or never paid."""
    directory = file.path.with_name(file.path.name[1 : -len(ENDING)])
    if waiting_receipt(directory) is None:
        file.cut(0)
        return UsageFault(NOTHING_WAITS)
    if not is_published(directory):
        return UsageFault("--resume: that run is settled; leave --resume out to make a new release, paid anew")
    file.cut(0)
    return UsageFault(f"--resume: that release was finished, and is in {directory}; there is nothing to continue")


# Bill: what a run will be charged, before it begins; and whether its payer could pay it now.


class Bill(Struct, frozen=True, kw_only=True):
    """What a run will be charged, before it begins. pricing: the accountant that proves it; guard: a fresh filter that
    admits it; note: what the ledger remembers of it; plan: the SHA-256 of its document, empty where it has none;
    policy: how the table is read; reason: why, who asks, and who approved; period: whose rows alone are read; learned:
    what was learned of the domain before, and which entries paid."""

    events: Composition
    unit: PrivacyUnit
    pricing: Pricing
    guard: Callable[[], PrivacyFilter]
    note: str
    plan: str = ""
    policy: Policy = DEFAULT
    reason: Reason = NO_REASON
    period: PeriodRows | None = None
    learned: LearnedPart | None = None

    def require_fit(
        self, ledger: ChainedLedger, dataset: str, *, locked: bool = False, after: Bill | None = None
    ) -> None:
        """BudgetRefused where the budget would not pay now; DocumentError where the domain states less for what was
        learned than the ledger says that it has cost. Nothing is written.

        locked: the run follows a plan that was reviewed; of others nobody asks for an approval before they are written.
        after: a run that is paid before it.
        """
        if self.learned is not None and self.learned.entries:
            from dpqr.ledger.record import require_learned

            try:
                require_learned(ledger.walk(), self.learned.entries)
            except GoalMissed as fault:
                raise DocumentError(f"{fault}\ngive the domain file as the run that learned it wrote it") from None
        charge = self._charge(dataset)
        before = None if after is None else after._charge(dataset)
        ledger.require_fit(charge if locked else replace(charge, plan=""), after=before)

    def reserve(
        self,
        ledger: ChainedLedger,
        dataset: str,
        key: bytes | None = None,
        claim: Callable[[], object] | None = None,
    ) -> Reservation:
        """Pay, in full. BudgetRefused where the budget does not. key, claim: as for `ChainedLedger.reserve`."""
        return ledger.reserve(self._charge(dataset), note=self.note, key=key, claim=claim)

    def _charge(self, dataset: str) -> Charge:
        from dpqr.ledger.state import Charge

        return Charge(
            dataset=dataset,
            events=self.events,
            unit=self.unit,
            policy=self.policy,
            pricing=self.pricing,
            period=self.period,
            plan=self.plan,
            reason=self.reason,
        )


def release_bill(plan: Plan, policy: Policy = DEFAULT, encoding: str | None = None) -> Bill:
    """The bill of a release. encoding: of the table's text; None: UTF-8."""
    pricing, guard = Pricing(accountant=plan.roles.accountant.name, delta=plan.budget.delta), partial(make_filter, plan)
    unit = plan.problem.unit
    return Bill(
        events=plan.events,
        unit=unit,
        pricing=pricing,
        guard=guard,
        note=release_note(),
        plan=plan_hash(plan),
        policy=policy,
        period=_read_rows(plan.problem, encoding),
        learned=plan.problem.domain.learned,
    )


def _read_rows(problem: Problem, encoding: str | None) -> PeriodRows | None:
    """Whose rows a release reads and, where they are bounded over a counter's life, how.

    Privacy:
        A row is malformed, and so nobody's, by the cells of the columns that are read and by the encoding. A release
        that reads others might not count a row that an earlier one has used (`Layer`).
    """
    rows = problem.period
    if rows is None or rows.first is None:
        return rows
    read = "\n".join([encoding or UTF_8, *sorted(problem.domain.names)])
    return replace(rows, read=sha256(read.encode()).hexdigest())


def require_affordable(
    payer: LedgerRequest | None, bill: Bill, *, locked: bool = False, after: Bill | None = None
) -> None:
    """As `Bill.require_fit`, of the ledger that a request names; LedgerError. A run that is continued is paid.

    locked, after: as for `Bill.require_fit`.
    """
    if payer is not None and not payer.resume:
        from dpqr.ledger.budgets import configured_ledger

        bill.require_fit(configured_ledger(payer.ledger, payer.anchor), payer.dataset, locked=locked, after=after)
