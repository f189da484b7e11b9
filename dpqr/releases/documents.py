"""Public documents: check them, print their schema, write a new file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dpqr.domain.attribute import Bins, Rule
from dpqr.domain.domain import possible_faults, unstated_faults
from dpqr.domain.domain_file import PLACEHOLDER, domain_text
from dpqr.domain.form import UnitForm
from dpqr.domain.proposals import fill_placeholders as with_queries
from dpqr.domain.proposals import identifier_hint, type_by_name
from dpqr.domain.text.decoding import decode
from dpqr.domain.text.documents import AppliedFix, document_root, read_document, write_fixes
from dpqr.domain.text.sources import plain, states_sql
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import Every, unit_columns, whose
from dpqr.kernel.values import replace
from dpqr.ledger.codec import JSON
from dpqr.releases.files.atomic import reserve_file, write_text
from dpqr.releases.forecast.resources import require_resources
from dpqr.releases.planning import failing_notes, plan_release, read_documents, unit_notes, unit_of
from dpqr.releases.reading import policy_of, resolve_source
from dpqr.releases.record.release_document import release_schema
from dpqr.releases.requests import GivenDocument, LedgerRequest, OutputRequest, PlanRequest
from dpqr.tables.codebooks.columns import (
    Codebook,
    CodebookColumn,
    Outline,
    fill_gaps,
    has_labels,
    merge_columns,
    non_default_parts,
    outline_document,
    read_types,
    with_bounds,
)
from dpqr.tables.codebooks.known import read_codebook
from dpqr.tables.codebooks.plain_schemas import typed_columns
from dpqr.tables.points import refuse_table_as_document
from dpqr.tables.source import TableSource
from dpqr.tables.structure import column_types
from dpqr.workload.form import schema
from dpqr.workload.sql.reading import translated_sql

CHECKED_AT = "1"
"""Epsilon of the plan that documents are checked by."""
ANY_COLUMN = "(unit)"
"""Stands for the unit's column where neither document names it."""
ROUNDS = 100
"""Looks at the documents, after each of which fixes are written: one error names few faults."""


def document_schema(document: Literal["domain", "queries", "release"]) -> JSON:
    """The JSON Schema of "domain", "queries" or "release" (release.json)."""
    return release_schema() if document == "release" else schema(document)


def check_closed(queries: GivenDocument, domain: GivenDocument | None, *, strict: bool = False) -> JSON:
    """Decode, compile and plan both documents; what a release would work on, in public sizes.

    Raises:
        DocumentError, InfeasiblePlan, UsageFault: as a release of them that states epsilon alone would be refused
            before it opens its table.
    """
    document = read_documents(queries, domain, strict=strict)
    request = PlanRequest(epsilon=CHECKED_AT, strict=strict)
    if document.persons and document.domain.unit is None:  # the release names the column that says whose row it is
        named = next((table.column for table in document.persons if table.column), ANY_COLUMN)
        request = replace(request, unit=named, max_rows=1)
    plan = plan_release(request, document)
    require_resources(plan, OutputRequest())
    stated, unstated = document.domain.unit, unstated_faults(document.domain)
    columns: list[JSON] = []
    for each in document.domain.attributes:
        column: JSON = {"name": each.name, "cells": each.size}
        if each.hierarchy is not None:
            column["levels"] = {level.name: len(level.nodes) for level in each.hierarchy.levels}
        columns.append(column | {"rules": {fault: each.rule(fault).value for fault in possible_faults(each.axis)}})
    notes = [*document.notes, *failing_notes(document.domain)]
    for each in document.domain.attributes:
        axis = each.axis
        if isinstance(axis, Bins) and axis.kind == "datetime" and each.rule("outside") is not Rule.CLIP:
            end = axis.mark(axis.edges[-1])
            if end.endswith("T00:00:00"):
                notes.append(f"{each.name}: ends with {end}; later times of that day are outside")
    if unstated:
        listed = ", ".join(map(repr, unstated))
        notes.append(f"--neighbours replace would need every rule stated; not all are for: {listed}")
    if document.domain.malformed is None:
        notes.append('--neighbours replace would need a rule for malformed rows: "malformed": "drop"')
    if stated is not None:
        kind = "persons, by column" if len(stated.columns) == 1 else "each"
        key = whose(stated.columns, stated.per)
        notes.append(f"unit: {kind} {key}; at most {stated.rows} rows of each are used")
    notes += unit_notes(stated, document.columns)
    return {
        "queries": document.workload.rows,
        **({"persons": [table.block.name for table in document.persons]} if document.persons else {}),
        "blocks": len(document.workload.blocks),
        "figures": [figure.name for figure in document.workload.figures],
        "cells": document.domain.size,
        "columns": columns,
        "notes": notes,
    }


def fix_documents(queries: GivenDocument, domain: GivenDocument | None) -> list[AppliedFix]:
    """Write the obvious fixes of both documents into their files; what was written.

    What no obvious fix removes is left to `check_closed`. Raises: UsageFault where a file cannot be written.
    """
    written: list[AppliedFix] = []
    for _ in range(ROUNDS):
        try:
            read_documents(queries, domain)
        except DocumentError as error:
            fixed = write_fixes(error.faults)
            written += fixed
            if fixed:
                continue
        break
    return written


