"""CSVW: the metadata of a table, of a group of tables, or a table's schema alone.

References: W3C, Metadata Vocabulary for Tabular Data (https://www.w3.org/TR/tabular-metadata/), sections 5.4 to 5.11,
and Model for Tabular Data, section 6.4 (https://www.w3.org/TR/tabular-data-model/).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import UNSET

from dpqr.domain.form import Constraints, FieldType
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import JsonObject
from dpqr.tables.codebooks.columns import Codebook, CodebookColumn, Outline, beyond, exact, with_bounds, with_labels

CONTEXT = "http://www.w3.org/ns/csvw"
_WHOLE = "integer long int short byte nonNegativeInteger positiveInteger unsignedLong unsignedInt unsignedShort"
_BASES: dict[str, FieldType] = {
    **dict.fromkeys([*_WHOLE.split(), "unsignedByte", "nonPositiveInteger", "negativeInteger", "gYear"], "integer"),
    **dict.fromkeys(["decimal", "double", "float", "number"], "number"),
    **dict.fromkeys(["datetime", "dateTime", "dateTimeStamp"], "datetime"),
    **dict.fromkeys(["string", "normalizedString", "token", "anyAtomicType", "any"], "string"),
    "boolean": "boolean",
    "date": "date",
}
_LEAST = {"positiveInteger": 1, **dict.fromkeys(["nonNegativeInteger", *_WHOLE.split()[-3:], "unsignedByte"], 0)}
_DIRECTIVES = {
    "yyyy": "%Y",
    "MM": "%m",
    "M": "%m",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    **dict.fromkeys(["S" * count for count in range(1, 7)], "%f"),
    **dict.fromkeys(["XXX", "XX", "X", "xxx", "xx"], "%z"),
    "%": "%%",
}
_DATES = re.compile("|".join(sorted(_DIRECTIVES, key=len, reverse=True)))
"""Fields of Unicode's date patterns, as far as CSVW has them."""
_ISO = ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm", "yyyy-MM-ddTHH:mm:ss", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss")
_LITERAL = r"(?:[^\\.^$*+?{}\[\]|()]|\\\W)*"
_ALTERNATIVES = re.compile(rf"\^?\(?(?:\?:)?({_LITERAL}(?:\|{_LITERAL})*)\)?\$?")
"""A regular expression that lists texts, and nothing else."""


def is_csvw(tree: Any) -> bool:
    """Whether an object is such metadata."""
    if not isinstance(tree, dict):
        return False
    context = tree.get("@context")
    named = CONTEXT in (context if isinstance(context, list) else [context])
    return named or "tableSchema" in tree or isinstance(tree.get("tables"), list)


def read_csvw(tree: Any, location: Location) -> tuple[Codebook, ...]:
    """One table for each description whose columns stand in the file."""
    if not isinstance(tree, dict) or not is_csvw(tree):
        raise location.fault("CSVW metadata has 'tableSchema', or 'tables'; both are missing")
    if not isinstance(tree.get("tables"), list):
        return (_table(tree, {}, location),)
    where = location.key("tables")
    return tuple(_table(table, tree, where.item(index)) for index, table in enumerate(tree["tables"]))


def _table(table: Any, group: JsonObject, location: Location) -> Codebook:
    schema = table.get("tableSchema", group.get("tableSchema", table)) if isinstance(table, dict) else None
    if isinstance(schema, str):
        raise location.key("tableSchema").fault("stands in another file; give that file")
    if not isinstance(schema, dict) or not isinstance(schema.get("columns"), list):
        raise location.key("tableSchema").fault("has no list of 'columns'; add it")
    inherited = {**group, **table, **schema}
    where, remarks, columns = location.key("tableSchema").key("columns"), list[str](), []
    for index, column in enumerate(schema["columns"]):
        if not isinstance(column, dict):
            raise where.item(index).fault("a column is an object with 'titles' or a 'name'")
        if column.get("virtual") is not True:
            columns.append(_column(column, inherited, where.item(index), remarks))
    name = str(table.get("url", "")).rpartition("/")[2].partition(".")[0]
    return Codebook(name=name, outline=Outline(fields=tuple(columns)), remarks=tuple(remarks))


