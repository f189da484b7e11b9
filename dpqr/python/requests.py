"""Requests of the use cases, made of options by name: the command line and the Python interface make them here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Unpack

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import field_names, replace
from dpqr.python.checks import Document, Figure, Path, boolean, check_options, document, figure, run_sanitised
from dpqr.python.ledger import payer, reason
from dpqr.python.options import LedgerPlace, OutputOptions, ReadingOptions, ReleaseOptions, checks, rows
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest, output_request
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource

LIMITS = {name: check for name, check in checks(ReadingOptions).items() if name.startswith("max_")}
PLANNED = {*field_names(PlanRequest)}
FILES = rows(OutputOptions)


def plan_request(queries: object, epsilon: Figure | None, domain: object, given: Mapping[str, object]) -> PlanRequest:
    """What a release is planned from. None of queries and epsilon: a locked plan states them.

    Raises:
        UsageFault: a value that no option may have.
        TypeError: a name that is no option.
    """
    options = check_options(given, checks(ReleaseOptions))
    planned = {name: value for name, value in options.items() if name in PLANNED}
    if "start" in planned:
        from dpqr.published.export import start_of

        # What an earlier release hands on, once it was verified.
        planned["start"] = run_sanitised(lambda: start_of(options["start"]))
    return PlanRequest(
        queries="" if queries is None else document("queries", queries),
        epsilon="" if epsilon is None else figure("eps", epsilon),
        domain=None if domain is None else document("domain", domain),
        cells=options.get("max_cells"),
        **planned,
    )


def table_source(table: object, given: Mapping[str, object]) -> TableSource:
    """The private table: paths, an engine's address, or what is in memory; nothing is opened. None: the one that the
    budget's owner has registered, or a run that opens none."""
    texts = {name: given.get(name) for name in ("delimiter", "encoding")}
    stated: dict[str, Any] = {**texts, "count_column": given.get("counts"), "workers": given.get("workers") or 1}
    if table is None:
        found = TableSource.unnamed(**stated)
    elif isinstance(table, str | os.PathLike):
        found = TableSource(paths=(os.fspath(table),), **stated)
    elif isinstance(table, list | tuple) and all(isinstance(each, str | os.PathLike) for each in table):
        found = TableSource(paths=tuple(map(os.fspath, table)), **stated)
    else:
        from dpqr.tables.engines.engine import is_engine
        from dpqr.tables.engines.spark import SparkTable, is_spark_frame
        from dpqr.tables.frames import in_memory

        table = SparkTable(frame=table) if is_spark_frame(table) else table
        held: dict[str, Any] = {"engine": table} if is_engine(table) else {"frame": in_memory(table)}
        found = TableSource(**held, **stated)
    idle = [name for name, value in texts.items() if value is not None]
    if idle and not found.paths:
        raise UsageFault(f"{idle[0]}: is about CSV files, and the table is in memory; leave it out")
    if idle and found.engine is not None:
        raise UsageFault(f"{idle[0]}: is about CSV files, and {found.engine.name} is none; leave it out")
    return found


def output(directory: Path | None, given: Mapping[str, object]) -> OutputRequest:
    """The files that were asked for."""
    options = check_options(given, checks(ReleaseOptions))
    files = {name: value for name, value in options.items() if name in FILES}
    return output_request(None if directory is None else os.fspath(directory), **files)


def publisher(given: Mapping[str, object]) -> str:
    """Whose release it is; empty: not stated."""
    return str(check_options(given, checks(ReleaseOptions)).get("publisher", ""))


def limits(given: Mapping[str, object]) -> Limits:
    """The stated limits; the others keep their defaults."""
    held = check_options({name: value for name, value in given.items() if name in LIMITS}, LIMITS)
    return Limits(**{name.removeprefix("max_"): value for name, value in held.items()})


def release_request(
    table: object,
    *,
    queries: Document | None = None,
    eps: Figure | None = None,
    domain: Document | None = None,
    plan: Path | None = None,
    dataset: str | None = None,
    ledger: Path | LedgerPlace | None = None,
    anchor: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    rehearse: bool = False,
    notes: tuple[str, ...] = (),
    **options: Unpack[ReleaseOptions],
) -> ReleaseRequest:
    """What `dpqr.release` and `dpqr.plan` ask of the use cases.

    Args:
        table: None: the one that the budget's owner has registered; or a plan or a rehearsal, which opens none.
        plan: the file of a locked plan, which states what is not given; None: queries and eps are.
        notes: what the plan shall say of the request itself.

    Raises:
        UsageFault, TypeError: a value that no option may have; a name that is no option.
        GoalMissed, LedgerError: the release before of a counter cannot be verified.
    """
    if plan is None and (queries is None or eps is None):
        unknown = next((name for name in options if name not in checks(ReleaseOptions)), None)
        hint = "" if unknown is None else f"; there is no option {unknown!r}"
        raise UsageFault(f"give queries and eps, or the plan that states them{hint}")
    # A configured ledger is passed by where nothing is paid and no budget is named.
    named = (table is not None and not rehearse) or any(each is not None for each in (dataset, ledger, anchor))
    request = ReleaseRequest(
        source=table_source(table, options),
        plan=plan_request(queries, eps, domain, options),
        output=output(out, options),
        limits=limits(options),
        payer=payer(dataset, ledger, anchor, resume) if boolean("resume", resume) or named else None,
        reason=reason(options),
        publisher=publisher(options),
        learn_share=(checked := check_options(options, checks(ReleaseOptions))).get("learn_share"),
        learn_max_rows=checked.get("learn_max_rows"),
        notes=notes,
        rehearse=boolean("rehearse", rehearse),
    )
    if (after := options.get("after")) is not None:
        # A counter goes on from the release before, once that was verified.
        from dpqr.published.evidence import VerifyRequest
        from dpqr.published.verify import require_verified, verify

        earlier = VerifyRequest(release=os.fspath(after))
        run_sanitised(lambda: require_verified(verify(earlier)))
        request = replace(request, after=earlier.release)
    if plan is None:
        return request
    from dpqr.releases.locked_plan import following

    return run_sanitised(lambda: following(request, os.fspath(plan)))
