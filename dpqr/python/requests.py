"""Options of the Python interface, named as those of the command line, and the requests that are made of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, get_args

from dpqr.kernel.errors import UsageFault
from dpqr.ledger.ledger import Reason
from dpqr.python.checks import (
    MOST_WORKERS,
    Check,
    Figure,
    Path,
    boolean,
    check_options,
    figure,
    integer,
    line,
    record_count,
    remark,
    text,
    texts,
)
from dpqr.releases.requests import (
    AnswerForm,
    BinForm,
    ExistingForm,
    OutputRequest,
    PlanRequest,
    SyntheticForm,
    output_request,
)
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource


class SharedOptions(TypedDict, total=False):
    """What releases and predictions both state: guarantee, unit, how the table is read; None: not stated."""

    delta: Figure | None
    neighbours: Literal["add-remove", "replace"] | None
    n: int | None
    unit: str | None
    max_rows: int | None
    counts: str | None
    trust: Sequence[str]
    seed: int
    delimiter: str | None
    encoding: str | None
    max_cells: int | None
    max_records: int | None
    max_columns: int | None
    max_bytes: int | None
    max_memory: int | None
    workers: int | None


class RunOptions(SharedOptions, total=False):
    """What a release is planned from, and how its table is read; None: as if it were not stated."""

    strict: bool
    count_dropped: Figure | None
    no_count_dropped: bool
    error_bars: Figure | None
    certify: Figure | None
    distinguisher: str | None
    check: str | None
    rounds: int | None
    opening: bool | None
    alpha: Figure | None
    beta: Figure | None
    variant: Literal["anytime", "printed", "sharp"] | None
    replay: bool | None
    max_model_size: int | None


class PlanOptions(RunOptions, total=False):
    """The same with the strategies that a sweep takes several of."""

    schedule: str | None
    update: str | None
    accountant: str | None
    period: str | None
    cumulative: int | None
    after: Path | None
    start: Path | None


class ReleaseOptions(PlanOptions, total=False):
    """The same with what becomes of the release, and why it is made."""

    format: AnswerForm | None
    synthetic: SyntheticForm | None
    bins: BinForm | None
    if_exists: ExistingForm | None
    views: int | None
    purpose: str | None
    by: str | None
    approved_by: str | None
    publisher: str | None


PLANNING: Mapping[str, Check] = {
    "strict": boolean,
    "delta": figure,
    "neighbours": partial(text, among=("add-remove", "replace")),
    "n": record_count,
    "unit": text,
    "max_rows": record_count,
    "counts": text,
    "count_dropped": figure,
    "no_count_dropped": boolean,
    "error_bars": figure,
    "certify": figure,
    "schedule": text,
    "distinguisher": text,
    "check": text,
    "update": text,
    "accountant": text,
    "rounds": integer,
    "opening": boolean,
    "alpha": figure,
    "beta": figure,
    "variant": partial(text, among=("anytime", "printed", "sharp")),
    "replay": boolean,
    "max_model_size": integer,
    "trust": texts,
    "seed": partial(integer, least=0),
    "period": text,
    "cumulative": integer,
    "start": lambda _, value: os.fspath(value),
}
READING: Mapping[str, Check] = {
    "delimiter": text,
    "encoding": text,
    "max_cells": integer,
    "max_records": record_count,
    "max_columns": integer,
    "max_bytes": integer,
    "max_memory": integer,
    "workers": partial(integer, most=MOST_WORKERS),
}
RELEASING: Mapping[str, Check] = {
    "after": lambda _, value: os.fspath(value),
    "format": partial(text, among=get_args(AnswerForm)),
    "synthetic": partial(text, among=get_args(SyntheticForm)),
    "bins": partial(text, among=get_args(BinForm)),
    "if_exists": partial(text, among=get_args(ExistingForm)),
    "views": partial(integer, most=10**6),
    "purpose": remark,
    "by": remark,
    "approved_by": remark,
    "publisher": line,
}
ALL: Mapping[str, Check] = {**PLANNING, **READING, **RELEASING}

REASONS = ("purpose", "by", "approved_by")
LIMITS = ("max_cells", "max_records", "max_columns", "max_bytes", "max_memory")


def plan_request(queries: object, epsilon: Figure | None, domain: object, given: Mapping[str, object]) -> PlanRequest:
    """What a release is planned from. None of queries and epsilon: a locked plan states them.

    Raises:
        UsageFault: a value that no option may have.
        TypeError: a name that is no option.
    """
    options = check_options(given, ALL)
    planned = {name: value for name, value in options.items() if name in PLANNING}
    if "start" in planned:
        planned["start"] = _start(planned["start"])
    return PlanRequest(
        queries="" if queries is None else document("queries", queries),
        epsilon="" if epsilon is None else figure("eps", epsilon),
        domain=None if domain is None else document("domain", domain),
        cells=options.get("max_cells"),
        **planned,
    )


def _start(place: str) -> bytes:
    """What an earlier release hands on, once it was verified. Raises: DpqrError."""
    from dpqr.published.export import start_of
    from dpqr.python.checks import run_sanitised

    return run_sanitised(lambda: start_of(place))


def table_source(table: object, given: Mapping[str, object]) -> TableSource:
    """The private table: paths, an engine's address, or what is in memory; nothing is opened. None: the one that the
    budget's owner has registered, or a run that opens none."""
    texts = {name: given.get(name) for name in ("delimiter", "encoding")}
    found = _table(table, {**texts, "count_column": given.get("counts"), "workers": given.get("workers") or 1})
    idle = [name for name, value in texts.items() if value is not None]
    if idle and not found.paths:
        raise UsageFault(f"{idle[0]}: is about CSV files, and the table is in memory; leave it out")
    if idle and found.engine is not None:
        raise UsageFault(f"{idle[0]}: is about CSV files, and {found.engine.name} is none; leave it out")
    return found


