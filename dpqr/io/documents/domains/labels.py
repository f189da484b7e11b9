"""Columns of labels: the labels, and the texts that stand for each in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import UNSET

from dpqr.data.attribute import Labels
from dpqr.io.documents.domains.forms import Category, Field
from dpqr.io.documents.text.decoding import Location, nearest, requoted, spoken
from dpqr.io.documents.text.faults import Faults, all_of


@dataclass(frozen=True, slots=True)
class _Stated:
    """One label, and the texts that stand for it, each with the place that states it."""

    label: str
    texts: tuple[tuple[str, Location], ...]


def label_axis(field: Field, missing: Sequence[str], location: Location) -> Labels:
    """The labels of a column. missing: the texts that mean null, of which none may stand for a label."""
    if field.type in ("number", "date", "datetime"):
        raise _list_of(field, location).fault(f"a column of type {field.type!r} has no labels; cut it by dpqr.edges")
    faults = Faults()
    with faults.kept():
        _refuse_other_cuts(field, location)
    with faults.kept():
        stated = [*_with_aliases(list(_stated(field, location)), field, location)]
    faults.pass_on()
    labels = Labels(
        values=tuple(each.label for each in stated),
        folded=_folded(field),
        texts=tuple(tuple(_trimmed(text, field) for text, _ in each.texts) for each in stated),
        ordered=field.categories_ordered,
    )
    _require_distinct(stated, labels, [_trimmed(text, field) for text in missing], field)
    own = tuple((value,) for value in labels.values)
    return Labels(labels.values, labels.folded, () if labels.texts == own else labels.texts, labels.ordered)


def _refuse_other_cuts(field: Field, location: Location) -> None:
    faults, own, bounds = Faults(), location.key("dpqr"), location.key("constraints")
    for key in ("bins", "width", "edges", "every", "closed"):
        if getattr(field.dpqr, key) is not UNSET:
            faults.keep(own.key(key).fault("a column of labels (enum, string, boolean) is not binned; leave it out"))
    for key, bound in (("minimum", field.constraints.minimum), ("maximum", field.constraints.maximum)):
        if bound is not UNSET:
            faults.keep(bounds.key(key).fault("a column of labels has no bounds; leave it out"))
    faults.pass_on()


def _list_of(field: Field, location: Location) -> Location:
    if field.categories is not UNSET:
        return location.key("categories")
    return location.key("constraints").key("enum")


def _folded(field: Field) -> bool:
    """Case counts, except for the words true and false."""
    if field.dpqr.case_sensitive is not UNSET:
        return not field.dpqr.case_sensitive
    return field.type == "boolean" and field.true_values is UNSET and field.false_values is UNSET


def _trimmed(text: str, field: Field) -> str:
    return text.strip() if field.dpqr.trim else text


def _stated(field: Field, location: Location) -> Iterator[_Stated]:
    """The labels in order; of categories those that an enum beside them lists."""
    where = location.key("constraints").key("enum")
    enum = field.constraints.enum
    if field.categories is not UNSET:
        yield from _categories(field, location)
        return
    if enum is UNSET and field.type == "boolean":
        enum = (False, True)
    if enum is UNSET or not enum:
        raise where.fault("lists no label; list every label that is publicly known, each once")
    labels = all_of(partial(_label, value, field.type, where.item(index)) for index, value in enumerate(enum))
    for index, label in enumerate(labels):
        yield _Stated(label, _truths(label, field, location) or ((label, where.item(index)),))


def _truths(label: str, field: Field, location: Location) -> tuple[tuple[str, Location], ...]:
    """What a boolean column lists for true or false."""
    if field.type != "boolean":
        return ()
    key, listed = ("trueValues", field.true_values) if label == "true" else ("falseValues", field.false_values)
    return () if listed is UNSET else tuple((text, location.key(key).item(at)) for at, text in enumerate(listed))


def _categories(field: Field, location: Location) -> Iterator[_Stated]:
    assert field.categories is not UNSET
    where, kept = location.key("categories"), None
    if field.type == "boolean":
        raise where.fault("only columns of type 'string' and 'integer' have categories; leave it out")
    found = {}
    for index, each in enumerate(field.categories):
        value, label = (each.value, each.label) if isinstance(each, Category) else (each, UNSET)
        at = where.item(index) if not isinstance(each, Category) else where.item(index).key("value")
        text = _label(value, field.type, at)
        found[text] = _Stated(text if label is UNSET else label, ((text, where.item(index)),))
        if len(found) <= index:
            raise at.fault(f"the value {spoken(text)} stands twice; keep one of them")
    if field.constraints.enum is not UNSET:
        kept = _kept(field.constraints.enum, found, field, location.key("constraints").key("enum"))
    yield from (each for text, each in found.items() if kept is None or text in kept)


def _kept(enum: Sequence[Any], found: dict[str, _Stated], field: Field, location: Location) -> set[str]:
    kept = set()
    for index, value in enumerate(enum):
        text = _label(value, field.type, location.item(index))
        if text not in found:
            raise location.item(index).fault(f"{spoken(text)} is no value of the categories; {nearest(text, found)}")
        kept.add(text)
    if not kept:
        raise location.fault("lists no label; leave it out, for the categories are the labels")
    return kept


def _label(value: Any, kind: str, location: Location) -> str:
    """A label as the text that cells are compared with."""
    if kind == "boolean" and isinstance(value, bool):
        return "true" if value else "false"
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "string" and isinstance(value, str):
        return value
    fix = requoted(value, kind, location)
    hint = f"; write {fix.text}" if fix else ""
    raise location.fault(f"{spoken(value)} is no label of a column of type {kind!r}{hint}", fix=fix)


def _with_aliases(stated: list[_Stated], field: Field, location: Location) -> Iterator[_Stated]:
    aliases = {} if field.dpqr.aliases is UNSET else field.dpqr.aliases
    where, known = location.key("dpqr").key("aliases"), [each.label for each in stated]
    for label in aliases:
        if label not in known:
            raise where.key(label).fault(f"{spoken(label)} is no label of the column; {nearest(label, known)}")
    for each in stated:
        at = where.key(each.label)
        more = tuple((text, at.item(index)) for index, text in enumerate(aliases.get(each.label, ())))
        yield _Stated(each.label, each.texts + more)


def _require_distinct(stated: Sequence[_Stated], labels: Labels, missing: Sequence[str], field: Field) -> None:
    """Refuse a text that could stand for two labels, or for a label and for null."""
    taken: dict[str, int] = {}
    nulls = {labels.form(text) for text in missing}
    faults = Faults()
    for place, each in enumerate(stated):
        for text, where in each.texts:
            form = labels.form(_trimmed(text, field))
            if form in nulls:
                faults.keep(where.fault(f"{spoken(text)} also stands in missingValues, where it means null; keep one"))
            other = labels.values[taken.setdefault(form, place)]
            if taken[form] != place:
                again = text == each.label == other
                faults.keep(where.fault(_twice(text, each.label, other), fix=where.replaced("") if again else None))
    faults.pass_on()
    first: dict[str, int] = {}
    for place, label in enumerate(labels.values):
        if first.setdefault(label, place) != place:
            raise stated[place].texts[0][1].fault(f"the label {spoken(label)} stands twice; keep one of them")


def _twice(text: str, label: str, other: str) -> str:
    if text == label == other:
        return f"the label {spoken(text)} stands twice; keep one of them"
    return f"{spoken(text)} also stands for the label {spoken(other)}; keep one of them"
