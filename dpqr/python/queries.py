"""Queries files written in Python: immutable, each call adds one entry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from msgspec import Struct

from dpqr.domain.text.decoding import Location, decode
from dpqr.python.checks import Document, document
from dpqr.workload.form import KINDS

Bound = float | str
Weight = float | Mapping[str, Any]


class Grouped(TypedDict, total=False):
    """by: for every combination of cells of these columns. where: of the records that fulfil this predicate."""

    by: str | Sequence[str]
    where: str | None
    name: str | None
    weight: Weight | None


class Queries(Struct, frozen=True):
    """The entries of a queries file, in order. Each method returns a new one with one entry more.

    name: of the entry; weight: how much selection cares for it, or a survey weight such as {"column": "w", "maximum":
    40}; by: for every combination of cells of these columns;
    where: of the records that fulfil a predicate.

    >>> workload = Queries().marginals(ways=2).where("age >= 65", by="sex", name="old")
    >>> workload.document["queries"]
    [{'marginals': {'ways': 2}}, {'where': 'age >= 65', 'by': ['sex'], 'name': 'old'}]

    Raises:
        DocumentError: an entry that no queries file may hold; where the domain is known, also one that names a column
            or a value that it lacks.
    """

    entries: tuple[dict[str, Any], ...] = ()
    domain: Document | None = None

    @property
    def document(self) -> dict[str, Any]:
        """What the queries file would hold, for `json.dump` and for `dpqr.release`."""

        stated = {} if self.domain is None else {"domain": document("domain", self.domain)}
        return {"dpqr": "queries/1", **stated, "queries": [dict(entry) for entry in self.entries]}

    def marginal(
        self, *columns: str, where: str | None = None, name: str | None = None, weight: Weight | None = None
    ) -> Queries:
        """How many records there are for every combination of cells of these columns; of none: of all records."""
        return self._with({"marginal": list(columns)}, where=where, name=name, weight=weight)

    def marginals(
        self,
        *listed: Sequence[str],
        ways: int | None = None,
        columns: Sequence[str] | None = None,
        name: str | None = None,
        weight: Weight | None = None,
    ) -> Queries:
        """The listed marginals, or all of `ways` columns out of `columns` (of the domain, where none are given)."""
        entry: Any = (
            [list(each) for each in listed] if ways is None else _without_none(ways=ways, columns=_listed(columns))
        )
        return self._with({"marginals": entry}, name=name, weight=weight)

    def where(
        self, predicate: str, *, by: str | Sequence[str] = (), name: str | None = None, weight: Weight | None = None
    ) -> Queries:
        """How many records fulfil a predicate, such as "age >= 65 and sex = 'f'"."""
        return self._with({"where": predicate}, by=by, name=name, weight=weight)

    def prefix(self, column: str, **options: Unpack[Grouped]) -> Queries:
        """How many records lie at or below each bin of an ordered column."""
        return self._with({"prefix": column}, **options)

    def ranges(
        self,
        *columns: str,
        between: Sequence[Any] | None = None,
        random: int | None = None,
        seed: int | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        weight: Weight | None = None,
    ) -> Queries:
        """How many records lie in each range of a column, or each rectangle of several: `between` lists them, or that
        many `random` ones are drawn from a public seed."""
        entry = _without_none(ranges=columns[0] if len(columns) == 1 else list(columns), random=random, seed=seed)
        between_bounds = {} if between is None else {"between": _plain(between)}
        return self._with(entry | between_bounds, by=by, name=name, weight=weight)

    def conjunctions(
        self,
        random: int,
        *,
        seed: int,
        ways: tuple[int, int] | None = None,
        columns: Sequence[str] | None = None,
        name: str | None = None,
        weight: Weight | None = None,
    ) -> Queries:
        """That many conjunctions from the public seed, each of `ways` comparisons (from, to) on distinct columns."""
        drawn = _without_none(random=random, seed=seed, ways=_listed(ways), columns=_listed(columns))
        return self._with({"conjunctions": drawn}, name=name, weight=weight)

    def sum(self, column: str, **options: Unpack[Grouped]) -> Queries:
        """The sum of an ordered column of numbers, each record counting with the midpoint of its bin."""
        return self._with({"sum": column}, **options)

    def mean(self, column: str, **options: Unpack[Grouped]) -> Queries:
        """The mean of a column of numbers, with its interval, in `Release.figures`."""
        return self._with({"mean": column}, **options)

    def persons(
        self,
        by: Sequence[str] = (),
        *,
        max_cells: int | None = None,
        total: str | None = None,
        within: tuple[float, float] | None = None,
        edges: Sequence[float] | None = None,
        at: Sequence[float] | None = None,
        where: str | None = None,
        name: str | None = None,
    ) -> Queries:
        """How many persons have a row in each cell of the columns `by`, each in at most `max_cells`; or, with a column
        `total`, of its sum over their rows in a cell the mean over persons, clipped to the bounds `within`, or the
        quantiles `at` (the median), from counts between `edges`. Of rows that fulfil the predicate `where`, or all."""
        both = _without_none(sum=total, within=_listed(within), edges=_listed(edges), at=_listed(at))
        kind = "quantiles" if edges is not None or at is not None else "mean"
        entry = _without_none(by=_listed(by) or None, max_cells=max_cells, **({kind: both} if both else {}))
        return self._with({"persons": entry, **_without_none(where=where)}, name=name)

    def median(self, column: str, **options: Unpack[Grouped]) -> Queries:
        """The median of a column of numbers."""
        return self._with({"median": column}, **options)

    def quantiles(self, column: str, at: Sequence[float], **options: Unpack[Grouped]) -> Queries:
        """The values of a column of numbers below which these parts of the records lie."""
        return self._with({"quantiles": column, "at": list(at)}, **options)

    def variance(self, column: str, **options: Unpack[Grouped]) -> Queries:
        """The variance (over n) of a column of numbers."""
        return self._with({"variance": column}, **options)

    def ratio(self, of: str, to: str, **options: Unpack[Grouped]) -> Queries:
        """The sum of one column of numbers over that of another."""
        return self._with({"ratio": {"of": of, "to": to}}, **options)

    def proportion(self, predicate: str, **options: Unpack[Grouped]) -> Queries:
        """Which part of the records fulfils a predicate, such as "age >= 65"."""
        return self._with({"proportion": predicate}, **options)

    def top(self, column: str, k: int = 5, **options: Unpack[Grouped]) -> Queries:
        """The k cells of a column that hold most records."""
        return self._with({"top": column, "k": k}, **options)

    def hierarchy(
        self,
        column: str,
        *,
        levels: str | Sequence[str] | None = None,
        **options: Unpack[Grouped],
    ) -> Queries:
        """How many records there are in every node of the column's hierarchy, or of these of its levels."""
        return self._with(_without_none(hierarchy=column, levels=_listed(levels)), **options)

    def coefficients(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        name: str | None = None,
        weight: Weight | None = None,
    ) -> Queries:
        """Any linear queries: a file of coefficients in [0, 1] for the cells of some columns."""
        entry = _without_none(coefficients=os.path.abspath(path), columns=_listed(columns))
        return self._with(entry, name=name, weight=weight)

    def over(self, domain: Document) -> Queries:
        """The same queries over a domain that is known from now on; every entry is checked against it."""
        checked = Queries(domain=domain)
        for entry in self.entries:
            checked = checked._with(entry)
        return checked

    def _with(self, entry: dict[str, Any], *, by: str | Sequence[str] = (), **named: Any) -> Queries:
        listed = [by] if isinstance(by, str) else list(by)
        stated = entry | ({"by": listed} if listed else {}) | _without_none(**named)
        kind = next(iter(stated))
        decode(stated, KINDS[kind], Location(kind))
        grown = Queries((*self.entries, stated), self.domain)
        if self.domain is not None:
            _require_answerable(Queries((stated,), self.domain))
        return grown

    def __repr__(self) -> str:
        shown = ", ".join(str(entry.get("name") or next(iter(entry))) for entry in self.entries[:_SHOWN])
        more = len(self.entries) - _SHOWN
        return f"Queries({shown}{f', and {more} more' if more > 0 else ''})"


