"""The domain file: decoded into the Domain that the curator declares."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, json
from msgspec.json import Encoder

from dpqr.domain.attribute import FAULTS, Attribute, Axis, Bins, Codes, Fault, Labels, Rule
from dpqr.domain.columns import MAX_CELLS, calendar_bins, label_axis, missing_texts, number_bins, spelling
from dpqr.domain.domain import (
    Domain,
    KnownTotal,
    LearnedPart,
    PublicFacts,
    Region,
    connected_totals,
    possible_faults,
    record_bounds,
)
from dpqr.domain.form import Field, ImpossibleForm, LearnedForm, MissingValues, Sizes, TableSchema, TotalForm
from dpqr.domain.hierarchies import hierarchy, labelled, links, with_parents
from dpqr.domain.open_columns import NO_QUERIED_COLUMNS, QueriedColumns, QueriedValue, add_cuts, complete_field
from dpqr.domain.periods import PeriodColumn
from dpqr.domain.predicate_cells import evaluate
from dpqr.domain.predicates import Node, Not, columns, comparisons, conjuncts, parse_over
from dpqr.domain.text.decoding import Location, decode, fitting, fix_shape, obvious
from dpqr.domain.text.documents import DocumentSource, JsonObject, document_root, document_text, read_document
from dpqr.domain.text.faults import Faults, FollowUp
from dpqr.domain.text.sources import plain
from dpqr.kernel.arrays import AnyArray, Axes
from dpqr.kernel.values import replace
from dpqr.models.fit.maximum_entropy import possible

PLACEHOLDER = "FILL-IN"
"""What a skeleton writes where the curator's knowledge is needed; no domain may still hold it."""


def read_domain(source: DocumentSource) -> Domain:
    """The domain in a file, or in an already parsed object.

    Raises:
        UsageFault: the file cannot be read.
        DocumentError: it is no domain; the message names file and JSON path of each fault.
    """
    faults = Faults()
    domain, _ = checked_domain(source, faults)
    faults.finish()
    return domain


def checked_domain(
    source: Domain | DocumentSource, faults: Faults, queried: QueriedColumns = NO_QUERIED_COLUMNS
) -> tuple[Domain, object]:
    """The same, cut by the `queried` columns, and the document as it was parsed; its faults kept: where there are, a
    draft to check queries against. A domain that was decoded before is taken as it is."""
    if isinstance(source, Domain):
        return source, None
    if isinstance(source, dict):
        return parse_draft(source, Location("domain"), faults, queried)
    path = Path(source)
    with faults.kept():
        return parse_draft(read_document(path), document_root(path), faults, queried)
    return DomainDraft((), broken=(UNREADABLE,)), None


def public_domain(source: str | JsonObject) -> object:
    """The public form of a domain that was read before, as `public_documents` has it."""
    return plain(whole_document(source))


def whole_document(source: str | JsonObject) -> Any:
    """The document of a domain, with the content of the files that it names. Raises: UsageFault, DocumentError."""
    if isinstance(source, dict):
        return with_parents(source, Location("domain"))
    return with_parents(read_document(Path(source)), document_root(Path(source)))


def open_document(source: str | JsonObject) -> JsonObject:
    """The same of a domain that may leave cells of its columns open.

    Raises:
        DocumentError: of every fault of its shape.
    """
    value = source if isinstance(source, dict) else read_document(Path(source))
    top = Location("domain") if isinstance(source, dict) else document_root(Path(source))
    faults = Faults()
    fix_shape(value, TableSchema, top, faults)
    faults.finish()
    return dict(whole_document(source))


def domain_text(source: str | JsonObject) -> str:
    """The JSON text of a domain that was read before, to be kept beside what was made with it."""
    if isinstance(source, dict):
        return json.format(Encoder(decimal_format="number").encode(with_parents(source, Location("domain")))).decode()
    value, top = read_document(Path(source)), document_root(Path(source))
    if (whole := with_parents(value, top)) is not value:
        return Encoder(decimal_format="number").encode(whole).decode()
    return document_text(Path(source)).decode("utf-8-sig")


