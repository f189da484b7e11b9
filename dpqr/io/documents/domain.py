"""The domain file: decoded into the Domain that the curator declares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import UNSET

from dpqr.data.attribute import FAULTS, Attribute, Axis, Codes, Fault, Labels, Rule
from dpqr.data.domain import Domain, possible_faults
from dpqr.io.documents.bins import MAX_CELLS, calendar_bins, number_bins
from dpqr.io.documents.decoding import Location, decode, spoken
from dpqr.io.documents.document_text import document_text, read_document
from dpqr.io.documents.forms import Field, MissingValues, Sizes, TableSchema
from dpqr.io.documents.labels import label_axis
from dpqr.io.documents.spelling import missing_texts, spelling

PLACEHOLDER = "FILL-IN"
"""What a skeleton writes where the curator's knowledge is needed; no domain may still hold it."""


def read_domain(source: str | os.PathLike[str] | dict[str, Any]) -> Domain:
    """The domain in a file, or in an already parsed object.

    Raises:
        UsageFault: the file cannot be read.
        DocumentError: it is no domain; the message names file and JSON path.
    """
    if isinstance(source, dict):
        return decode_domain(source, Location("domain"))
    path = Path(source)
    return decode_domain(read_document(path), Location(path.name))


def domain_text(source: str) -> str:
    """The JSON text of a domain file that was read before, to be kept beside what was made with it."""
    return document_text(Path(source)).decode("utf-8-sig")


def decode_domain(value: Any, location: Location) -> Domain:
    """A Table Schema, or the sizes form: an object of whole numbers."""
    if not isinstance(value, dict):
        raise location.fault(
            f"a domain is an object with 'fields', or one of sizes like {{'age': 85}}; got {spoken(value)}"
        )
    _refuse_placeholders(value, location)
    if not isinstance(value.get("fields"), list) and any(isinstance(size, int) for size in value.values()):
        return _coded(value, location)
    schema = decode(value, TableSchema, location)
    attributes = []
    for index, field in enumerate(schema.fields):
        attributes.append(_attribute(field, schema.missing_values, location.key("fields").item(index)))
    with location.key("fields").blamed():
        domain = Domain(tuple(attributes), malformed=None if schema.malformed is UNSET else Rule(schema.malformed))
    if not (schema.impossible or schema.totals):
        return domain
    from dpqr.io.documents.public_facts import with_facts  # the fit's modules, which few domains need

    return with_facts(domain, schema.impossible, schema.totals, location)


def _coded(value: dict[str, Any], location: Location) -> Domain:
    for name, size in value.items():
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MAX_CELLS:
            raise location.key(name).fault(
                f"a size is the number of codes 0, 1, ...: a whole number from 1 to {MAX_CELLS}"
            )
    sizes = decode(value, Sizes, location)
    return Domain(tuple(Attribute(name=name, axis=Codes(size)) for name, size in sizes.items()))


def _refuse_placeholders(value: Any, location: Location) -> None:
    if isinstance(value, str) and value.startswith(PLACEHOLDER):
        raise location.fault(f"still holds the placeholder {PLACEHOLDER}; write what is publicly known of the column")
    if isinstance(value, dict):
        for key, member in value.items():
            _refuse_placeholders(member, location.key(key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _refuse_placeholders(member, location.item(index))


def _attribute(field: Field, missing: MissingValues, location: Location) -> Attribute:
    _one_cut(field, location.key("dpqr"))
    nulls = missing_texts(missing if field.missing_values is UNSET else field.missing_values)
    axis = _axis(field, nulls, location)
    rules = _rules(field, axis, location.key("dpqr"))
    written = spelling(field, axis, location)
    attribute = Attribute(name=field.name, axis=axis, rules=rules, missing=nulls, spelling=written)
    if isinstance(axis, Labels) or not getattr(axis, "integral", False):
        _distinct_titles(attribute, location)
    return attribute


def _distinct_titles(attribute: Attribute, location: Location) -> None:
    """Answers tell cells apart by their titles. (Bins of whole values have distinct ones.)"""
    titles = attribute.titles()
    if len(set(titles)) < len(titles):
        raise location.fault("two cells of this column would print alike; change a label, or an edge")


def _one_cut(field: Field, location: Location) -> None:
    cuts = ("bins", "width", "edges", "every")
    stated = [key for key in cuts if getattr(field.dpqr, key) is not UNSET]
    if len(stated) > 1:
        raise location.fault(f"{' and '.join(stated)} contradict each other; keep one of them")
    if stated == ["every"] and field.type not in ("date", "datetime"):
        raise location.key("every").fault(
            f"only date and datetime columns have periods; this one is of type {field.type!r}"
        )


def _axis(field: Field, missing: tuple[str, ...], location: Location) -> Axis:
    listed = field.constraints.enum is not UNSET or field.categories is not UNSET
    if listed or field.type in ("string", "boolean"):
        return label_axis(field, missing, location)
    if field.type in ("integer", "number"):
        return number_bins(field, location)
    return calendar_bins(field, "date" if field.type == "date" else "datetime", location)


def _rules(field: Field, axis: Axis, location: Location) -> dict[Fault, Rule]:
    """The stated rules, `otherwise` filling in for the faults that this kind of column can show."""
    possible, rules = possible_faults(axis), {}
    for fault in FAULTS:
        stated = getattr(field.dpqr, fault)
        if stated is UNSET and fault in possible:
            stated = field.dpqr.otherwise
        if stated is UNSET:
            continue
        if fault not in possible:
            raise location.key(fault).fault(
                f"no cell of this kind of column is {fault}; rules here: {', '.join(possible)}"
            )
        if stated == "clip" and isinstance(axis, Labels):
            raise location.key(fault).fault("labels have no nearest bin to clip to; allowed: cell, drop, fail")
        rules[fault] = Rule(stated)
    return rules
