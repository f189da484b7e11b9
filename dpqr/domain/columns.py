"""Bins of number, date and time columns, from declared edges, or from bounds with a count, a width or a period.

All in exact fractions: of numbers, of days since 1970-01-01, or of microseconds since 1970-01-01 (UTC).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache, partial
from typing import Literal

from msgspec import UNSET, Struct

from dpqr.domain.attribute import Axis, Bins, Codes, Labels, Spelling
from dpqr.domain.form import Category, Field, MissingValue, MissingValues
from dpqr.domain.text.decoding import Location, describe_value, nearest, number, quote_fix
from dpqr.domain.text.faults import Faults, all_of

MAX_CELLS = 2**20
"""Cells of one column."""

Kind = Literal["number", "date", "datetime"]
Reader = Callable[[object, Location], Fraction]
"""Reads one stated bound of the column's kind; a DocumentError where it is none."""


def edge_bins(field: Field, read: Reader, kind: Kind, location: Location) -> Bins:
    """Bins between the declared edges; bounds that are stated beside them must be the outermost two."""
    cut, where = field.dpqr, location.key("dpqr").key("edges")
    stated = [] if cut.edges is UNSET else cut.edges
    edges = tuple(all_of(partial(read, edge, where.item(index)) for index, edge in enumerate(stated)))
    if len(edges) < 2:
        raise where.fault(f"{len(edges)} edge(s) make no bin; give at least 2")
    require_few(len(edges) - 1, where)
    for index in range(1, len(edges)):
        if edges[index] == edges[index - 1]:
            raise where.item(index).fault("equals the edge before it, so a bin would be empty; remove one of them")
        if edges[index] < edges[index - 1]:
            raise where.item(index).fault("is below the edge before it, so bins would overlap; give rising edges")
    closed: Literal["left", "right"] = "right" if cut.closed == "right" else "left"
    bins = Bins(edges=edges, closed=closed, integral=field.type in ("integer", "date"), kind=kind)
    for index in range(bins.size if bins.integral else 0):
        low, high = bins.bounds(index)
        if low > high:
            raise where.item(index + 1).fault("the bin that ends here holds no whole value; move the edge")
    limits = field.constraints
    for side, bound, edge in (("minimum", limits.minimum, edges[0]), ("maximum", limits.maximum, edges[-1])):
        at = location.key("constraints").key(side)
        if bound is not UNSET and read(bound, at) != edge:
            raise at.fault(f"differs from the outermost edge, {bins.mark(edge)}; leave it out or make them equal")
    return bins


def declared_bounds(field: Field, read: Reader, location: Location, instead: str) -> tuple[Fraction, Fraction]:
    """Minimum and maximum, both stated and in order. instead: what else the column could state."""
    where, limits = location.key("constraints"), field.constraints
    sides = ("minimum", limits.minimum), ("maximum", limits.maximum)
    for side, stated in sides:
        if stated is UNSET:
            raise where.fault(f"the {side} is missing; state both minimum and maximum, or {instead}")
    low, high = all_of(partial(read, stated, where.key(side)) for side, stated in sides)
    if low >= high:
        raise where.key("maximum").fault("must be above the minimum")
    return low, high


def require_few(count: int, location: Location) -> None:
    """Refuse more cells than one column may have."""
    if count > MAX_CELLS:
        raise location.fault(f"makes {count} cells, more than the {MAX_CELLS} of one column; use fewer, wider bins")


