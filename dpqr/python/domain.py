"""Domain files written in Python, from types and labels that are known without the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace

Rule = Literal["cell", "clip", "drop", "fail"]
SHOWN = 8


class Domain(Struct, frozen=True):
    """The fields of a domain file. left_out: columns of which nothing public was said; no query can ask about them.

    >>> domain_from({"sex": ["f", "m"], "age": range(15, 95, 5)}).rules("age", outside="clip").document["fields"][1]
    {'name': 'age', 'type': 'integer', 'constraints': {'minimum': 15, 'maximum': 94}, 'dpqr': {'width': 5, 'outside': \
'clip'}}

    Raises:
        DocumentError: fields that no domain file may hold.
    """

    fields: tuple[dict[str, Any], ...]
    malformed: Literal["drop", "fail"] | None = None
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from dpqr.domain.domain_file import read_domain

        read_domain(self.document)

    @property
    def document(self) -> dict[str, Any]:
        """What the domain file would hold, for `json.dump` and for `dpqr.release`."""
        malformed = {} if self.malformed is None else {"malformed": self.malformed}
        return {"dpqr": "domain/1", **malformed, "fields": [dict(field) for field in self.fields]}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(field["name"] for field in self.fields)

    def rules(
        self,
        *columns: str,
        null: Rule | None = None,
        unparsable: Rule | None = None,
        nan: Rule | None = None,
        infinite: Rule | None = None,
        outside: Rule | None = None,
        otherwise: Rule | None = None,
    ) -> Domain:
        """The same domain with rules for cells that do not fit, of these columns, or of all where none is named.

        Raises:
            UsageFault: a column that the domain lacks.
            DocumentError: a rule that a column cannot have.
        """
        given = {"null": null, "unparsable": unparsable, "nan": nan, "infinite": infinite, "outside": outside}
        stated = {fault: rule for fault, rule in (given | {"otherwise": otherwise}).items() if rule is not None}
        for name in columns:
            if name not in self.columns:
                raise UsageFault(f"rules: no column {name!r}; known: {', '.join(map(repr, self.columns))}")
        chosen = columns or self.columns
        fields = (
            field | {"dpqr": field.get("dpqr", {}) | stated} if field["name"] in chosen else field
            for field in self.fields
        )
        return replace(self, fields=tuple(fields))

    def __repr__(self) -> str:
        more = len(self.columns) - SHOWN
        left = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"Domain({', '.join(self.columns[:SHOWN])}{f', and {more} more' if more > 0 else ''}{left})"


def domain_from(
    dtypes: Mapping[str, Any], *, public: bool = False, malformed: Literal["drop", "fail"] | None = None
) -> Domain:
    """A domain from what is publicly known of each column; no table is looked at.

    Args:
        dtypes: by column one of: a list of labels; a `range` of whole numbers (its step is the width of a bin); a
            pandas IntervalIndex, whose breaks are the edges of bins; a dict, the keys of a field of a domain file; a
            pandas dtype, of which a categorical gives its categories, a boolean its two labels, and any other nothing:
            that column is left out. `frame.dtypes` is such a mapping, and {**frame.dtypes, "age": range(0, 100, 5)} is
            another one.
        public: states that the categories are known without the table. `astype("category")` takes them from its rows.
        malformed: the rule for rows that cannot be read.

    Raises:
        UsageFault: categories that were not declared public, or nothing that is known.
        DocumentError: what no domain file may hold.
    """
    found = {str(name): _field(str(name), known, public) for name, known in dtypes.items()}
    fields = tuple(field for field in found.values() if field is not None)
    if not fields:
        raise UsageFault(
            "domain_from: nothing is known of any column; give labels, a range, or a categorical of public categories"
        )
    return Domain(fields, malformed, tuple(name for name, field in found.items() if field is None))


def _field(name: str, known: Any, public: bool) -> dict[str, Any] | None:
    if isinstance(known, Mapping):
        return {"name": name, **known}
    if isinstance(known, range):
        if not known or known.step < 1:
            raise UsageFault(
                f"domain_from: {name!r}: {known} holds no number that rises; give range(first, last + 1, width)"
            )
        bounds = {"minimum": known.start, "maximum": known.stop - 1}
        return {"name": name, "type": "integer", "constraints": bounds, "dpqr": {"width": known.step}}
    if hasattr(known, "closed") and hasattr(known, "left"):
        return _bins(name, known)
    if hasattr(known, "categories"):
        return _categories(name, known, public)
    if known is bool or getattr(known, "kind", None) == "b":
        return {"name": name, "type": "boolean"}
    if isinstance(known, Sequence) and not isinstance(known, str):
        return _labels(name, known)
    if hasattr(known, "kind") or isinstance(known, str | type):
        return None
    raise UsageFault(
        f"domain_from: {name!r}: {type(known).__name__} says nothing of a column; give labels, a range, intervals, a "
        "pandas dtype, or the keys of a field as a dict"
    )


def _bins(name: str, known: Any) -> dict[str, Any]:
    """Of intervals that touch each other, lowest first."""
    left, right = list(known.left), list(known.right)
    if known.closed not in ("left", "right") or left[1:] != right[:-1]:
        raise UsageFault(
            f"domain_from: {name!r}: bins are intervals that touch each other, lowest first, closed on one side; "
            "give pandas.IntervalIndex.from_breaks(edges, closed='left')"
        )
    edges = [_plain(edge) for edge in (*left[:1], *right)]
    kind = (
        "number"
        if not isinstance(edges[0], str)
        else "datetime"
        if any("T00:00:00" not in one for one in edges)
        else "date"
    )
    shown = [one.partition("T")[0] for one in edges] if kind == "date" else edges
    return {"name": name, "type": kind, "dpqr": {"edges": shown, "closed": known.closed}}


def _categories(name: str, known: Any, public: bool) -> dict[str, Any]:
    if not public:
        raise UsageFault(
            f"domain_from: {name!r}: categories may come from the rows of the table, as astype('category') takes them\n"
            "where all of them are known without it, say so: public=True"
        )
    if known.categories is None:
        raise UsageFault(f"domain_from: {name!r}: the categorical names no categories; list them")
    return _labels(name, list(known.categories))


def _labels(name: str, known: Sequence[Any]) -> dict[str, Any]:
    from dpqr.tables.frames import cell_text

    values = [each.item() if hasattr(each, "item") else each for each in known]
    if all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        return {"name": name, "type": "integer", "constraints": {"enum": values}}
    return {
        "name": name,
        "type": "string",
        "constraints": {"enum": [str(each) if hasattr(each, "closed") else cell_text(each) for each in values]},
    }


def _plain(edge: Any) -> Any:
    """An edge as JSON has it."""
    if hasattr(edge, "isoformat"):
        return edge.isoformat()
    value = edge.item() if hasattr(edge, "item") else edge
    return int(value) if isinstance(value, float) and value.is_integer() else value