def decode_domain(value: object, location: Location) -> Domain:
    """A Table Schema, or the sizes form: an object of whole numbers. Raises: DocumentError of every fault."""
    faults = Faults()
    domain = draft_domain(value, location, faults)
    faults.finish()
    return domain


def learned_part(value: JsonObject, location: Location) -> LearnedPart | None:
    """What a domain's labels and bounds have cost; None where nothing was learned. Raises: DocumentError."""
    if "learned" not in value:
        return None
    at, stated = location.key("learned"), fitting(value["learned"], LearnedForm)
    if stated is None:
        raise at.fault("must state columns, epsilon, delta and unit, as the run that learned them wrote it")
    with at.blamed():
        return stated.part


def parse_draft(value: object, location: Location, faults: Faults, queried: QueriedColumns) -> tuple[Domain, object]:
    """A domain with its faults kept, and its document, which names no file if it is sound."""
    domain = draft_domain(value, location, faults, queried)
    return domain, value if faults.found else with_parents(value, location)


def draft_domain(
    value: Any, location: Location, faults: Faults, queried: QueriedColumns = NO_QUERIED_COLUMNS
) -> Domain:
    """The same, its faults kept: where there are any, a draft of its sound columns."""
    if not isinstance(value, dict):
        form = "a domain is an object with 'fields', or one of sizes like {'age': 85}"
        faults.keep(location.fault(form))  # a whole document is never quoted: it may be another file than was meant
        return DomainDraft((), broken=(UNREADABLE,))
    before = len(faults.found)
    _keep_placeholders(value, location, faults)
    if not isinstance(value.get("fields"), list) and any(isinstance(size, int) for size in value.values()):
        broken = []
        for name, size in value.items():
            if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MAX_CELLS:
                broken.append(name)
                text = f"a size is the number of codes 0, 1, ...: a whole number from 1 to {MAX_CELLS}"
                faults.keep(location.key(name).fault(text))
        if broken:
            sound = {name: size for name, size in value.items() if name not in broken}
            return DomainDraft(tuple(_codes(name, size) for name, size in sound.items()), broken=tuple(broken))
        with faults.kept():
            return Domain(tuple(_codes(name, size) for name, size in decode(value, Sizes, location).items()))
        return DomainDraft((), broken=(UNREADABLE,))
    if not any(key == "fields" or obvious(key, ("fields",)) for key in value):
        swapped = "is a queries file, and no domain; give it as --queries FILE"
        missing = "the key 'fields' is missing; add it (dpqr domain DATA writes it), or give sizes like {'age': 85}"
        faults.keep(location.fault(swapped if "queries" in value else missing))
        return DomainDraft((), broken=(UNREADABLE,))
    value = fix_shape(value, TableSchema, location, faults)
    draft = _draft(value, location, faults, queried)
    schema = fitting(value, TableSchema)
    if schema is None or len(faults.found) > before:
        return _with_facts(draft, value, location, faults)
    rule = None if schema.malformed is UNSET else Rule(schema.malformed)
    unit = None
    if schema.unit is not UNSET:
        with faults.kept(), location.key("unit").blamed():
            unit = schema.unit.declared
    period = None if schema.period is UNSET else PeriodColumn(column=schema.period.column, every=schema.period.every)
    learned = None
    with faults.kept():
        learned = learned_part(value, location)
    whole = Domain(draft.attributes, malformed=rule, unit=unit, period=period, learned=learned)
    return _with_facts(whole, value, location, faults)


