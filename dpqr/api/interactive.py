"""Sessions of questions that come one at a time, from Python; the command line makes its requests here too."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.api.checks import Figure, Path
from dpqr.api.interactive_requests import ask_request, open_request, session_payer
from dpqr.api.options import PlanOptions
from dpqr.api.origins import Made
from dpqr.api.payer import ledger_paths
from dpqr.api.release import Release
from dpqr.api.requests import Unwatched
from dpqr.api.withheld import withheld

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document
    from dpqr.app.requests import LedgerRequest
    from dpqr.app.sessions.interactive import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of questions, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.

    >>> Session(name="survey-desk", ledger="budgets.sqlite")
    Session(name='survey-desk', ledger='budgets.sqlite', anchor=None)
    """

    name: str
    ledger: str | None = None
    anchor: str | None = None
    table: object = field(default=None, repr=False)

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

        from dpqr.app.sessions.interactive import ask

        request = ask_request(self.name, self.payer, where=where, queries=queries, table=self.table)
        found = withheld(lambda: ask(request, Unwatched()))
        return pd.DataFrame([each.document() for each in found])

    def status(self) -> Status:
        """How it stands: questions, surprises that are left to pay for, the reach of a free answer."""
        from dpqr.app.sessions.interactive import status

        return withheld(lambda: status(self.name, self.payer))

    def close(self, out: Path | None = None) -> Release | None:
        """End it: its answers as a release, written into the new directory `out` if one is named.

        Returns:
            None where nothing was answered.
        """
        from dpqr.app.requests import OutputRequest
        from dpqr.app.sessions.interactive import close

        output = OutputRequest(directory=None if out is None else os.fspath(out))
        finished = withheld(lambda: close(self.name, self.payer, output))
        return None if finished is None else Release(Made(finished))

    @property
    def payer(self) -> LedgerRequest:
        """The ledger that pays; the session knows whose budget it is."""
        return session_payer(self.ledger, self.anchor)


def open_session(
    table: object,
    *,
    name: str,
    eps: Figure,
    domain: Document | None = None,
    dataset: str,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    expect: Document | None = None,
    surprises: int | None = None,
    questions: int = 1000,
    **options: Unpack[PlanOptions],
) -> Session:
    """Pay for a session of questions, and measure what it starts from.

    Args:
        table: the private table, as of `dpqr.release`. options: of `dpqr interactive open`, with _ for -.
        expect: queries that are measured first, with half of the budget; None: the columns by themselves, with a tenth.
        surprises: paid for; None: a twentieth of the expected `questions`.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta) for all that the session ever answers; paid in full before a row is looked at.
    """
    from dpqr.app.sessions.interactive import open_session as opened

    asked: dict[str, Any] = {
        "name": name,
        "eps": eps,
        "domain": domain,
        "dataset": dataset,
        "ledger": ledger,
        "anchor": anchor,
    }
    asked |= {"expect": expect, "surprises": surprises, "questions": questions}
    request = open_request(table, **asked, options=dict(options))
    withheld(lambda: opened(request, Unwatched()))
    paths = ledger_paths(ledger, anchor)
    return Session(
        name=name, ledger=paths[0], anchor=paths[1], table=table if request.source.frame is not None else None
    )