def number_bins(field: Field, location: Location) -> Bins:
    """Bins of an `integer` or `number` column, as its `dpqr` block says."""
    cut, own = field.dpqr, location.key("dpqr")
    if cut.edges is not UNSET:
        return edge_bins(field, number, "number", location)
    if field.type == "integer":
        least, most = declared_bounds(field, number, location, "an enum, or dpqr.edges")
        sides, where = (("minimum", least), ("maximum", most)), location.key("constraints")
        all_of(partial(_whole, bound, where.key(side)) for side, bound in sides)
        first, last = int(least), int(most)
        if cut.bins is UNSET:
            # Bins of `width` whole values each (1 where none is stated), counted from the first; the last has the rest.
            where = where if cut.width is UNSET else own.key("width")
            step = _whole(Fraction(1) if cut.width is UNSET else _width(field, where), where)
            require_few(-(-(last - first + 1) // step), where)
            return whole_bins([*range(first, last + 1, step), last + 1])
        # `bins` bins of whole values, as even as can be; the closed side has the longer ones.
        values = last - first + 1
        require_few(cut.bins, own.key("bins"))
        if cut.bins > values:
            raise own.key("bins").fault(
                f"{cut.bins} bins are more than the {values} whole values from minimum to maximum"
            )
        up = cut.bins - 1 if cut.closed == "right" else 0
        return whole_bins([first + (index * values + up) // cut.bins for index in range(cut.bins + 1)])
    low, high = declared_bounds(field, number, location, "dpqr.edges")
    # Edges from the minimum in equal steps; the last bin is shorter where a width does not divide.
    if cut.width is not UNSET:
        step_length = _width(field, own.key("width"))
    elif cut.bins is not UNSET:
        step_length = (high - low) / cut.bins
    else:
        raise own.fault("says no bins; a column of type 'number' needs one of bins, width or edges")
    count = math.ceil((high - low) / step_length)
    require_few(count, own.key("bins" if cut.width is UNSET else "width"))
    edges = (*(low + index * step_length for index in range(count)), high)
    return Bins(edges=edges, closed="right" if cut.closed == "right" else "left")


def _width(field: Field, location: Location) -> Fraction:
    width = number(field.dpqr.width, location)
    if width <= 0:
        raise location.fault("must be above 0")
    return width


def _whole(value: Fraction, location: Location) -> int:
    if value.denominator != 1:
        raise location.fault("must be a whole number, for the column is of type 'integer'")
    return int(value)


def whole_bins(starts: Sequence[int], kind: Literal["number", "date"] = "number") -> Bins:
    """Bins of the whole values starts[i] .. starts[i+1]-1. Their edges lie halfway, so no value ever meets one."""
    edges = tuple(Fraction(2 * start - 1, 2) for start in starts)
    marks = (*starts[:-1], starts[-1] - 1)
    plain = Bins(edges=edges, integral=True, kind=kind)
    titles = map(str, marks) if kind == "number" else (plain.mark(Fraction(mark)) for mark in marks)
    return Bins(edges=edges, integral=True, kind=kind, edge_titles=tuple(titles))


@cache
def code_bins(size: int) -> Bins:
    """Integer codes 0 .. size-1 as bins of one value, so that codes can be compared, summed and ranged like numbers."""
    return whole_bins(range(size + 1))


def scale_of(axis: Axis) -> Bins | Labels:
    """What values of the column are compared by: codes are whole numbers."""
    return code_bins(axis.size) if isinstance(axis, Codes) else axis


Temporal = Literal["date", "datetime"]
EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000
"""Microseconds of a day."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?")


def is_date(text: str) -> bool:
    """Whether the text has the form of an ISO date."""
    return _DATE.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Whether the text has the form of an ISO date or time."""
    return _TIME.fullmatch(text) is not None


def moment(value: object, kind: Temporal, location: Location) -> Fraction:
    """An ISO date in days, or an ISO time in microseconds; a time without an offset is UTC."""
    example = "'2024-01-31'" if kind == "date" else "'2024-01-31T12:00:00'"
    if not isinstance(value, str) or not (_DATE if kind == "date" else _TIME).fullmatch(value):
        raise location.fault(f"expected a {kind} like {example}, got {describe_value(value)}")
    try:
        if kind == "date":
            return Fraction((date.fromisoformat(value) - EPOCH).days)
        stamp = datetime.fromisoformat(value)
        stamp = stamp.astimezone(UTC) if stamp.tzinfo else stamp.replace(tzinfo=UTC)
        return Fraction((stamp - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    except (ValueError, OverflowError):
        raise location.fault(f"{describe_value(value)} is on no calendar; expected a {kind} like {example}") from None


def calendar_bins(field: Field, kind: Temporal, location: Location) -> Bins:
    """Bins of a date or datetime column: by a list of edges, or one a calendar period between two bounds."""
    cut, where = field.dpqr, location.key("dpqr")

    def read(value: object, at: Location) -> Fraction:
        return moment(value, kind, at)

    for key, stated in (("bins", cut.bins), ("width", cut.width)):
        if stated is not UNSET:
            raise where.key(key).fault(f"a {kind} column is cut by edges or by every, not by {key}")
    if cut.edges is not UNSET:
        return edge_bins(field, read, kind, location)
    if cut.every is UNSET:
        raise where.fault(f"says no bins; a {kind} column needs edges, or every with minimum and maximum")
    if cut.closed == "right":
        raise where.key("closed").fault("a calendar period owns its first instant and not its last; leave it out")
    low, high = declared_bounds(field, read, location, "dpqr.edges")
    first, last = int(low), int(high)
    if kind == "date":
        return whole_bins([first, *_period_starts(cut.every, first, last, where.key("every")), last + 1], kind="date")
    # Periods begin at midnight UTC; the last one owns the maximum.
    days = _period_starts(cut.every, first // DAY, last // DAY, where.key("every"))
    inner = [day * DAY for day in days if first < day * DAY < last]
    return Bins(edges=tuple(map(Fraction, (first, *inner, last))), kind="datetime")


def _period_starts(every: str, first: int, last: int, location: Location) -> list[int]:
    """Days after `first`, up to `last`, on which a calendar period begins."""
    starts = []
    start = _next_start(first, every)
    while start is not None and start <= last:
        starts.append(start)
        require_few(len(starts) + 1, location)
        start = _next_start(start, every)
    return starts


def _next_start(day: int, every: str) -> int | None:
    """The first day after `day` on which a period begins; None beyond the calendar's last year."""
    if every == "day":
        return day + 1
    if every == "week":
        return day + 7 - (day + 3) % 7  # 1970-01-01, day 0, was a Thursday; weeks begin on Monday
    months = {"month": 1, "quarter": 3, "year": 12}[every]
    current = EPOCH + timedelta(days=day)
    ordinal = (12 * current.year + current.month - 1) // months * months + months
    year, month = divmod(ordinal, 12)
    return (date(year, month + 1, 1) - EPOCH).days if year <= date.max.year else None


# Columns of labels: the labels, and the texts that stand for each in a table.


class _LabelTexts(Struct, frozen=True):
    """One label, and the texts that stand for it, each with the place that states it."""

    label: str
    texts: tuple[tuple[str, Location], ...]


def label_axis(field: Field, missing: Sequence[str], location: Location) -> Labels:
    """The labels of a column. missing: the texts that mean null, of which none may stand for a label."""
    own, bounds = location.key("dpqr"), location.key("constraints")
    if field.type in ("number", "date", "datetime"):
        listed = bounds.key("enum") if field.categories is UNSET else location.key("categories")
        raise listed.fault(f"a column of type {field.type!r} has no labels; cut it by dpqr.edges")
    faults = Faults()
    for key in ("bins", "width", "edges", "every", "closed"):
        if getattr(field.dpqr, key) is not UNSET:
            faults.keep(own.key(key).fault("a column of labels (enum, string, boolean) is not binned; leave it out"))
    for key, bound in (("minimum", field.constraints.minimum), ("maximum", field.constraints.maximum)):
        if bound is not UNSET:
            faults.keep(bounds.key(key).fault("a column of labels has no bounds; leave it out"))
    with faults.kept():
        stated = list(_label_texts(field, location))
        # The aliases of each label.
        aliases = {} if field.dpqr.aliases is UNSET else field.dpqr.aliases
        where, known = own.key("aliases"), [each.label for each in stated]
        for label in aliases:
            if label not in known:
                raise where.key(label).fault(
                    f"{describe_value(label)} is no label of the column; {nearest(label, known)}"
                )
        for place, each in enumerate(stated):
            at = where.key(each.label)
            more = tuple((text, at.item(index)) for index, text in enumerate(aliases.get(each.label, ())))
            stated[place] = _LabelTexts(each.label, each.texts + more)
    faults.pass_on()
    # Case counts, except for the words true and false.
    folded = field.type == "boolean" and field.true_values is UNSET and field.false_values is UNSET
    labels = Labels(
        values=tuple(each.label for each in stated),
        folded=folded if field.dpqr.case_sensitive is UNSET else not field.dpqr.case_sensitive,
        texts=tuple(tuple(_trimmed(text, field) for text, _ in each.texts) for each in stated),
        ordered=field.categories_ordered,
    )
    _require_distinct(stated, labels, [_trimmed(text, field) for text in missing], field)
    alone = tuple((value,) for value in labels.values)
    return Labels(labels.values, labels.folded, () if labels.texts == alone else labels.texts, labels.ordered)


def _trimmed(text: str, field: Field) -> str:
    return text.strip() if field.dpqr.trim else text


def _label_texts(field: Field, location: Location) -> Iterator[_LabelTexts]:
    """The labels in order; of categories those that an enum beside them lists."""
    at_enum, enum = location.key("constraints").key("enum"), field.constraints.enum
    if field.categories is UNSET:
        if enum is UNSET and field.type == "boolean":
            enum = (False, True)
        if enum is UNSET or not enum:
            raise at_enum.fault("lists no label; list every label that is publicly known, each once")
        labels = all_of(partial(_label, value, field.type, at_enum.item(index)) for index, value in enumerate(enum))
        for index, label in enumerate(labels):
            # What a boolean column lists for true or false.
            key, words = ("trueValues", field.true_values) if label == "true" else ("falseValues", field.false_values)
            if field.type != "boolean" or words is UNSET:
                words = ()
            texts = tuple((text, location.key(key).item(place)) for place, text in enumerate(words))
            yield _LabelTexts(label, texts or ((label, at_enum.item(index)),))
        return
    where = location.key("categories")
    if field.type == "boolean":
        raise where.fault("only columns of type 'string' and 'integer' have categories; leave it out")
    categories: dict[str, _LabelTexts] = {}
    for index, each in enumerate(field.categories):
        value, title = (each.value, each.label) if isinstance(each, Category) else (each, UNSET)
        at = where.item(index) if not isinstance(each, Category) else where.item(index).key("value")
        text = _label(value, field.type, at)
        categories[text] = _LabelTexts(text if title is UNSET else title, ((text, where.item(index)),))
        if len(categories) <= index:
            raise at.fault(f"the value {describe_value(text)} stands twice; keep one of them")
    listed = set(categories)
    if enum is not UNSET:
        listed = set()
        for index, value in enumerate(enum):
            text = _label(value, field.type, at_enum.item(index))
            if text not in categories:
                said = f"{describe_value(text)} is no value of the categories; {nearest(text, categories)}"
                raise at_enum.item(index).fault(said)
            listed.add(text)
        if not listed:
            raise at_enum.fault("lists no label; leave it out, for the categories are the labels")
    yield from (each for text, each in categories.items() if text in listed)


def _label(value: object, kind: str, location: Location) -> str:
    """A label as the text that cells are compared with."""
    if kind == "boolean" and isinstance(value, bool):
        return "true" if value else "false"
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "string" and isinstance(value, str):
        return value
    fix = quote_fix(value, kind, location)
    hint = f"; write {fix.text}" if fix else ""
    raise location.fault(f"{describe_value(value)} is no label of a column of type {kind!r}{hint}", fix=fix)


def _require_distinct(stated: Sequence[_LabelTexts], labels: Labels, missing: Sequence[str], field: Field) -> None:
    """Refuse a text that could stand for two labels, or for a label and for null."""
    taken: dict[str, int] = {}
    nulls = {labels.form(text) for text in missing}
    faults = Faults()
    for place, each in enumerate(stated):
        for text, where in each.texts:
            form = labels.form(_trimmed(text, field))
            if form in nulls:
                faults.keep(
                    where.fault(f"{describe_value(text)} also stands in missingValues, where it means null; keep one")
                )
            other = labels.values[taken.setdefault(form, place)]
            if taken[form] != place:
                again = text == each.label == other
                said = "the label {0} stands twice" if again else "{0} also stands for the label {1}"
                said = said.format(describe_value(text), describe_value(other))
                faults.keep(where.fault(f"{said}; keep one of them", fix=where.replaced("") if again else None))
    faults.pass_on()
    first: dict[str, int] = {}
    for place, label in enumerate(labels.values):
        if first.setdefault(label, place) != place:
            raise stated[place].texts[0][1].fault(f"the label {describe_value(label)} stands twice; keep one of them")


# How a field says that its values are written: patterns of dates and times, marks of numbers, blanks.

_DIRECTIVE = re.compile(r"(?s)%(.?)")
_DAYS = ({"d", "m"}, {"d", "b"}, {"d", "B"}, {"j"})
"""What tells the day of a year."""
_TIMES = set("HIpMSfz")
_NAMES = set("aA")
_KNOWN = set("Yy") | set().union(*_DAYS) | _TIMES | _NAMES
_ONE_KIND = (("Y", "y"), ("m", "b", "B"), ("H", "I"), ("a", "A"))
"""Directives that say the same; a pattern holds one of them at most."""


def spelling(field: Field, axis: Axis, location: Location) -> Spelling:
    """How texts of the column are written. Raises: DocumentError for keys that this kind of column does not have."""
    all_of((partial(_refuse_misplaced, field, axis, location), partial(_require_marks, field, location)))
    bins = axis if isinstance(axis, Bins) else None
    decimal, group = _marks(field)
    return Spelling(
        trim=field.dpqr.trim,
        pattern=_pattern(field, bins.kind, location.key("format")) if bins else None,
        decimal=decimal,
        group=group,
        bare=field.bare_number is not False,
    )


def missing_texts(stated: MissingValues) -> tuple[str, ...]:
    """The texts that mean null."""
    return tuple(each.value if isinstance(each, MissingValue) else each for each in stated)


def _refuse_misplaced(field: Field, axis: Axis, location: Location) -> None:
    own = location.key("dpqr")
    numbers = isinstance(axis, Bins) and axis.kind == "number"
    labels = isinstance(axis, Labels)
    listed = labels and field.type != "boolean"
    keys: tuple[tuple[Location, str, object, bool, str], ...] = (
        (location, "decimalChar", field.decimal_char, numbers and field.type == "number", "columns of type 'number'"),
        (location, "groupChar", field.group_char, numbers, "binned columns of numbers"),
        (location, "bareNumber", field.bare_number, numbers, "binned columns of numbers"),
        (location, "trueValues", field.true_values, field.type == "boolean", "columns of type 'boolean'"),
        (location, "falseValues", field.false_values, field.type == "boolean", "columns of type 'boolean'"),
        (location, "categoriesOrdered", field.categories_ordered or UNSET, field.categories is not UNSET and listed,
         "columns with categories"),
        (own, "caseSensitive", field.dpqr.case_sensitive, labels, "columns of labels"),
        (own, "aliases", field.dpqr.aliases, labels, "columns of labels"),
    )  # fmt: skip
    faults = Faults()
    for where, key, stated, fits, owners in keys:
        if stated is not UNSET and not fits:
            faults.keep(where.key(key).fault(f"only {owners} have it; leave it out"))
    faults.pass_on()


def _marks(field: Field) -> tuple[str, str | None]:
    """The decimal mark, and the mark between groups of digits."""
    decimal = "." if field.decimal_char is UNSET else field.decimal_char
    return decimal, None if field.group_char is UNSET else field.group_char


def _require_marks(field: Field, location: Location) -> None:
    decimal, group = _marks(field)
    for key, mark in (("decimalChar", decimal), ("groupChar", group or "")):
        if mark.isalnum() or (mark and mark in "+-()") or (key == "decimalChar" and mark.isspace()):
            raise location.key(key).fault(
                f"{describe_value(mark)} cannot stand in a number; give a mark, such as ',' or '.'"
            )
    if decimal == group:
        raise location.key("groupChar").fault(
            f"{describe_value(group)} is the decimal mark too; state another decimalChar, such as ','"
        )


def _pattern(field: Field, kind: str, location: Location) -> str | None:
    """The pattern of a date or time column; None for the ISO form. Of other columns a format has no effect.

    Patterns that do not say one day, or that say something twice, are refused.
    """
    if kind == "number" or field.format is UNSET or field.format == "default":
        return None
    pattern = field.format.removeprefix("fmt:")
    if pattern == "any":
        raise location.fault("'any' would guess which number is the month; write the pattern, such as '%d/%m/%Y'")
    if "%" not in pattern:
        raise location.fault(f"{describe_value(field.format)} is no pattern; write 'default' or one such as '%d/%m/%Y'")
    found = [each for each in _DIRECTIVE.findall(pattern) if each != "%"]
    for each in found:
        if each not in _KNOWN:
            known = " ".join(f"%{one}" for one in sorted(_KNOWN))
            raise location.fault(f"{describe_value('%' + each)} is not read; known: {known}")
    for same in (*_ONE_KIND, *((each,) for each in set(found))):
        if sum(found.count(each) for each in same) > 1:
            raise location.fault(f"{' and '.join(f'%{each}' for each in same)}: the pattern says this twice; keep one")
    if not {"Y", "y"} & set(found) or not any(needed <= set(found) for needed in _DAYS):
        raise location.fault(f"does not say the day, month and year of a {kind}, as '%d/%m/%Y' does")
    if ("I" in found) != ("p" in found):
        raise location.fault("%I and %p (AM or PM) go together; write both, or %H")
    return pattern