def _draft(value: JsonObject, location: Location, faults: Faults, queried: QueriedColumns) -> DomainDraft:
    """The sound columns, and the names of the others."""
    fields = value.get("fields")
    missing = fitting(value.get("missingValues", [""]), MissingValues) or ()
    attributes: list[Attribute] = []
    broken = [] if isinstance(fields, list) else [UNREADABLE]
    for index, one in enumerate(fields if isinstance(fields, list) else ()):
        at = location.key("fields").item(index)
        name = one.get("name") if isinstance(one, dict) else None
        if any(attribute.name == name for attribute in attributes):
            faults.keep(at.key("name").fault(f"the domain names the column {name!r} twice; keep one of them"))
            broken.append(UNREADABLE)
            continue
        broken.append(name if isinstance(name, str) else UNREADABLE)
        field = None if faults.within(at.document, at.path) else fitting(one, Field)
        if field is not None:
            with faults.kept():
                attributes.append(_attribute(field, missing, at, queried.of(field.name)))
                broken.pop()
    return DomainDraft(tuple(attributes), broken=tuple(broken))


def _with_facts(domain: Domain, value: JsonObject, location: Location, faults: Faults) -> Domain:
    if not (value.get("impossible") or value.get("totals")):
        return domain

    return with_facts(
        domain,
        [fitting(one, ImpossibleForm) for one in list_items(value, "impossible")],
        [fitting(one, TotalForm) for one in list_items(value, "totals")],
        location,
        faults,
    )