def _table(table: object, told: Mapping[str, Any]) -> TableSource:
    if table is None:
        return TableSource.unnamed(**told)
    if isinstance(table, str | os.PathLike):
        return TableSource(paths=(os.fspath(table),), **told)
    if isinstance(table, list | tuple) and all(isinstance(each, str | os.PathLike) for each in table):
        return TableSource(paths=tuple(map(os.fspath, table)), **told)
    from dpqr.tables.engines.engine import is_engine
    from dpqr.tables.engines.spark import SparkTable, is_spark_frame
    from dpqr.tables.frames import in_memory

    table = SparkTable(frame=table) if is_spark_frame(table) else table
    return TableSource(engine=table, **told) if is_engine(table) else TableSource(frame=in_memory(table), **told)


def output(directory: Path | None, given: Mapping[str, object]) -> OutputRequest:
    """The files that were asked for."""
    held = check_options(given, ALL)
    named = (held.get(name) for name in ("format", "synthetic", "bins", "if_exists", "views"))
    return output_request(None if directory is None else os.fspath(directory), *named)


def publisher(given: Mapping[str, object]) -> str:
    """Whose release it is; empty: not stated."""
    return str(check_options(given, ALL).get("publisher", ""))


def reason(given: Mapping[str, object]) -> Reason:
    """Why a budget is opened or charged, who asks, and who approved."""
    held = check_options({name: value for name, value in given.items() if name in REASONS}, RELEASING)
    return Reason(**held)


def limits(given: Mapping[str, object]) -> Limits:
    """The stated limits; the others keep their defaults."""
    held = check_options({name: value for name, value in given.items() if name in LIMITS}, READING)
    return Limits(**{name.removeprefix("max_"): value for name, value in held.items()})


def document(name: str, given: object) -> str | dict[str, Any]:
    """A document as the use cases take it: the path of a file, or its content."""
    content = getattr(given, "document", given)
    if isinstance(content, Mapping):
        return dict(content)
    if isinstance(content, str | os.PathLike):
        return os.fspath(content)
    raise UsageFault(
        f"{name}: {type(given).__name__} is no document; give the path of a file, a dict, or what dpqr.{name}"
        f"{'_from' if name == 'domain' else ''}() has built"
    )