_SHOWN = 8


class Sql(Struct, frozen=True):
    """SELECT statements in place of a queries file.

    >>> Sql("SELECT sex, COUNT(*) AS n FROM data WHERE age >= 65 GROUP BY sex").over({"age": 99, "sex": 2}).entries
    ({'where': 'age >= 65', 'by': ['sex'], 'name': 'n'},)
    """

    text: str

    @property
    def document(self) -> dict[str, Any]:
        """What the functions of dpqr take in place of a queries file."""
        return {"sql": self.text}

    def over(self, domain: Document) -> Queries:
        """The same as entries of a queries file over a domain. Raises: DocumentError, with line and column."""
        from dpqr.workload.sql.reading import translated_sql

        made = Queries(translated_sql(self.document, document("domain", domain)).entries, domain)
        _require_answerable(made)
        return made


def sql(text: str) -> Sql:
    """SELECT statements, wherever a queries file is taken."""
    return Sql(text)


def queries(domain: Document | None = None) -> Queries:
    """A queries file without entries. domain: each entry is then checked as it is added."""
    return Queries(domain=domain)


def _require_answerable(queries: Queries) -> None:
    from dpqr.releases.planning import read_documents

    domain = None if queries.domain is None else document("domain", queries.domain)
    read_documents({"queries": list(queries.entries)}, domain)


def _without_none(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _listed(given: Sequence[Any] | None) -> list[Any] | None:
    return None if given is None else [given] if isinstance(given, str) else list(given)


def _plain(bounds: Any) -> Any:
    """Pairs as lists; dates and other ends as JSON has them."""
    if isinstance(bounds, list | tuple):
        return [_plain(each) for each in bounds]
    return (
        bounds.isoformat()
        if hasattr(bounds, "isoformat")
        else float(bounds)
        if isinstance(bounds, Fraction)
        else bounds
    )
