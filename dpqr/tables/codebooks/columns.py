"""Columns as a codebook states them, which may be less than a domain file needs; and several statements joined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dpqr.domain.domain_file import PLACEHOLDER, decode_domain
from dpqr.domain.form import DOMAIN_VERSION, Constraints, DocumentPart, Field, FieldType, TableSchema, Treatment
from dpqr.domain.text.decoding import Location, decode, describe_value
from dpqr.domain.text.documents import JsonObject
from dpqr.kernel.errors import DocumentError, UsageFault

CUTS = ("bins", "width", "edges", "every", "closed")
"""Keys of the `dpqr` block that cut an ordered column."""


class CodebookColumn(Field, frozen=True, kw_only=True):
    """A field of the domain file, as far as it is known: its type may be missing too."""

    type: FieldType | UnsetType = UNSET  # type: ignore[assignment]  # a field that is not finished yet


class Outline(TableSchema, frozen=True, kw_only=True):
    """A domain file that may have gaps."""

    fields: tuple[CodebookColumn, ...] = ()


class Codebook(Struct, frozen=True, kw_only=True):
    """What one codebook states about one table.

    name: of the table; empty where it has none.
    remarks: what a domain file cannot hold, or what the curator must do with it.
    """

    name: str = ""
    outline: Outline
    remarks: tuple[str, ...] = ()


def is_placeholder(value: Any) -> bool:
    """Whether a domain file has this where it waits for its curator."""
    return isinstance(value, str) and value.startswith(PLACEHOLDER)


def has_bins(kind: FieldType | UnsetType) -> bool:
    """Whether columns of this type are cut into bins."""
    return kind in ("integer", "number", "date", "datetime")


def require_sound(column: CodebookColumn, document: str) -> None:
    """DocumentError where a bound, an edge or a label is of another kind than the column."""
    limits, edges = column.constraints, column.dpqr.edges
    stated = (limits.minimum, limits.maximum, *(edges or ()), *(limits.enum or ()))
    numbers = column.type in ("integer", "number")
    for value in stated if has_bins(column.type) or column.type == "string" else ():
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        fits = is_number if numbers else isinstance(value, str)
        if not (fits or value is UNSET or is_placeholder(value)):
            said = f"{describe_value(value)} is no value of type {column.type!r}"
            raise DocumentError(f"{document}: column {column.name!r}: {said}; correct it")


def has_labels(column: CodebookColumn) -> bool:
    """Whether labels are stated."""
    return column.constraints.enum is not UNSET or column.categories is not UNSET


def with_bounds(column: CodebookColumn, *, low: Any = UNSET, high: Any = UNSET) -> CodebookColumn:
    """The column with these bounds; one that is UNSET stays as it was."""
    stated = column.constraints
    bounds = msgspec.structs.replace(
        stated,
        minimum=stated.minimum if low is UNSET else low,
        maximum=stated.maximum if high is UNSET else high,
    )
    return msgspec.structs.replace(column, constraints=bounds)


def beyond(column: CodebookColumn, *, low: Any = UNSET, high: Any = UNSET) -> CodebookColumn:
    """The column with bounds that its values do not reach; of whole numbers the next one is a bound that they do."""
    if column.type == "integer":
        low = low + 1 if isinstance(low, int) else low
        high = high - 1 if isinstance(high, int) else high
    return with_bounds(column, low=low, high=high)


def with_labels(column: CodebookColumn, values: Sequence[Any]) -> CodebookColumn:
    """The column with these values: labels of texts and whole numbers, the bounds of what the domain file bins.

    Booleans have the labels that their type says.
    """
    if not values or column.type == "boolean":
        return column
    if column.type == "number" and all(isinstance(value, int) for value in values):
        column = msgspec.structs.replace(column, type="integer")
    if column.type in ("number", "date", "datetime"):
        return with_bounds(column, low=min(values), high=max(values))
    kept = tuple(dict.fromkeys(values if column.type == "integer" else map(str, values)))
    return msgspec.structs.replace(column, constraints=msgspec.structs.replace(column.constraints, enum=kept))


def exact(text: str) -> int | Decimal | None:
    """A number that is written in decimal; None where the text is none."""
    try:
        value = Decimal(text.strip())
    except ArithmeticError:
        return None
    if not value.is_finite() or abs(value.adjusted()) > 60:
        return None
    return int(value) if value == value.to_integral_value() else value


PartT = TypeVar("PartT", bound=DocumentPart)


def non_default_parts(part: DocumentPart) -> Iterator[tuple[str, Any]]:
    """Names and values of what is stated in a part of a document: all that is not its default."""
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        if value is not UNSET and value != field.default:
            yield field.name, value


def merge_columns(base: CodebookColumn, over: CodebookColumn) -> CodebookColumn:
    """Both statements about one column. Where they differ, `over` wins; what its type or cells replace is dropped."""
    if over.type is not UNSET and base.type not in (UNSET, over.type):
        base = CodebookColumn(
            name=base.name, title=base.title, description=base.description, missing_values=base.missing_values
        )
    limits, cut = base.constraints, base.dpqr
    if has_labels(over):
        limits, cut = msgspec.structs.replace(limits, minimum=UNSET, maximum=UNSET), uncut(cut)
    if has_labels(over) or _bounded(over) or over.dpqr.edges is not UNSET:
        limits = msgspec.structs.replace(limits, enum=UNSET)
        base = msgspec.structs.replace(base, categories=UNSET, categories_ordered=False)
    if over.dpqr.edges is not UNSET:
        limits = msgspec.structs.replace(limits, minimum=UNSET, maximum=UNSET)
    if any(getattr(over.dpqr, key) is not UNSET for key in CUTS) or (_bounded(over) and cut.edges is not UNSET):
        cut = uncut(cut)
    return _joined(msgspec.structs.replace(base, constraints=limits, dpqr=cut), over)


def _bounded(column: CodebookColumn) -> bool:
    return column.constraints.minimum is not UNSET or column.constraints.maximum is not UNSET


def uncut(cut: Treatment) -> Treatment:
    """The same rules without bins."""
    return msgspec.structs.replace(cut, **dict.fromkeys(CUTS, UNSET))


def _joined(base: PartT, over: PartT) -> PartT:
    changes = {}
    for name, value in non_default_parts(over):
        changes[name] = _joined(getattr(base, name), value) if isinstance(value, Constraints | Treatment) else value
    return msgspec.structs.replace(base, **changes)


def own_missing(outline: Outline) -> Outline:
    """The same with the table's missingValues stated by each column, as joining columns of several sources needs it."""
    if outline.missing_values == ("",):
        return outline
    return msgspec.structs.replace(
        outline,
        missing_values=("",),
        fields=tuple(
            msgspec.structs.replace(column, missing_values=outline.missing_values)
            if column.missing_values is UNSET
            else column
            for column in outline.fields
        ),
    )