def _column(column: JsonObject, inherited: JsonObject, location: Location, remarks: list[str]) -> CodebookColumn:
    titles = column.get("titles")
    while isinstance(titles, dict | list) and titles:  # the header's text: the first of several titles or languages
        titles = next(iter(titles.values())) if isinstance(titles, dict) else titles[0]
    name = (titles if isinstance(titles, str) else None) or column.get("name")
    if not isinstance(name, str) or not name:
        raise location.fault("has neither 'titles' nor a 'name'; the header's text is needed")
    stated = column.get("datatype", inherited.get("datatype", UNSET))
    datatype = stated if isinstance(stated, dict) else {"base": "string" if stated is UNSET else stated}
    base = datatype.get("base", "string")
    kind = UNSET if stated is UNSET else _BASES.get(base, UNSET) if isinstance(base, str) else UNSET
    if "separator" in column or (stated is not UNSET and kind is UNSET):
        remarks.append(f"{name} holds lists, or values of a type that a domain file lacks; give it another by --types")
        kind = UNSET
    null = column.get("null", inherited.get("null", UNSET))
    description = column.get("dc:description", UNSET)
    found = CodebookColumn(
        name=name,
        type=kind,
        constraints=Constraints(required=True if column.get("required") is True else UNSET),
        missing_values=UNSET if null is UNSET else tuple(map(str, null if isinstance(null, list) else [null])),
        description=description if isinstance(description, str) else UNSET,
    )
    if kind in ("string", "boolean", UNSET):
        return _formatted(found, datatype.get("format"))
    # Bounds; `minimum` and `minInclusive` are the same.
    low, high = (_bound(datatype, f"{side}imum", f"{side}Inclusive") for side in ("min", "max"))
    if kind == "integer" and low is UNSET:
        low = _LEAST.get(str(base), UNSET)
    found = with_bounds(found, low=low, high=high)
    found = beyond(found, low=_bound(datatype, "minExclusive"), high=_bound(datatype, "maxExclusive"))
    return _formatted(found, datatype.get("format"))


def _bound(datatype: JsonObject, *keys: str) -> Any:
    """The stated bound; numbers may be written as texts."""
    value = next((datatype[key] for key in keys if key in datatype), UNSET)
    number = exact(value) if isinstance(value, str) else None
    return value if number is None else number


def _formatted(column: CodebookColumn, form: Any) -> CodebookColumn:
    """What the `format` says: labels in a regular expression, words for true and false, marks of numbers, dates."""
    if column.type in ("integer", "number"):
        # Numbers with the stated marks; a pattern with a comma has that for groups.
        marks = form if isinstance(form, dict) else {"pattern": form}
        pattern, decimal = marks.get("pattern"), marks.get("decimalChar")
        grouped = isinstance(pattern, str) and "," in pattern and decimal != ","
        group = marks.get("groupChar", "," if grouped else None)
        has_decimal = isinstance(decimal, str) and len(decimal) == 1 and column.type == "number"
        return msgspec.structs.replace(
            column,
            group_char=group if isinstance(group, str) and len(group) == 1 else UNSET,
            decimal_char=decimal if has_decimal else UNSET,
        )
    if not isinstance(form, str):
        return column
    if column.type == "string":
        listed = _ALTERNATIVES.fullmatch(form)
        if listed is None:
            return column
        alternatives = re.findall(rf"(?:^|(?<=\|))({_LITERAL})(?=\||$)", listed[1])
        return with_labels(column, [re.sub(r"\\(.)", r"\1", each) for each in alternatives])
    if column.type == "boolean":
        true, _, false = form.partition("|")
        return msgspec.structs.replace(column, true_values=(true,), false_values=(false,)) if true and false else column
    pattern = _DATES.sub(lambda found: _DIRECTIVES[found[0]], form)
    return column if column.type is UNSET or form in _ISO else msgspec.structs.replace(column, format=pattern)