def write_queries(path: str, queries: GivenDocument, domain: GivenDocument | None) -> None:
    """Write queries, which may be SQL, into a new file as a JSON document. Raises: UsageFault, DocumentError."""
    document = {"dpqr": "queries/1", **plain(read_documents(queries, domain).sources.queries)}
    write_new(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def write_new(path: str, text: str, option: str = "--out") -> None:
    """Write a new text file; an existing one is never overwritten, and of a failed write nothing is left. option: that
    named it."""
    reserve_file(path, option=option).write(lambda draft: write_text(draft, text))


# `dpqr domain`: a domain file from public descriptions of a table's columns.

ENDINGS = (".json", ".yaml", ".yml", ".toml", ".sql", ".ddl", ".xml")
"""Names of files that are codebooks and not tables."""


class DomainRequest(Struct, frozen=True, kw_only=True):
    """What a domain file is made from.

    data: the table, of which the header is read, by its path or as a caller of Python holds it; or a codebook, by its
    ending.
    codebooks: files, of which later ones win. form: theirs, None: by content. table: which of those they describe.
    types: columns as the command line states them; they win over all. queries: a file of queries, whose values fill in
    the labels and edges that no source states.
    unit, max_rows: the columns that say whose row it is, and the rows of each person that a run may use; both or none.
    per: the last of several columns is a date, and counts by this period.
    payer: whose budget names the table, or admits the one in `data`; None: no ledger is asked.
    """

    data: str | TableSource | None = None
    delimiter: str | None = None
    encoding: str | None = None
    codebooks: tuple[str, ...] = ()
    form: str | None = None
    table: str | None = None
    types: tuple[str, ...] = ()
    queries: str | None = None
    unit: str | tuple[str, ...] | None = None
    per: Every | None = None
    max_rows: int | None = None
    payer: LedgerRequest | None = None

    @property
    def source(self) -> TableSource:
        """The table, which the budget's owner may name in its place."""
        if isinstance(self.data, TableSource):
            return self.data
        named = TableSource.unnamed() if self.data is None else TableSource(paths=(self.data,))
        return replace(named, delimiter=self.delimiter, encoding=self.encoding)


class MadeDomain(Struct, frozen=True):
    """A domain file that is made from public descriptions.

    Attributes:
        document: the JSON object.
        remarks: what is open, and what the sources state that a domain file does not hold.
    """

    document: JSON
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The file's text."""
        return f"{domain_text(self.document)}\n"


def domain_file(request: DomainRequest) -> MadeDomain:
    """Join what the sources state about each column, and fill what none of them states.

    The table's header says which columns there are, and in which order. Names that differ in case only are joined.

    Raises:
        UsageFault: there is no source; one cannot be read; `types` or `unit` names a column that the table lacks.
        DocumentError: a codebook is of no known form, or the sources contradict themselves.
        DataError: the table has no header.
        BudgetRefused: the table is not the source that the budget's owner has registered.

    Privacy:
        Reads names and types of the table's columns, never a row. Types are proposed by
        names alone. Codebooks are public by declaration.
    """
    books = request.codebooks
    if isinstance(request.data, str) and request.data.lower().endswith(ENDINGS):
        books, request = (request.data, *books), replace(request, data=None)
    # The table whose columns are looked at: the named one, or the one that the budget's owner has registered.
    looked_at = resolve_source(request.source, request.payer)
    if request.payer is not None and looked_at.engine is None and looked_at.frame is None:
        policy = policy_of(request.payer)
        delimiter, encoding = request.delimiter or policy.delimiter, request.encoding or policy.encoding
        looked_at = replace(looked_at, delimiter=delimiter, encoding=encoding)
    table = looked_at if looked_at.named else None
    with refuse_table_as_document(table):
        codebooks = [read_codebook(path, request.form, request.table) for path in books]
    sources = [*codebooks, read_types(request.types)]
    if table is None and not any(each.outline.fields for each in sources):
        raise UsageFault("name a table, or a codebook by --from, or columns by --types; more: dpqr guide codebooks")
    remarks = [remark for each in codebooks for remark in each.remarks]
    if table is not None:
        header = typed_columns(column_types(table))
        # Whether the whole first line is one column's name, though it holds what other files have between columns.
        names = [column.name for column in header.outline.fields]
        sign = next((sign for sign in (";", "\t", "|") if len(names) == 1 and sign in names[0]), None)
        if sign is not None:
            held = f"the table has one column, whose name holds {sign!r}"
            remarks.append(f"{held}; if that stands between columns: --delimiter {sign!r}")
        if any("\ufffd" in name for name in names):
            remarks.append("names of columns are no UTF-8; say how the file is written: --encoding cp1252, for example")
        sources = [_renamed(each, header) for each in sources]
        remarks += _differences([header, *sources], unit_columns(request.unit))
        sources = [
            header,
            *(_with_columns(each, [one for one in each.outline.fields if one.name in names]) for each in sources),
        ]
    sources += _unit_codebook(request, [column.name for column in sources[0].outline.fields] if table else None)
    with refuse_table_as_document(table):
        outline = _merge_sources(sources)
        if request.queries is not None:
            outline = _apply_queries(outline, request.queries)
    if outline.unit is UNSET and (hint := identifier_hint(column.name for column in outline.fields)) is not None:
        remarks.append(hint)
    outline, guessed = _propose_types(outline)
    if guessed:
        remarks.append(f"proposed by the names alone, change what does not suit: {'; '.join(guessed)}")
    whole = fill_gaps(outline)
    if whole.proposed:
        remarks.append(f"proposed, change what does not suit: {'; '.join(whole.proposed)}")
    if whole.to_fill:
        remarks.append(f"to fill in ({PLACEHOLDER}), from public knowledge: {'; '.join(whole.to_fill)}")
    return MadeDomain(outline_document(whole.outline), tuple(remarks))


def _propose_types(outline: Outline) -> tuple[Outline, list[str]]:
    """With the types that names suggest of columns of which no source states type or labels; and what was proposed."""
    fields, proposed = list(outline.fields), dict[str, list[str]]()
    for place, column in enumerate(fields):
        suggested = None if column.type is not UNSET or has_labels(column) else type_by_name(column.name)
        if suggested is None:
            continue
        kind, low, high = suggested
        fields[place] = msgspec.structs.replace(column, type=kind)
        if low is not None:
            fields[place] = with_bounds(fields[place], low=low, high=high)
        what = kind if low is None else f"{kind} from {low} to {high}"
        proposed.setdefault(what, []).append(column.name)
    listed = [f"{what} for {', '.join(names)}" for what, names in proposed.items()]
    return msgspec.structs.replace(outline, fields=tuple(fields)), listed


def _apply_queries(outline: Outline, queries: str) -> Outline:
    """With the edges and labels that the queries name, where no source states any."""
    document: Any = translated_sql(queries).document if states_sql(queries) else read_document(Path(queries))
    location = document_root(Path(queries))
    if not isinstance(document, dict):
        raise location.fault("a queries file is an object with 'queries'; correct it there")
    return decode(with_queries(outline_document(outline), document), Outline, location)


def _unit_codebook(request: DomainRequest, header: list[str] | None) -> Iterator[Codebook]:
    """The unit that the options state, as a source of its own. Raises: UsageFault.

    header: the table's columns; None: there is no table.
    """
    unit = unit_of("add-remove", request.unit, request.max_rows, per=request.per)
    if not unit.columns:
        return
    for name in unit.columns:
        if header is not None and name not in header:
            raise UsageFault(f"--unit: the table has no column {name!r}; {_nearest(name, header)}")
    yield Codebook(outline=Outline(unit=UnitForm.of(unit.columns, unit.per, unit.rows)))


def _nearest(name: str, header: list[str]) -> str:
    near = get_close_matches(name, header, n=1)
    return f"did you mean {near[0]!r}?" if near else f"its columns: {', '.join(header[:20])}"


def _renamed(source: Codebook, header: Codebook) -> Codebook:
    """With the header's spelling of names that differ from it in case only; SQL, for one, keeps no case."""
    names = {column.name for column in header.outline.fields}
    spelt = {name.casefold(): name for name in names}
    fields = [
        column
        if column.name in names
        else msgspec.structs.replace(column, name=spelt.get(column.name.casefold(), column.name))
        for column in source.outline.fields
    ]
    return _with_columns(source, fields)


def _with_columns(source: Codebook, columns: Sequence[CodebookColumn]) -> Codebook:
    return Codebook(name=source.name, outline=msgspec.structs.replace(source.outline, fields=tuple(columns)))


def _differences(sources: Sequence[Codebook], unit: Sequence[str]) -> Iterator[str]:
    """Columns that are not in the header, the first source, or in the header alone. Raises: UsageFault for --types."""
    header, *described = [[column.name for column in each.outline.fields] for each in sources]
    for name in described[-1]:
        if name not in header:
            raise UsageFault(f"--types: the table has no column {name!r}; {_nearest(name, header)}")
    known = list(dict.fromkeys(name for names in described for name in names))
    if foreign := [name for name in known if name not in header]:
        yield f"left out, for the table has no such column: {', '.join(foreign)}"
    if known and (alone := [name for name in header if name not in (*known, *unit)]):
        yield f"in the table, and described by no codebook: {', '.join(alone)}"


def _merge_sources(sources: Sequence[Codebook]) -> Outline:
    """All statements about each column, later sources over earlier ones; the table's own keys likewise.

    The first source lists the columns where it is a header; else every source adds its own.
    """
    columns: dict[str, CodebookColumn] = {}
    for source in sources:
        for column in source.outline.fields:
            before = columns.get(column.name)
            columns[column.name] = column if before is None else merge_columns(before, column)
    top = {key: value for each in sources for key, value in non_default_parts(each.outline)}
    joined = Outline(**{**top, "fields": tuple(columns.values())})
    if isinstance(joined.unit, UnsetType):
        return joined
    person = joined.unit.declared.columns[0]
    return msgspec.structs.replace(joined, fields=tuple(each for each in joined.fields if each.name != person))