def outline_document(outline: Outline) -> JsonObject:
    """The outline as a JSON object; what is not stated is absent, and numbers are written as they are.

    missingValues that all columns state alike stand once, for the table.
    """
    missing = {column.missing_values for column in outline.fields}
    if len(missing) == 1 and UNSET not in missing:
        fields = tuple(msgspec.structs.replace(column, missing_values=UNSET) for column in outline.fields)
        outline = msgspec.structs.replace(outline, fields=fields, missing_values=missing.pop())
    members = builtin(outline)
    fields = members.pop("fields", [])
    version = {"dpqr": members.pop("dpqr")} if "dpqr" in members else {}
    return {**version, **members, "fields": fields}


def builtin(value: Any) -> Any:
    """A part of a document as JSON's own types."""
    if isinstance(value, DocumentPart):
        names = {field.name: field.encode_name for field in msgspec.structs.fields(value)}
        members = ((names[name], builtin(member)) for name, member in non_default_parts(value))
        return {name: member for name, member in members if member != {}}
    if isinstance(value, tuple | list):
        return [builtin(member) for member in value]
    if isinstance(value, dict):
        return {key: builtin(member) for key, member in value.items()}
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


# The gaps of an outline, filled in: placeholders where only the curator knows, proposals where any value is sound.

