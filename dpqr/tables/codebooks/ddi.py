"""DDI-Codebook 2.5: the variables of a study's data description.

Privacy: frequencies and summary statistics (catStat, sumStat) are counts of rows; they are never read.

References: https://ddialliance.org/Specification/DDI-Codebook/2.5/ (var, catgry, valrng, invalrng, varFormat).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

import msgspec
from msgspec import UNSET

from dpqr.domain.form import Category, FieldType
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import JsonObject
from dpqr.tables.codebooks.columns import Codebook, CodebookColumn, Outline, beyond, exact, with_bounds, with_labels


def is_ddi(data: bytes) -> bool:
    """Whether a text begins as XML does."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def read_ddi(data: bytes, location: Location) -> tuple[Codebook, ...]:
    """One table for each file that variables are said to lie in; one for all where none is said.

    Raises:
        DocumentError: no XML, a document type (it could define entities), or no variable.
    """
    top = _parsed(data, location)
    names = {each.get("ID"): _text(each, "fileTxt/fileName") for each in _named(top, "fileDscr")}
    tables: dict[str, list[CodebookColumn]] = {}
    for index, variable in enumerate(_named(top, "var")):
        name = variable.get("name", "").strip()
        if not name:
            raise location.fault(f"the variable number {index + 1} has no name; add the attribute")
        categories = _children(variable, "catgry")
        missing = [_text(each, "catValu") for each in categories if each.get("missing") == "Y"]
        missing += _values(variable, "invalrng")
        continuous = variable.get("intrvl") == "contin" or bool(_ranges(variable))
        titles = {_text(each, "catValu"): _text(each, "labl") for each in categories}
        values = [] if continuous else [value for value in titles if value not in missing]
        values = values or _values(variable, "valrng")
        column = CodebookColumn(
            name=name,
            type=_type(variable, values, continuous),
            title=_text(variable, "labl") or UNSET,
            missing_values=("", *dict.fromkeys(missing)) if missing else UNSET,
        )
        # The least minimum and the greatest maximum of the valid ranges are the bounds.
        for each in _ranges(variable) if column.type in ("integer", "number", "date") else ():
            stated: JsonObject = {}
            for key in ("min", "max", "minExclusive", "maxExclusive"):
                text = each.get(key, "").strip()
                bound = (text or None) if column.type == "date" else exact(text)
                stated[key] = UNSET if bound is None else bound
            own = CodebookColumn(name="", type=column.type)
            own = beyond(own, low=stated["minExclusive"], high=stated["maxExclusive"])
            own = with_bounds(own, low=stated["min"], high=stated["max"])
            sides = column.constraints, own.constraints
            lows, highs = [side.minimum for side in sides], [side.maximum for side in sides]
            column = with_bounds(
                column,
                low=min((bound for bound in lows if bound is not UNSET), default=UNSET),
                high=max((bound for bound in highs if bound is not UNSET), default=UNSET),
            )
        column = with_labels(column, [exact(value) for value in values] if column.type == "integer" else values)
        if isinstance(column.constraints.enum, tuple):
            # The titles of its values, unless two are alike: answers tell cells apart by them.
            known = column.constraints.enum
            shown = [titles.get(str(value)) or str(value) for value in known]
            if len(set(shown)) == len(shown) and shown != list(map(str, known)):
                titled = tuple(Category(value=value, label=title) for value, title in zip(known, shown, strict=True))
                limits = msgspec.structs.replace(column.constraints, enum=UNSET)
                column = msgspec.structs.replace(column, categories=titled, constraints=limits)
        for file in (variable.get("files") or "").split() or [""]:
            tables.setdefault(names.get(file) or file, []).append(column)
    if not tables:
        raise location.fault("has no variable: <var name=...> in <dataDscr>; export the description of the variables")
    return tuple(Codebook(name=name, outline=Outline(fields=tuple(each))) for name, each in tables.items())


def _parsed(data: bytes, location: Location) -> ElementTree.Element:
    """The document's top. Without a document type there are no entities to expand, and nothing to fetch."""

    def refuse(*_: Any) -> None:
        raise location.fault("has a document type (<!DOCTYPE>), which could define entities; remove it")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
        return ElementTree.fromstring(data)
    except (expat.ExpatError, ElementTree.ParseError, ValueError, LookupError) as error:
        line = f" at line {error.lineno}" if isinstance(error, expat.ExpatError) else ""
        raise location.fault(f"not XML{line}; correct it there") from None


def _named(element: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (each for each in element.iter() if _local(each) == name)


def _children(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in element if _local(each) == name]


def _local(element: ElementTree.Element) -> str:
    """The name of an element in whatever namespace: files of 2.1 and 2.5 differ in it."""
    return str(element.tag).rpartition("}")[2]


def _text(element: ElementTree.Element, path: str) -> str:
    """The text of the first child at a path of names; empty where there is none."""
    for name in path.split("/"):
        found = _children(element, name)
        if not found:
            return ""
        element = found[0]
    return " ".join((element.text or "").split())


def _type(variable: ElementTree.Element, values: list[str], continuous: bool) -> FieldType | Any:
    """By the values, where they are listed; else by the format and the range's units."""
    if values:
        return (
            "integer" if all(str(exact(value)) == value and type(exact(value)) is int for value in values) else "string"
        )
    form = next(iter(_children(variable, "varFormat")), None)
    if form is not None and form.get("category") == "date":
        return "date"
    whole = variable.get("dcml") == "0" or any(each.get("UNITS") == "INT" for each in _ranges(variable))
    if whole or (form is not None and form.get("type") == "numeric") or continuous:
        return "integer" if whole else "number"
    return "string" if form is not None and form.get("type") == "character" else UNSET


def _values(variable: ElementTree.Element, name: str) -> list[str]:
    """The single values of valrng or invalrng."""
    items = (item for each in _children(variable, name) for item in _children(each, "item"))
    return [item.get("VALUE", "") for item in items if item.get("VALUE")]


def _ranges(variable: ElementTree.Element) -> list[ElementTree.Element]:
    return [each for valid in _children(variable, "valrng") for each in _children(valid, "range")]
