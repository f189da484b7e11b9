"""Sessions of questions that come one at a time; the command line makes its requests here too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.python.checks import Document, Figure, Path, document, integer, run_sanitised, text
from dpqr.python.learning_options import PredictionRun
from dpqr.python.ledger import ledger_paths, payer, reason
from dpqr.python.options import LedgerPlace, PlanOptions, ReleaseOptions
from dpqr.python.plan import Plan
from dpqr.python.predict import PredictionPlan, Predictions, points_source, prediction_request
from dpqr.python.release import FromRun, Release
from dpqr.python.requests import limits, plan_request, table_source
from dpqr.releases.requests import LedgerRequest, ReleaseRequest

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.prediction.plan import PredictionPlan as PlannedRun
    from dpqr.prediction.rates import PlanAlternatives
    from dpqr.sessions.interactive import AskRequest, Status
    from dpqr.sessions.planning import OpenRequest
    from dpqr.sessions.predictions import AskPredictions, OpenPredictions, PredictionStatus


# What sessions of questions and of predictions share in Python: a name beside the ledger that pays.


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHandle:
    """A session, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.
    """

    name: str
    ledger: str | None = None
    anchor: str | None = None
    table: object = field(default=None, repr=False)

    @classmethod
    def paid_by(cls, ledger: Path | LedgerPlace | None, anchor: Path | None, *, name: str, table: object) -> Self:
        """A session that was opened just now. table: None, unless it is in memory."""
        file, outside = ledger_paths(ledger, anchor)
        return cls(name=name, ledger=file, anchor=outside, table=table)

    def __reduce__(self) -> Any:
        """Pickled and copied without the table, whose rows a pickle would hold."""
        return partial(type(self), name=self.name, ledger=self.ledger, anchor=self.anchor), ()

    @property
    def payer(self) -> LedgerRequest:
        """The ledger that pays; the session knows whose budget it is."""
        return session_payer(self.ledger, self.anchor)


def session_payer(ledger: Path | LedgerPlace | None, anchor: Path | None) -> LedgerRequest:
    """The ledger of a session, which knows itself whose budget pays."""
    file, outside = ledger_paths(ledger, anchor)
    return LedgerRequest(dataset="", ledger=file, anchor=outside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(SessionHandle):
    """A session of questions, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.

    >>> Session(name="survey-desk", ledger="budgets.sqlite")
    Session(name='survey-desk', ledger='budgets.sqlite', anchor=None)
    """

    def ask(self, where: str | None = None, *, queries: Document | None = None) -> pd.DataFrame:
        """Answer questions, one after the other.

        Args:
            where: a predicate, whose records are counted. queries: a queries document; one of the two.

        Returns:
            One row a query: `query`, `detail`, `estimate`, `low`, `high` (an interval, missing where the session looks
            no further), `free`.

        Raises:
            DpqrError: of the class whose `exit_code` the command would end with.

        Privacy:
            Within what was paid when the session was opened.
        """
        import pandas as pd

        from dpqr.releases.loop import SILENT
        from dpqr.sessions.interactive import ask

        request = ask_request(self.name, self.payer, where=where, queries=queries, table=self.table)
        found = run_sanitised(lambda: ask(request, SILENT))
        return pd.DataFrame([each.document() for each in found])

    def status(self) -> Status:
        """How it stands: questions, surprises that are left to pay for, the reach of a free answer."""
        from dpqr.sessions.interactive import status

        return run_sanitised(lambda: status(self.name, self.payer))

    def close(self, out: Path | None = None) -> Release | None:
        """End it: its answers as a release, written into the new directory `out` if one is named.

        Returns:
            None where nothing was answered.
        """
        from dpqr.releases.requests import OutputRequest
        from dpqr.sessions.interactive import close

        output = OutputRequest(directory=None if out is None else os.fspath(out))
        finished = run_sanitised(lambda: close(self.name, self.payer, output))
        return None if finished is None else Release(FromRun(finished))


def open_session(
    table: object,
    *,
    name: str,
    eps: Figure | None = None,
    domain: Document | None = None,
    dataset: str | None = None,
    ledger: Path | LedgerPlace | None = None,
    anchor: Path | None = None,
    expect: Document | None = None,
    surprises: int | None = None,
    questions: int | None = None,
    plan: Path | None = None,
    dry_run: bool = False,
    **options: Unpack[PlanOptions],
) -> Session | Plan:
    """Pay for a session of questions, and measure what it starts from.

    Args:
        table: the private table, as of `dpqr.release`. options: of `dpqr interactive open`, with _ for -.
        expect: queries that are measured first, with half of the budget; None: the columns by themselves, with a tenth.
        surprises: paid for; None: a twentieth of the expected `questions`, which are 1,000 where none are stated.
        plan: the file of a reviewed plan of a session (`Plan.save` of a dry run), which states what is not given.
        dry_run: only plan; no table is opened (None will do), and the plan is returned.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta) for all that the session ever answers; paid in full before a row is looked at.
    """
    from dpqr.releases.loop import SILENT
    from dpqr.sessions.interactive import open_session as opened
    from dpqr.sessions.interactive import session_plan

    request = open_request(
        table,
        name=name,
        eps=eps,
        domain=domain,
        dataset=dataset,
        ledger=ledger,
        anchor=anchor,
        expect=expect,
        surprises=surprises,
        questions=questions,
        plan=plan,
        **options,
    )
    if dry_run:
        return Plan(*run_sanitised(lambda: session_plan(request)))
    run_sanitised(lambda: opened(request, SILENT))
    return Session.paid_by(ledger, anchor, name=name, table=table if request.run.source.frame is not None else None)


def ask_request(
    name: str, payer: LedgerRequest, *, where: str | None = None, queries: object = None, table: object = None
) -> AskRequest:
    """Questions to a session.

    Args:
        table: given where it is in memory.

    Raises:
        UsageFault: unless one of `where` and `queries` is given.
    """
    from dpqr.sessions.interactive import AskRequest

    if (where is None) == (queries is None):
        raise UsageFault("ask: give one of --where PREDICATE, --queries FILE and --sql TEXT")
    entries = {"queries": [{"where": text("where", where)}]} if where is not None else document("queries", queries)
    source = None if table is None else table_source(table, {})
    return AskRequest(name=name, payer=payer, queries=entries, source=source)


def open_request(
    table: object,
    *,
    name: str,
    eps: Figure | None,
    domain: object,
    dataset: str | None,
    ledger: Path | LedgerPlace | None,
    anchor: Path | None,
    expect: object,
    surprises: int | None,
    questions: int | None,
    plan: Path | None,
    notes: tuple[str, ...] = (),
    **options: Unpack[ReleaseOptions],
) -> OpenRequest:
    """What both doors ask of the use case. table: None: only a plan is wanted. notes: what the plan shall say of the
    request itself. UsageFault: no epsilon, and no plan that states it, or a value that no option may have."""
    from dpqr.releases.locked_plan import following
    from dpqr.sessions.planning import OpenRequest

    if eps is None and plan is None:
        raise UsageFault("open: state the epsilon of the whole session: add --eps E")
    planned = replace(
        plan_request(expect, eps, domain, options),
        surprises=None if surprises is None else integer("surprises", surprises),
        questions=None if questions is None else integer("questions", questions),
    )
    named = any(each is not None for each in (table, dataset, ledger, anchor))
    run = ReleaseRequest(
        source=table_source(table, options),
        plan=planned,
        payer=payer(dataset, ledger, anchor) if named else None,
        limits=limits(options),
        reason=reason(options),
        notes=notes,
    )
    followed = run if plan is None else run_sanitised(lambda: following(run, os.fspath(plan)))
    return OpenRequest(name=name, run=followed)


# Sessions of predictions, for points that come one at a time; the command line makes its requests here too.


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSession(SessionHandle):
    """A session of predictions, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.

    >>> PredictionSession(name="advice-desk", ledger="budgets.sqlite")
    PredictionSession(name='advice-desk', ledger='budgets.sqlite', anchor=None)
    """

    def ask(self, points: object) -> pd.DataFrame:
        """Predict for public rows, one after the other.

        Args:
            points: a table like any. A point that was asked about before has the same answer again, free of charge.

        Returns:
            One row a point, in their order: `prediction`, and `score` where there is one.

        Raises:
            DpqrError: of the class whose `exit_code` the command would end with.

        Privacy:
            Within what was paid when the session was opened.
        """
        import pandas as pd

        from dpqr.prediction.predict import released_table
        from dpqr.releases.files.tidy import plain_values
        from dpqr.releases.loop import SILENT
        from dpqr.sessions.predictions import ask_predictions

        request = ask_predictions_request(self.name, self.payer, points, table=self.table)
        found = released_table(run_sanitised(lambda: ask_predictions(request, SILENT)))
        return pd.DataFrame({name: plain_values(column) for name, column in found.columns.items()})

    def status(self) -> PredictionStatus:
        """How it stands: how many points are paid for and left, and the noise of each."""
        from dpqr.sessions.predictions import prediction_status

        return run_sanitised(lambda: prediction_status(self.name, self.payer))

    def close(self, out: Path | None = None) -> Predictions | None:
        """End it: its points with their predictions, written into the new file `out` if one is named.

        Returns:
            None where nothing was predicted.
        """
        from dpqr.prediction.predict import released_table
        from dpqr.prediction.receipt import prediction_receipt
        from dpqr.prediction.record import prediction_document
        from dpqr.sessions.predictions import close_predictions

        place = None if out is None else os.fspath(out)
        finished = run_sanitised(lambda: close_predictions(self.name, self.payer, place))
        if finished is None:
            return None
        lines = prediction_receipt(finished)
        return Predictions(prediction_document(finished, lines), lines, released_table(finished))


def open_predictions(
    table: object, *, name: str, dry_run: bool = False, **options: Unpack[PredictionRun]
) -> PredictionSession | PredictionPlan:
    """Pay for a session of predictions, for points that come one at a time.

    Args:
        table: the private table, as for `dpqr.predict`. dry_run: only plan; no table is opened, and the plan is
            returned. options: those of `dpqr predict open`, with _ for -, as for `dpqr.predict`. predictions: how many
            points are paid for; None: 100. plan: the file of a reviewed plan of a session (`PredictionPlan.save` of a
            dry run), which states what is not given.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta) for all that the session ever predicts; paid in full before a row is looked at.
    """
    from dpqr.releases.loop import SILENT
    from dpqr.sessions.predictions import open_predictions as opened

    request = open_predictions_request(table, name, options)
    if dry_run:
        return PredictionPlan.of(*planned_session(request))
    run_sanitised(lambda: opened(request, SILENT))
    kept = table if request.run.table.frame is not None else None
    return PredictionSession.paid_by(options.get("ledger"), options.get("anchor"), name=name, table=kept)


def open_predictions_request(
    table: object, name: str, given: Mapping[str, Any], notes: tuple[str, ...] = ()
) -> OpenPredictions:
    """What both doors ask of the use case. Raises: UsageFault, as of `prediction_request`."""
    from dpqr.sessions.predictions import OpenPredictions

    idle = next((each for each in ("points", "out", "model") if given.get(each) is not None), None)
    if idle:
        raise UsageFault(f"--{idle}: a session is opened before its points are known; `ask` gives them, `close` writes")
    return OpenPredictions(name=name, run=prediction_request(table, given, dry_run=True, notes=notes))


def ask_predictions_request(name: str, payer: LedgerRequest, points: object, *, table: object = None) -> AskPredictions:
    """Points for a session. table: given where it is in memory. UsageFault where they are that table."""
    from dpqr.sessions.predictions import AskPredictions

    if points is None:
        raise UsageFault("ask: --points FILE says what to predict (- is standard input)")
    if points is table:
        raise UsageFault("points: are the private table, and how many points there are is shown; give public rows")
    source = None if table is None else table_source(table, {})
    return AskPredictions(name=name, payer=payer, points=points_source(points, {}), table=source)


def planned_session(request: OpenPredictions) -> tuple[PlannedRun, PlanAlternatives]:
    """The plan of a session of predictions, and what else its budget would buy."""
    from dpqr.sessions.predictions import plan_predictions

    made = run_sanitised(lambda: plan_predictions(request))
    return made.plan, made.outlook