FIRST_BINS = 10
"""Bins proposed for a column of numbers."""
SINGLE_VALUES = 120
"""Whole values up to which a column whose bounds are known gets one bin each."""


class DraftDomain(Struct, frozen=True, kw_only=True):
    """A domain file, and what its curator has still to look at.

    Attributes:
        outline: the domain file.
        to_fill: "labels of sex, region" and the like.
        proposed: "10 bins of income" and the like.
    """

    outline: Outline
    to_fill: tuple[str, ...]
    proposed: tuple[str, ...]


def fill_gaps(outline: Outline) -> DraftDomain:
    """Fill the gaps, and check every column that has no placeholder as `dpqr check` would.

    Raises:
        DocumentError: what the sources state about a column contradicts itself.
    """
    columns = tuple(map(_propose, outline.fields))
    to_fill: dict[str, list[str]] = defaultdict(list)
    proposed: dict[str, list[str]] = defaultdict(list)
    for before, column in zip(outline.fields, columns, strict=True):
        needs = list(_needs(column))
        if needs:
            to_fill[" and ".join(needs)].append(column.name)
        elif column.dpqr.labels is UNSET and column.dpqr.bounds is UNSET:  # what is to be learned is no domain yet
            alone = outline_document(Outline(fields=(column,)))
            decode_domain(alone, Location(f"column {column.name!r} as its sources state it"))
        if column.dpqr.bins is not before.dpqr.bins:
            proposed[f"{column.dpqr.bins} bins"].append(column.name)
        if column.dpqr.every is not before.dpqr.every:
            proposed[f"one bin per {column.dpqr.every}"].append(column.name)
    fields = []
    for column in columns:
        for need in _needs(column):
            if need == "labels":
                enum = msgspec.structs.replace(column.constraints, enum=(PLACEHOLDER,))
                column = msgspec.structs.replace(column, constraints=enum)
            elif need in ("minimum", "maximum"):
                column = with_bounds(column, **{"low" if need == "minimum" else "high": PLACEHOLDER})
        fields.append(column)
    whole = msgspec.structs.replace(
        outline,
        dpqr=DOMAIN_VERSION,
        malformed="drop" if outline.malformed is UNSET else outline.malformed,
        fields=tuple(fields),
    )
    return DraftDomain(
        outline=whole,
        to_fill=tuple(f"{need} of {', '.join(names)}" for need, names in to_fill.items()),
        proposed=tuple(f"{what} of {', '.join(names)}" for what, names in proposed.items()),
    )


def _propose(column: CodebookColumn) -> CodebookColumn:
    """With a type, a cut and rules: as stated, else those that are proposed."""
    column = msgspec.structs.replace(column, type="string" if column.type is UNSET else column.type)
    limits = column.constraints
    if column.type == "integer" and limits.minimum is not UNSET and limits.minimum == limits.maximum:
        # An integer from 3 to 3 has the label 3: bounds must differ.
        limits = msgspec.structs.replace(limits, enum=(limits.minimum,), minimum=UNSET, maximum=UNSET)
        column = msgspec.structs.replace(column, constraints=limits, dpqr=uncut(column.dpqr))
    cut = column.dpqr
    is_cut = any(getattr(cut, key) is not UNSET for key in CUTS if key != "closed")
    if not is_cut and not has_labels(column) and has_bins(column.type):
        low, high = limits.minimum, limits.maximum
        few = isinstance(low, int) and isinstance(high, int) and high - low < SINGLE_VALUES
        if column.type in ("date", "datetime"):
            cut = msgspec.structs.replace(cut, every="month")
        elif column.type != "integer" or not few:
            cut = msgspec.structs.replace(cut, bins=FIRST_BINS)
    if cut.null is UNSET and cut.otherwise is UNSET:
        cut = msgspec.structs.replace(cut, null=UNSET if limits.required is True else "cell")
    if cut.otherwise is UNSET:
        cut = msgspec.structs.replace(cut, otherwise="drop")
    return msgspec.structs.replace(column, dpqr=cut)