def list_items(value: JsonObject, key: str) -> list[object]:
    """The items of a member that should be a list; of any other, none."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def _codes(name: str, size: int) -> Attribute:
    return Attribute(name=name, axis=Codes(size))


def _keep_placeholders(value: object, location: Location, faults: Faults) -> None:
    if isinstance(value, str) and value.startswith(PLACEHOLDER):
        text = f"still holds the placeholder {PLACEHOLDER}; write what is publicly known of the column"
        faults.keep(location.fault(text))
    if isinstance(value, dict):
        for key, member in value.items():
            _keep_placeholders(member, location.key(key), faults)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _keep_placeholders(member, location.item(index), faults)


def _attribute(stated: Field, missing: MissingValues, location: Location, named: Sequence[QueriedValue]) -> Attribute:
    faults, own, parents = Faults(), location.key("dpqr"), links(stated, location)
    nulls = missing_texts(missing if stated.missing_values is UNSET else stated.missing_values)
    named = named if parents is None else ()  # cells with parents are not cut
    field = listed_field = labelled(stated, parents)
    # An axis of the field's kind, which its rules and its spelling are checked against where it has a fault.
    unit = Fraction(0), Fraction(1)
    axis: Axis = Bins(unit, kind=field.type) if field.type in ("date", "datetime") else Bins(unit)
    if _labelled(field):
        axis = Labels(("",))
    _refuse_open(field, location)
    with faults.kept():
        cuts = [key for key in ("bins", "width", "edges", "every") if getattr(field.dpqr, key) is not UNSET]
        if len(cuts) > 1:
            raise own.fault(f"{' and '.join(cuts)} contradict each other; keep one of them")
        if cuts == ["every"] and field.type not in ("date", "datetime"):
            raise own.key("every").fault(
                f"only date and datetime columns have periods; this one is of type {field.type!r}"
            )
        field = complete_field(listed_field, named, location)
        if _labelled(field):
            axis = label_axis(field, nulls, location)
        elif field.type in ("integer", "number"):
            axis = number_bins(field, location)
        else:
            axis = calendar_bins(field, "date" if field.type == "date" else "datetime", location)
    with faults.kept():
        rules = _rules(field, axis, own)
    with faults.kept():
        written = spelling(field, axis, location)
    faults.pass_on()
    attribute = Attribute(name=field.name, axis=axis, rules=rules, missing=nulls, spelling=written)
    attribute = add_cuts(attribute, named, location, opened=field is not listed_field)
    if isinstance(axis, Labels) or not getattr(axis, "integral", False):
        # Answers tell cells apart by their titles. (Bins of whole values have distinct ones.)
        titles = attribute.titles()
        if len(set(titles)) < len(titles):
            raise location.fault("two cells of this column would print alike; change a label, or an edge")
    return attribute if parents is None else replace(attribute, hierarchy=hierarchy(attribute, parents))


def _refuse_open(field: Field, location: Location) -> None:
    """DocumentError for a column whose labels or bounds are still to be learned, or that says how of a stated one."""
    own = location.key("dpqr")
    for key in ("labels", "bounds"):
        if getattr(field.dpqr, key) is not UNSET:
            raise own.key(key).fault(
                f"nobody knows the {key} of {field.name!r} yet, and only `dpqr release` learns them first (the plan: "
                "`dpqr release TABLE --dry-run`); give a domain that was learned before: "
                f"dpqr domain TABLE --learn {field.name}"
            )
    for key, what in (("grid", "bounds"), ("cuts", "bounds"), ("max_labels", "labels")):
        if getattr(field.dpqr, key) is not UNSET:
            raise own.key(key).fault(f"says how {what} are learned, and these are stated; leave it out")


def _labelled(field: Field) -> bool:
    listed = field.constraints.enum is not UNSET or field.categories is not UNSET
    return listed or field.type in ("string", "boolean")


def _rules(field: Field, axis: Axis, location: Location) -> dict[Fault, Rule]:
    """The stated rules, `otherwise` filling in for the faults that this kind of column can show."""
    possible, rules, faults = possible_faults(axis), {}, Faults()
    for fault in FAULTS:
        stated = getattr(field.dpqr, fault)
        if stated is UNSET and fault in possible:
            stated = field.dpqr.otherwise
        if stated is UNSET:
            continue
        if fault not in possible:
            words = f"no cell of this kind of column is {fault}; rules here: {', '.join(possible)}"
            faults.keep(location.key(fault).fault(words))
        elif stated == "clip" and isinstance(axis, Labels):
            words = "labels have no nearest bin to clip to; allowed: cell, drop, fail"
            faults.keep(location.key(fault).fault(words))
        rules[fault] = Rule(stated)
    faults.pass_on()
    return rules


# A domain of which some columns are at fault: queries are checked against the others.

UNREADABLE = ""
"""Stands for a column whose name is not known: any unknown name may be meant for it."""


@dataclass(frozen=True, slots=True)
class DomainDraft(Domain):
    """The sound columns, and the names of those at fault. It never leaves the checks of documents.

    A question about a column at fault raises FollowUp: its fault is kept already.
    """

    broken: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Those at fault come last."""
        return (*(attribute.name for attribute in self.attributes), *self.broken)

    def axis(self, name: str) -> int:
        if all(attribute.name != name for attribute in self.attributes) and (
            name in self.broken or UNREADABLE in self.broken
        ):
            raise FollowUp(f"the column {name!r} is at fault")
        return Domain.axis(self, name)


# Public facts of a domain file: impossible combinations and known totals, read and checked against each other.

MAX_FACT_CELLS = 2**20
"""Cells of the columns that one fact ties together, or totals that share columns."""
MAX_WORK = 2**27
"""Cells that all facts look at, each total anew."""
MAX_MODEL = 2**22
"""Cells of the junction tree that holds all impossible combinations."""


