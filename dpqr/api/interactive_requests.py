"""The requests of sessions of questions: the command line and the Python interface make them here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpqr.api.checks import Figure, Path, text, whole
from dpqr.api.options import document, limits, plan_request, reason, table_source
from dpqr.api.payer import ledger_paths, payer
from dpqr.app.requests import LedgerRequest
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from dpqr.api.ledger import Ledger
    from dpqr.app.sessions.interactive import AskRequest
    from dpqr.app.sessions.planning import OpenRequest


def session_payer(ledger: Path | Ledger | None, anchor: Path | None) -> LedgerRequest:
    """The ledger of a session, which knows itself whose budget pays."""
    file, outside = ledger_paths(ledger, anchor)
    return LedgerRequest(dataset="", ledger=file, anchor=outside)


def ask_request(
    name: str, payer: LedgerRequest, *, where: str | None = None, queries: object = None, table: object = None
) -> AskRequest:
    """Questions to a session.

    Args:
        table: given where it is in memory.

    Raises:
        UsageFault: unless one of `where` and `queries` is given.
    """
    from dpqr.app.sessions.interactive import AskRequest

    if (where is None) == (queries is None):
        raise UsageFault("ask: give one of --where PREDICATE, --queries FILE and --sql TEXT")
    asked = {"queries": [{"where": text("where", where)}]} if where is not None else document("queries", queries)
    source = None if table is None else table_source(table, {})
    return AskRequest(name=name, payer=payer, queries=asked, source=source)


def open_request(
    table: object,
    *,
    name: str,
    eps: Figure | None,
    domain: object,
    dataset: str | None,
    ledger: Path | Ledger | None,
    anchor: Path | None,
    expect: object,
    surprises: int | None,
    questions: int,
    options: dict[str, Any],
) -> OpenRequest:
    """What both doors ask of the use case. UsageFault: no epsilon, no dataset, or a value that no option may have."""
    from dpqr.app.sessions.planning import OpenRequest

    if eps is None:
        raise UsageFault("open: state the epsilon of the whole session: add --eps E")
    paid = payer(dataset, ledger, anchor)
    if paid is None:
        raise UsageFault("open: a session is paid from a ledger: add --dataset NAME (`dpqr budget init` makes one)")
    planned = plan_request({"queries": []} if expect is None else expect, eps, domain, options)
    return OpenRequest(
        name=name,
        source=table_source(table, options),
        plan=planned if expect is not None else replace(planned, queries=""),
        payer=paid,
        limits=limits(options),
        reason=reason(options),
        surprises=None if surprises is None else whole("surprises", surprises),
        questions=whole("questions", questions),
    )