def _needs(column: CodebookColumn) -> Iterator[str]:
    """What no source states about a column; nothing that a release is to learn."""
    limits, edges = column.constraints, column.dpqr.edges
    if isinstance(edges, tuple) and any(map(is_placeholder, edges)):
        yield "outermost edges"
    if isinstance(limits.enum, tuple) and any(map(is_placeholder, limits.enum)):
        yield "other labels"
    if has_bins(column.type) and not has_labels(column) and edges is UNSET and column.dpqr.bounds is UNSET:
        if limits.minimum is UNSET:
            yield "minimum"
        if limits.maximum is UNSET:
            yield "maximum"
    if column.type == "string" and not has_labels(column) and column.dpqr.labels is UNSET:
        yield "labels"


# Columns as they are stated on the command line: COLUMN=TYPE[:VALUES][:KEY=VALUE]..., separated by commas.
#
# VALUES are LOW..HIGH, or labels joined by |, or codes with their labels: 1=male|2=female. The keys are those of a
# field and of its `dpqr` block.

_COLUMNS = re.compile(r",(?=[^,=:|]+=)")
"""A comma before the next column's name; labels and marks may hold others."""
_PART = re.compile(r"(?!(?<=\d):\d|(?<=%[A-Za-z]):%):")
"""A colon that is not one of a time, 12:30, or of a time's format, %H:%M."""
_CODES = re.compile(r"-?\d+=|[^|=]+=[^|]*\|[^|=]+=")
"""How codes with labels begin: with a number, or with two pairs; what else holds = is a key."""
_OTHER_TYPES = {
    **dict.fromkeys(("text", "str", "varchar", "category", "enum"), "string"),
    **dict.fromkeys(("float", "double", "decimal", "numeric"), "number"),
    "timestamp": "datetime",
}
_LEARN = "a release learns the labels of string:labels=learn and the bounds of number:bounds=learn"
EXAMPLE = "--types 'age=integer:0..99,sex=string:female|male,income=number:0..250000:bins=50'"