def with_facts(
    domain: Domain,
    impossible: Sequence[ImpossibleForm | None],
    totals: Sequence[TotalForm | None],
    location: Location,
    faults: Faults,
) -> Domain:
    """`domain` with its public facts, where each can be read and all can be true; None is left out.

    Each fault is kept. Of a draft every fact is checked on its own.
    """
    if domain.unit is not None and totals:
        text = "totals count all rows, and a unit leaves rows of persons out; leave one of them out"
        faults.keep(location.key("unit").fault(text))
    before = len(faults.found)
    at_impossible, at_totals = location.key("impossible"), location.key("totals")
    regions: list[Region] = []
    for index, fact in enumerate(impossible):
        at = at_impossible.item(index).key("where")
        with faults.kept():
            if fact is not None:
                # Both of "a or b" are impossible: two facts, each of fewer columns.
                for part in conjuncts(parse_over(domain, fact.where, at), negated=True):
                    regions.append(_region(domain, fact.where, Not(part), at))
    known: list[KnownTotal] = []
    everybody = Region(text="all records", axes=(), cells=np.ones((), dtype=np.bool_))
    for index, total in enumerate(totals):
        at = at_totals.item(index).key("where")
        with faults.kept():
            if total is not None:
                region = everybody
                if total.where is not UNSET:
                    region = _region(domain, total.where, parse_over(domain, total.where, at), at)
                known.append(KnownTotal(region=region, count=total.count))
    if isinstance(domain, DomainDraft) or len(faults.found) > before:
        return domain
    with faults.kept():
        return _agreeing(domain, regions, known, location)
    return domain


def _agreeing(domain: Domain, regions: Sequence[Region], known: Sequence[KnownTotal], location: Location) -> Domain:
    """With facts that can all be true. Raises: DocumentError where they cannot, or where that is too much to check."""
    at_impossible, at_totals = location.key("impossible"), location.key("totals")
    if possible(domain.shape, PublicFacts(impossible=tuple(regions)), MAX_MODEL) is None:
        raise at_impossible.fault(
            f"together they need a model of more than {MAX_MODEL} cells; state fewer, or merge cells"
        )
    for axes, members in connected_totals(known).items():
        _require_room(domain, axes, at_totals, "totals that share columns tie")
        if math.prod(domain.shape[axis] for axis in axes) * len(members) > MAX_WORK:
            raise at_totals.fault(f"{len(members)} of them share columns, too many to check; state fewer")
    nobody = [total.region for total in known if not total.count]
    counted = [total for total in known if total.region.axes]
    facts = PublicFacts(impossible=(*regions, *nobody), totals=tuple(total for total in counted if total.count))
    if not possible(domain.shape, facts, MAX_MODEL):
        at = at_impossible if regions else at_totals
        raise at.fault("together they leave no cell of the domain that could hold a record; correct one of them")
    bounds = record_bounds(regions, known, domain.shape)
    if bounds is None:
        # The first total that contradicts those before it is blamed: found by bisection.
        first = bisect_left(
            range(len(known)), True, key=lambda last: record_bounds(regions, known[: last + 1], domain.shape) is None
        )
        raise at_totals.item(first).fault(
            "no table can have this many records there, given the totals before it and what is impossible; correct one"
        )
    least, most = bounds
    return replace(domain, facts=replace(facts, least=least, most=most))


def _region(domain: Domain, text: str, predicate: Node, location: Location) -> Region:
    with location.blamed():
        axes = tuple(sorted(domain.axis(name) for name in columns(predicate)))
    _require_room(domain, axes, location, "it ties")
    if sum(1 for _ in comparisons(predicate)) * math.prod(domain.shape[axis] for axis in axes) > MAX_WORK:
        raise location.fault("its comparisons look at too many cells; shorten it, or split it")
    cells: AnyArray = np.broadcast_to(evaluate(predicate, domain, axes, location).true, [domain.shape[a] for a in axes])
    if not cells.any():
        raise location.fault("is true for no cell of the domain; correct it or leave it out")
    return Region(text=" ".join(text.split()), axes=axes, cells=np.ascontiguousarray(cells))


def _require_room(domain: Domain, axes: Axes, location: Location, what: str) -> None:
    cells = math.prod(domain.shape[axis] for axis in axes)
    if cells > MAX_FACT_CELLS:
        names = ", ".join(repr(domain.names[axis]) for axis in axes)
        raise location.fault(
            f"{what} {names} together: {cells} cells, more than {MAX_FACT_CELLS}; speak of fewer columns"
        )
