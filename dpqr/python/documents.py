"""Public documents: checked together, made from codebooks, described by their schema; and the files of a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.python.checks import Document, Path, boolean, check_options, document, run_sanitised, text
from dpqr.python.ledger import payer
from dpqr.python.options import ApprovalOptions, LedgerPlace, ReasonOptions, checks
from dpqr.python.owner_options import DomainSources, LearnedSources, LearnOptions

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.domain.text.documents import AppliedFix
    from dpqr.python.project import NewProject
    from dpqr.releases.documents import DomainRequest, MadeDomain


class Checked(Struct, frozen=True, eq=False):
    """What two sound documents ask for, in public sizes. fixed: what was written into their files to make them so.

    record: as `dpqr check --json` prints it.

    >>> found = check({"queries": [{"marginal": ["age"]}]}, {"age": 4})
    >>> found, found.columns.values.tolist()[0][:2]
    (Checked(4 queries in 1 block over 4 cells), ['age', 4])
    """

    record: dict[str, Any]
    fixed: tuple[AppliedFix, ...] = ()

    @property
    def columns(self) -> pd.DataFrame:
        """One row a column: its cells, and its rule for each fault that a cell of it can have."""
        import pandas as pd

        listed = ({"column": each["name"], "cells": each["cells"], **each["rules"]} for each in self.record["columns"])
        return pd.DataFrame(listed)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return tuple(self.record["notes"])

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        counts = count_words(self.record["queries"], "query"), count_words(self.record["blocks"], "block")
        return f"Checked({counts[0]} in {counts[1]} over {count_words(self.record['cells'], 'cell')})"

    def _repr_html_(self) -> str:
        shown: str = self.columns.to_html(index=False, border=0)
        return shown


def check(
    queries: Document,
    domain: Document | None = None,
    *,
    strict: bool = False,
    fix: bool = False,
    out: Path | None = None,
) -> Checked:
    """Check the queries and their domain together; no data is opened.

    Args:
        queries, domain: paths, dicts, or what `dpqr.queries()` and `dpqr.domain_from()` have built.
        strict: cut no bins and take no labels from the queries.
        fix: write obvious fixes, such as of a misspelt key, into the files.
        out: a new file for the queries as a JSON document, which shows what SQL asks.

    Raises:
        DocumentError: up to 20 faults, each with its place and what is allowed there, as `faults`.
    """
    from dpqr.releases.any_release import check_documents
    from dpqr.releases.documents import fix_documents, write_queries

    queries_document = document("queries", queries)
    over = None if domain is None else document("domain", domain)
    if fix and (isinstance(queries_document, dict) or isinstance(over, dict)):
        raise UsageFault("fix: is about files, and a document is in memory; give paths, or leave it out")
    written = run_sanitised(lambda: fix_documents(queries_document, over)) if boolean("fix", fix) else []
    found = run_sanitised(lambda: check_documents(queries_document, over, strict=boolean("strict", strict)))
    if out is not None:
        run_sanitised(lambda: write_queries(os.fspath(out), queries_document, over))
    return Checked(found, tuple(written))


def schema(document: Literal["domain", "queries", "release"]) -> dict[str, Any]:
    """The JSON Schema of a domain file, a queries file, or the record release.json."""
    from dpqr.releases.documents import document_schema

    text("document", document, among=("domain", "queries", "release"))
    return document_schema(document)


def domain_file(
    table: object = None,
    *,
    out: Path | None = None,
    dataset: str | None = None,
    ledger: Path | LedgerPlace | None = None,
    anchor: Path | None = None,
    **sources: Unpack[LearnedSources],
) -> MadeDomain:
    """A domain file from public descriptions of a table's columns, or a skeleton to fill in.

    With `learn`, labels and bounds of the named columns are learned from the table under differential privacy, and with
    `learn_max_rows` how many rows of each person a run may use, for `eps` and `delta` in all, which the budget of
    `dataset` pays; columns that stay open are left out.

    Args:
        table: a path, a DataFrame or what else `dpqr.release` takes, of which only column names and types are read; or
            a codebook, by its ending.
        dataset: whose budget, in `ledger`, names the table: the source that its owner has registered.
        out: a new file.
        sources: `LearnedSources`. dry_run: what would be learned and paid, as remarks; no row is read. lock: the same,
            and the plan in a new file, to be reviewed. plan: such a file, which states all but the table.

    Returns:
        `document`, a dict that `domain=` takes; `text`, the file's; `remarks`, on what is open, left out or learned.

    Raises:
        UsageFault: no source, or one that cannot be read.
        BudgetRefused: the budget does not pay for what is learned, or its policy does not allow it.
        DocumentError: the sources contradict themselves.
        AlreadyThere: the file `out` exists.
    """
    from dpqr.releases.documents import domain_file as made_from
    from dpqr.releases.documents import write_new

    learns = sources.get("learn") or sources.get("plan") is not None
    who = payer(dataset, ledger, anchor) if dataset is not None or learns else None
    learning, described = _learning(sources)
    request = replace(_domain_request(table, described), payer=who)
    if learning is not None:
        return _learned(request, learning, out)
    made = run_sanitised(lambda: made_from(request))
    if out is not None:
        write_new(os.fspath(out), made.text)
    return made


def init(
    directory: Path = ".", table: Path | None = None, *, dataset: str | None = None, **sources: Unpack[DomainSources]
) -> NewProject:
    """Write dpqr.toml, domain.json and queries.json into a directory, to be filled in.

    Args:
        table: a table, of which only column names and types are read.
        dataset: what the ledger calls it.
        sources: of the domain file, `DomainSources`.

    Returns:
        `paths`, of the files; `remarks`, on what is open in the domain file.

    Raises:
        AlreadyThere: one of the files exists; none is written then.
    """
    from dpqr.python.project import start

    request = _domain_request(table, sources)
    return run_sanitised(lambda: start(os.fspath(directory), request, dataset))


def _learning(given: Mapping[str, object]) -> tuple[dict[str, Any] | None, DomainSources]:
    """What is to be learned, None for nothing, and the other options. UsageFault for options that say how, and not of
    what."""
    own = {*checks(LearnOptions), *checks(ReasonOptions), *checks(ApprovalOptions)}
    stated = {name: value for name, value in given.items() if name in own and value not in (None, False, (), [])}
    described = cast("DomainSources", {name: value for name, value in given.items() if name not in own})
    if stated.keys() & {"learn", "learn_max_rows", "plan"}:
        return stated, described
    if stated:
        raise UsageFault(f"{next(iter(stated))}: is about what is learned; add --learn COLUMN, or leave it out")
    return None, described


def _learned(described: DomainRequest, given: Mapping[str, object], out: Path | None) -> MadeDomain:
    from dpqr.python.ledger import reason
    from dpqr.releases.documents import DomainRequest
    from dpqr.releases.learned.learned_domain import LearnRequest, dry_learning, learn_domain, lock_learning

    about = {*checks(ReasonOptions), *checks(ApprovalOptions)}
    stated = check_options({name: value for name, value in given.items() if name not in about}, checks(LearnOptions))
    dry, lock, plan = stated.pop("dry_run", False), stated.pop("lock", None), stated.pop("plan", None)
    if plan is not None:
        if lock is not None:
            raise UsageFault("--lock writes a plan and --plan follows one; give one of them")
        own = replace(DomainRequest(), data=described.data, payer=described.payer)
        own = replace(own, delimiter=described.delimiter, encoding=described.encoding)
        if stated or described != own:
            raise UsageFault("--plan: states what is learned, and how; leave out all but the table and who pays")
        request = LearnRequest(described=described, reason=reason(given), plan=os.fspath(plan))
    elif "eps" not in stated:
        raise UsageFault("--learn, --learn-max-rows: what is learned costs epsilon; add --eps, for example 0.1")
    else:
        columns = tuple(name for each in stated.pop("learn", ()) for name in each.split(",") if name)
        eps = stated.pop("eps")
        request = LearnRequest(described=described, columns=columns, epsilon=eps, reason=reason(given), **stated)
    if lock is not None:
        return run_sanitised(lambda: lock_learning(request, os.fspath(lock)))
    if dry:
        return run_sanitised(lambda: dry_learning(request))
    return run_sanitised(lambda: learn_domain(request, out=None if out is None else os.fspath(out)))


def _domain_request(table: object, sources: DomainSources) -> DomainRequest:
    from dpqr.python.requests import table_source
    from dpqr.releases.documents import DomainRequest

    stated = check_options(sources, checks(DomainSources))
    data: Any = os.fspath(table) if isinstance(table, str | os.PathLike) else table
    if data is not None and not isinstance(data, str):
        data = table_source(data, stated)
    return DomainRequest(data=data, table=stated.pop("name", None), **stated)