def read_types(texts: Sequence[str]) -> Codebook:
    """The columns that the options state.

    Raises:
        UsageFault: a text is not of this form; the message shows one that is.
    """
    columns: dict[str, CodebookColumn] = {}
    inner = {field.encode_name for field in msgspec.structs.fields(Treatment)}
    known = inner | {field.encode_name for field in msgspec.structs.fields(CodebookColumn)}
    for each in (part for text in texts for part in _COLUMNS.split(text)):
        name, sign, stated = each.strip().partition("=")
        if not (name and sign and stated):
            raise UsageFault(f"--types {each!r}: expected COLUMN=TYPE...; for example: {EXAMPLE}")
        if name in columns:
            raise UsageFault(f"--types: the column {name!r} stands twice; keep one")
        kind, *parts = _PART.split(stated)
        if kind not in get_args(FieldType):
            near = [_OTHER_TYPES[kind]] if kind in _OTHER_TYPES else get_close_matches(kind, get_args(FieldType), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"types: {', '.join(get_args(FieldType))}"
            raise UsageFault(f"--types {name}: unknown type {kind!r}; {_LEARN if kind == 'learn' else hint}")
        keys: dict[str, str] = {}
        values: list[str] = []
        for part in parts:
            key, sign, text = part.partition("=")
            if not sign or (key not in known and _CODES.match(part)):
                values.append(part)
            elif keys.setdefault(key, text) is not text:
                raise UsageFault(f"--types {name}: {key!r} stands twice; keep one")
        if values[1:] and "%" not in (pattern := keys.get("format", "%")):  # a colon within it has parted it
            raise UsageFault(f"--types {name}: format={pattern} is no pattern; write one such as '%Y/%m/%d %H:%M'")
        if values[1:]:
            raise UsageFault(f"--types {name}: values stand twice; keep one of {', '.join(map(repr, values))}")
        # Labels with codes, and labels that rise as listed, are categories.
        coded = [part for part in values if "=" in part or ("categoriesOrdered" in keys and "|" in part)]
        try:
            # A field's keys, those of its `dpqr` block in it.
            field: JsonObject = {"name": name, "type": kind, "dpqr": {}}
            for part in values:
                if part in coded:
                    field["categories"] = _categories(name, kind, part)
                elif kind == "boolean" and {"0", "1"}.issuperset(part.split("|")):
                    field |= {"trueValues": ["1"], "falseValues": ["0"]}
            for key, text in keys.items():
                (field["dpqr"] if key in inner else field)[key] = _member(key, text)
            column = decode(field, CodebookColumn, Location("--types", name))
        except DocumentError as error:
            raise UsageFault(str(error)) from None
        for part in (part for part in values if part not in coded):
            # LOW..HIGH, either of which may be left out, or labels.
            low, dots, high = part.partition("..")
            if part == "learn":
                raise UsageFault(f"--types {name}: 'learn' alone is no label and no bound; {_LEARN}")
            if column.type == "boolean":
                words = set(part.split("|"))
                if not (words <= {"true", "false"} or words <= {"0", "1"}):
                    raise UsageFault(f"--types {name}: which word is true? write boolean:trueValues=yes:falseValues=no")
            elif dots and has_bins(column.type):
                sides = {side: _value(text) for side, text in (("low", low), ("high", high)) if text}
                column = with_bounds(column, **sides)
            elif has_bins(column.type) and column.type != "integer":
                raise UsageFault(f"--types {name}: {part!r} is no range; write LOW..HIGH; for example: {EXAMPLE}")
            else:
                column = with_labels(column, _labels(name, part.split("|"), kind))
        columns[name] = column
    return Codebook(outline=Outline(fields=tuple(columns.values())))


def _labels(name: str, texts: Sequence[str], kind: str, what: str = "label") -> list[Any]:
    """Labels, or values, as a column of this type has them. Raises: UsageFault: one is empty, or stands twice."""
    labels = [_value(text) if kind == "integer" else text for text in texts]
    if (
        kind == "integer"
        and (wrong := next((label for label in labels if not isinstance(label, int)), None)) is not None
    ):
        raise UsageFault(f"--types {name}: {str(wrong)!r} is no whole number; text is of type string")
    if "" in labels:
        raise UsageFault(f"--types {name}: a {what} is empty; missing values are stated by missingValues=")
    twice = next((label for place, label in enumerate(labels) if label in labels[:place]), None)
    if twice is not None:
        raise UsageFault(f"--types {name}: the {what} {twice!r} stands twice; keep one")
    return labels


def _categories(name: str, kind: str, text: str) -> list[Any]:
    """Codes with their labels; a code without one is its own label. Raises: UsageFault."""
    if kind not in ("string", "integer"):
        raise UsageFault(f"--types {name}: labels with codes are of columns of type string or integer")
    pairs = [each.partition("=") for each in text.split("|")]
    codes = _labels(name, [code for code, _, _ in pairs], kind, "value")
    _labels(name, [label if sign else code for code, sign, label in pairs], "string")
    return [
        {"value": code, "label": label} if sign else code for code, (_, sign, label) in zip(codes, pairs, strict=True)
    ]


def _member(key: str, text: str) -> Any:
    """A key's value in the type that it has: a list, a truth value, a text, or else a number where it is one."""
    if key in ("edges", "categories"):
        return [_value(each) for each in text.split("|")]
    if key in ("trueValues", "falseValues"):
        return text.split("|")
    if key == "missingValues":
        pairs = [each.partition("=") for each in text.split("|")]
        return [{"value": value, "label": label} if sign else value for value, sign, label in pairs]
    if text in ("true", "false"):
        return text == "true"
    return _value(text) if key in ("bins", "width") else text


def _value(text: str) -> Any:
    """A number, where it is one."""
    number = exact(text)
    return text if number is None else number
