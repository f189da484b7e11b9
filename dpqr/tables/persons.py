"""Persons: whose row it is, as the unit column says it, compared exactly.

A keyed hash cuts them into groups, one a pass, so that one group at a time fits in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.histogram import Packing, PersonTable, mixed_radix
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.arrays import AnyArray, IntArray, WordArray
from dpqr.kernel.errors import DataError
from dpqr.kernel.noise.source import NoiseSource, keyed_words
from dpqr.kernel.unit import Every
from dpqr.kernel.values import replace
from dpqr.tables.cell_values import days, is_text, mask, not_null, numpy_values, period_numbers, text_array
from dpqr.tables.encoders import ColumnEncoder, RowEncoder, TableBatch
from dpqr.tables.limits import OUT_OF_ORDER, TOO_MANY_PERSONS
from dpqr.tables.tallies import merged, summed


def person_refusal(kind: Any) -> str | None:
    """None if the unit column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    return None if is_text(kind) or types.is_integer(kind) else "text or whole numbers (persons)"


def persons(cells: Any) -> tuple[Any, AnyArray]:
    """Persons of a batch's rows, an Arrow array without nulls (int64 or bytes of text), and which rows have one.

    cells: an Arrow array. A null and an empty text are nobody. Everything else is a person by its exact text
    ("7" is not "07" or " 7").
    """
    from pyarrow import compute, types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_integer(cells.type) and not types.is_uint64(cells.type):
        found = cells.cast("int64")
        named = not_null(found)
    else:
        found = as_text(cells)
        named = numpy_values(compute.binary_length(found)) > 0
    return _plain(found if named.all() else found.filter(mask(named))), named


def units(columns: Sequence[Any], per: Every | None = None) -> tuple[Any, AnyArray]:
    """Units of a batch's rows: persons (`persons`), or combinations of the values of several columns, each compared as
    a person is. A row without a value in one of them is nobody's.

    columns: Arrow arrays. per: the last of them holds dates, of which the periods count.

    **Privacy.** Different combinations have different names: each value is written after its length, so that a name can
    be read from its beginning in one way only. Were ("a", "bc") and ("ab", "c") one unit, rows of the one would take
    the places of the other's among the K that are kept, and tables that differ in one unit could differ in 2 K rows.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    if len(columns) == 1:
        return persons(columns[0])
    *texts, last = [each.dictionary_decode() if types.is_dictionary(each.type) else each for each in columns]
    if per:
        found, dated = days(last)
        numbers = pa.py_buffer(period_numbers(per, found))
        last = pa.Array.from_buffers(pa.int64(), len(last), [mask(dated).buffers()[1], numbers])
    texts = [as_text(each) for each in (*texts, last)]
    named = np.ones(len(last), dtype=bool)
    for text in texts:
        named &= numpy_values(compute.binary_length(text)) > 0
    parts = [each for text in texts for each in (compute.binary_length(text), text)]
    colon = as_text(text_array([":"], pa.large_string()))[0]
    return compute.binary_join_element_wise(*map(as_text, parts), colon).filter(mask(named)), named


def _plain(found: Any) -> Any:
    """Texts as numbers where each of them is what its number prints as: the same persons, several times faster."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_integer(found.type) or not len(found) or not found[0].as_py().lstrip(b"-").isdigit():
        return found
    try:
        numbers = found.cast(pa.large_string()).cast("int64")
    except pa.ArrowInvalid:
        return found
    same = compute.all(compute.equal(as_text(numbers), found), min_count=0).as_py()
    return numbers if same else found


def last_in_order(last: Any, cells: Any) -> Any:
    """The last person of a batch whose persons may not come before `last`, nor before those of the rows above them:
    numbers by value, texts by their bytes, nulls anywhere. Then all rows of a person lie together, and so do those of
    each of their units.

    cells: an Arrow array. Returns: an Arrow array of one person, or `last` where the batch has none; NaN is nobody.
    Raises: DataError for another order: a person of whom rows come twice would count twice.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_string_view(cells.type):
        cells = cells.cast(pa.large_string())
    found = cells.drop_null()
    if types.is_floating(found.type):
        found = found.filter(compute.invert(compute.is_nan(found)))
    if not len(found):
        return last
    joined = found if last is None else pa.concat_arrays([last, found])
    if compute.any(compute.less(joined[1:], joined[:-1]), min_count=0).as_py():
        raise DataError(OUT_OF_ORDER)
    return found[-1:]


def as_text(cells: Any) -> Any:
    """Decimal text of whole numbers, and any text as it is: bytes, for text may be none in a damaged table."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_large_binary(cells.type):
        return cells
    if types.is_integer(cells.type) or types.is_null(cells.type):
        cells = cells.cast(pa.string())
    return cells.cast(pa.large_binary())


def distinct(parts: Sequence[Any]) -> tuple[Any, AnyArray]:
    """The distinct persons of several arrays, in the order of their first rows, and each row's place among them.

    Exact: hashes only find candidates, values decide. Files may write one person as a number and as text: then all
    are compared as text.
    """
    import pyarrow as pa

    if len({part.type for part in parts}) > 1:
        parts = [as_text(part) for part in parts]
    encoded = pa.concat_arrays(list(parts)).dictionary_encode()
    return encoded.dictionary, numpy_values(encoded.indices).astype("int64", copy=False)


_LETTERS = 8
_WORDS = 8
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Splitter:
    """A chain of products over words of eight letters, each mixed in by one of eight random odd factors in turn.

    The key is drawn anew for every run, so that nobody can choose persons who crowd one group. It decides nothing but
    the pass in which a person is counted: what is kept of a person does not depend on it.
    """

    groups: int
    key: WordArray = field(repr=False)

    @classmethod
    def draw(cls, groups: int, noise: NoiseSource) -> Splitter:
        """A splitter with a fresh key, or none where there is one group only."""
        return cls(groups, noise.words(_WORDS + 2 if groups > 1 else 0) | np.uint64(1))

    def group(self, people: Any) -> AnyArray:
        """Each person's group, shape (rows,); people: as `persons` gives them, none of them empty."""
        if self.groups == 1 or not len(people):
            return np.zeros(len(people), dtype=np.uint64)
        starts, lengths, words = _letters(as_text(people))
        mixed = lengths.astype(np.uint64)
        for place in range(-(-int(lengths.max()) // _LETTERS)):
            left = lengths - _LETTERS * place
            rows = np.flatnonzero(left > 0)
            spare = (_LETTERS - left[rows].clip(max=_LETTERS)).astype(np.uint64) * np.uint64(8)
            word = words[starts[rows] + _LETTERS * place] << spare
            mixed[rows] = _stirred(mixed[rows] ^ word, self.key[place % _WORDS])
        for factor in self.key[_WORDS:]:  # what the last letters changed may still stand in few bits
            mixed = _stirred(mixed, factor)
        groups: AnyArray = ((mixed >> _HALF) * np.uint64(self.groups)) >> _HALF
        return groups


def _letters(text: Any) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Where each name starts, its length, and the eight letters from every place on as one word."""
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    padded = np.concatenate([letters, np.zeros(_LETTERS, dtype=np.uint8)])
    words: AnyArray = np.ndarray((len(letters),), dtype="<u8", buffer=padded, strides=(1,))
    return ends[:-1] - ends[0], np.diff(ends), words


def _stirred(words: AnyArray, factor: np.uint64) -> AnyArray:
    """The high half of the product carries the mixture; the low half gets it back, so that no bit is left weak."""
    product = words * factor
    stirred: AnyArray = product ^ (product >> _HALF)
    return stirred


# Bounding: at most K rows of each person, chosen by a keyed hash.
#
# A person's coded rows are put in order, and the i-th of them has the i-th word of a hash of the secret key and the
# person's name as its ticket; the rows with the K smallest tickets are kept. So the choice is a function of the key
# and of that person's rows alone, in whatever order, batches, files and engines the rows come: who counts a part of
# the table again, with the same key, keeps the same rows. Without the key every set of K rows is equally likely,
# equal rows being as many rows as they are.


def smallest_tickets(owners: IntArray, persons: Any, most: int, key: bytes, ranks: WordArray | None = None) -> AnyArray:
    """Which rows are among the `most` of their owner with the smallest tickets, shape (rows,).

    owners: shape (rows,), places among `persons` (an Arrow array), rising; the rows of each are in order. ranks: of
    rows, rising for each owner; rows of a lower rank come before others, whatever their tickets.
    """
    kept = np.ones(len(owners), dtype=bool)
    sizes = np.bincount(owners, minlength=len(persons))
    crowded = np.flatnonzero(sizes > most)
    if not crowded.size:
        return kept
    rows = np.flatnonzero((sizes > most)[owners])
    names, sizes = as_text(persons.filter(mask(sizes > most))).to_pylist(), sizes[crowded]
    tickets = keyed_words(key, names, sizes.tolist())
    places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    runs = owners[rows] if ranks is None else _runs(owners[rows], ranks[rows])
    kept[rows[_by_ticket(runs, tickets)[places >= most]]] = False
    return kept


def _runs(owners: IntArray, ranks: WordArray) -> IntArray:
    """A number for each run of rows of one owner and rank, rising."""
    changed = (owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])
    return np.concatenate([[0], np.cumsum(changed)])


def _by_ticket(owners: IntArray, tickets: WordArray) -> AnyArray:
    """Rows by owner, then by ticket, then as they stand. Owners and leading digits are one word, sorted several
    times faster; where two of these are equal, everything is sorted."""
    digits = np.uint64(64 - max(1, int(owners.max()).bit_length()))
    joined = (owners.astype(np.uint64) << digits) | (tickets >> (np.uint64(64) - digits))
    order: AnyArray = np.argsort(joined)
    return order if (np.diff(joined[order]) != 0).all() else np.lexsort((tickets, owners))


PEAK = 6
"""Memory at its peak, in units of what is held between batches: rows that wait, their copies, and the sort."""

_ROW = 512
"""Bytes allowed for a row that waits, so that merging does not start before it pays; long names count as more rows."""


class HeldRows(Struct, kw_only=True):
    """Persons in the order in which they came, with the number of rows read of each; their distinct rows in order, the
    owner's number as the first word, and how many of each."""

    persons: Any
    read: IntArray
    rows: WordArray
    counts: IntArray

    @property
    def bytes(self) -> int:
        return sum(int(each.nbytes) for each in (self.persons, self.read, self.rows, self.counts))


class BoundedPersons(Struct, frozen=True, kw_only=True):
    """What bounding leaves of one group of persons. Private.

    rows: packed codes of the kept rows, shape (words a row, rows). owners: whose each of them is, as a number below
    persons. persons: how many were seen, those without any row that the domain's rules let pass among them. lost: rows
    that the rules or the bound left out, of each person at most K counted. held: all rows, before the bound;
    None where there were none.
    """

    rows: WordArray
    owners: IntArray
    persons: int
    lost: int
    held: HeldRows | None = None


@dataclass(slots=True)
class Bounding:
    """Rows come in batches; those that wait are merged in when they are as many as the rows held.

    most: K. words: 64-bit words of one packed row. memory: bytes that a run may need at its peak. key: secret, and
    independent of all rows. ranked: whether the first word is a rank; rows of a lower rank are kept before others.

    **Privacy.** Fix the key. A person's kept rows are a function of that person's rows, of which they are at most K.
    So for two tables that differ in one person the kept rows differ by at most K rows come or gone, or K in place of K
    others: what `sensitivity` counts with. This holds for every key and whatever the hash is; and what is DP for each
    key is so for the mixture over keys (pure, approximate and concentrated DP alike: the divergences are jointly
    quasi-convex). That the hash is a pseudorandom function makes the choice fair, and the kept rows a uniform sample.
    Rules of the domain come first: they look at one row at a time, so a person's rows that pass them are a function of
    that person's rows only, and the K that are kept are K that can be counted.
    Statement P30 of the guide's topic proofs.
    """

    most: int
    words: int
    memory: int
    key: bytes = field(repr=False)
    ranked: bool = False
    _held: HeldRows | None = None
    _waiting: list[tuple[Any, IntArray, WordArray]] = field(default_factory=list)
    _pending: int = 0

    def add(self, people: Any, passed: IntArray, rows: WordArray) -> None:
        """Take a batch: every row's person (without nulls), the places of the rows that passed the domain's rules,
        and the packed codes of these. Raises: DataError where the declared memory does not hold the persons.
        """
        self._waiting.append((people, passed, rows))
        self._pending += max(len(people), PEAK * int(people.nbytes) // _ROW)
        if self._pending >= max(self.memory // _ROW, 0 if self._held is None else len(self._held.counts)):
            self._merge()

    def finish(self) -> BoundedPersons:
        """The outcome; nothing may be added after it."""
        self._merge()
        held = self._held
        if held is None:
            nothing = np.zeros((self.words, 0), dtype=np.uint64)
            return BoundedPersons(rows=nothing, owners=np.zeros(0, dtype=np.int64), persons=0, lost=0)
        rows = np.repeat(np.arange(len(held.counts)), held.counts)
        owners = held.rows[0].astype(np.int64)[rows]
        ranks = held.rows[1, rows] if self.ranked else None
        chosen = smallest_tickets(owners, held.persons, self.most, self.key, ranks)
        rows, owners = rows[chosen], owners[chosen]
        kept = np.bincount(owners, minlength=len(held.read))
        lost = np.minimum(held.read - kept, self.most).sum()
        return BoundedPersons(
            rows=held.rows[1:, rows], owners=owners, persons=len(held.read), lost=int(lost), held=held
        )

    def _merge(self) -> None:
        if not self._waiting:
            return
        held = self._joined()
        if PEAK * held.bytes > self.memory:
            raise DataError(TOO_MANY_PERSONS)
        self._held = held

    def _joined(self) -> HeldRows:
        """The rows held and those that wait. Persons held keep their numbers: the distinct ones come in the order of
        their first rows."""
        held = self._held
        people = [each[0] for each in self._waiting]
        known, places = distinct([held.persons, *people] if held else people)
        old = 0 if held is None else len(held.read)
        read = np.zeros(len(known), dtype=np.int64)
        if held is not None:
            read[:old] = held.read
        np.add.at(read, places[old:], 1)
        starts = np.cumsum([old, *map(len, people)])
        passed = np.concatenate([each[1] + start for each, start in zip(self._waiting, starts, strict=False)])
        packed = np.concatenate([each[2] for each in self._waiting], axis=1)
        rows = np.concatenate([places[None, passed].astype(np.uint64), packed])
        counts = np.ones(len(passed), dtype=np.int64)
        self._waiting, self._pending = [], 0
        if held is not None:
            rows, counts = np.concatenate([held.rows, rows], axis=1), np.concatenate([held.counts, counts])
        rows, counts = merged(rows, counts)
        return HeldRows(persons=known, read=read, rows=rows, counts=counts)


# PersonTally: each person once in every cell that one of their rows lies in, and in at most C cells of a table.

_UNPACKED = 2**20
"""Rows whose codes are unpacked at a time."""


@dataclass(slots=True, kw_only=True)
class PersonTally:
    """Counts persons, group after group.

    tables: what is counted. packing: of the rows' codes. key: secret, and independent of all rows.

    **Privacy.** Fix the key. The cells in which a person counts are the distinct cells of all rows of theirs that the
    domain's rules and the table's conditions let pass, also of those that `Bounding` leaves out; where these are more
    than C, the C with the smallest tickets under a key that tables of the same columns and C share. So they are a
    function of that person's rows, at most C, and each of them counts the person once: what `sensitivity` counts with
    for tables of persons. In a table of totals the person adds a function of their own rows in that cell, clipped to
    the stated bounds; sums are exact modulo 2^64, and what is clipped lies within the bounds whatever they are. For the
    mixture over keys see `Bounding`.
    Statement P43 of the guide's topic proofs.
    """

    tables: Sequence[PersonTable]
    packing: Packing
    key: bytes = field(repr=False)
    counts: list[IntArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.counts = [table.empty(self.packing.shape) for table in self.tables]

    def add(self, held: HeldRows) -> None:
        """Count the persons of a group. No person may be in two of them."""
        owners, rows = held.rows[0], held.rows[1:]
        for table, counts in zip(self.tables, self.counts, strict=True):
            cells = np.zeros(len(owners), dtype=np.int64)
            totals = np.zeros(len(owners), dtype=np.int64)
            kept = np.ones(len(owners) if table.where else 0, dtype=bool)
            for start in range(0, len(owners), _UNPACKED):
                stop = start + _UNPACKED
                codes = self.packing.unpack(rows[:, start:stop])
                sizes, columns = counts.shape[: len(table.axes)], [codes[:, axis] for axis in table.axes]
                cells[start:stop] = mixed_radix(sizes, columns, len(codes))
                if table.total is not None:
                    values = np.array(table.total.values, dtype=np.int64)
                    totals[start:stop] = held.counts[start:stop] * values[codes[:, table.total.axis]]
                if table.where:
                    kept[start:stop] = table.fulfilled(list(codes.T))
            # Every cell of a person once, by owner and cell, with their total there: their order is no file's.
            counted = np.stack([owners, cells.astype(np.uint64)])
            if table.where:
                counted, totals = counted[:, kept], totals[kept]
            pairs, totals = summed(counted, totals)
            whose, where = pairs.astype(np.int64)
            own_key = hashlib.sha256(f"table of persons {table.axes} {table.most}".encode() + self.key).digest()
            chosen = smallest_tickets(whose, held.persons, table.most, own_key)
            table.add(counts, where[chosen], totals[chosen])


# FirstRows: at most K rows of each person over the life of a counter, the first ones in the order of periods.


class FirstRows(Struct, frozen=True, kw_only=True):
    """Ranks rows by their periods, before and after `Bounding` keeps K of each person.

    periods: numbers the counter's periods, from 0. since: the first one whose rows this release counts.

    **Privacy.** A row's rank is 2 p in period p, and 2 p + 1 where it is not counted in this release: its period was
    before `since`, or a rule of the domain leaves it out. `Bounding` keeps the K lowest ranks of each person, and of
    these only counted rows are used: min(counted rows of p, max(0, K - rows of earlier periods)) of period p, whatever
    the key. That is the bound that `Counter` proves to hold for the whole life. Of rows before `since` nothing but
    person and date is looked at, so they can neither break a rule `fail` nor be counted.
    """

    periods: PeriodFilter
    since: int

    @classmethod
    def of(cls, rows: PeriodRows | None, columns: Sequence[str]) -> FirstRows | None:
        """None where each release bounds its rows by itself. columns: of the batches, in their order."""
        if rows is None or rows.first is None:
            return None
        since = (rows.since or rows.period).index(rows.first)
        return cls(periods=PeriodFilter.of(rows, columns), since=since)

    def ranked(self, own: Any, rows: RowEncoder, packing: Packing) -> tuple[WordArray, frozenset[str]]:
        """Code a batch that holds rows of the counter's periods alone, each of somebody.

        Returns: its rows, shape (1 + words a row, rows): the rank, then the packed codes, 0 where a row is not counted;
        and the columns whose `fail` rule was broken.
        """
        numbers = self.periods.numbers(own)
        inside = numbers >= self.since
        coded = rows.encode(own if inside.all() else own.filter(mask(inside)))
        counted: IntArray = np.flatnonzero(inside)
        if coded.places is not None:
            counted = counted[coded.places]
        found = np.zeros((1 + len(packing.groups), len(numbers)), dtype=np.uint64)
        found[0] = 2 * numbers + 1
        found[0, counted] -= np.uint64(1)
        found[1:, counted] = packing.pack(coded.codes, coded.rows)
        return found, coded.failed

    def counted(self, bounded: BoundedPersons) -> BoundedPersons:
        """The rows that are used, without their ranks."""
        used = bounded.rows[0] % 2 == 0
        return replace(bounded, rows=bounded.rows[1:, used], owners=bounded.owners[used])


# PeriodFilter: the records of a batch whose date is read; all others are as if they were not there.

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodFilter:
    """Keeps the records of one period, or of several in a row.

    place: of the date column in a batch; days: reads it, as bins of dates; bins: how many.

    Privacy:
        Whether a record is kept is a function of its own date cell alone: a date by its day, a moment by the day of its
        instant (UTC where it has an offset), ISO 8601 text likewise. Neither a domain's spelling nor its missing texts
        change that, so no document moves a record from one period to another. A record whose date is null or
        unreadable is in no period, and so is a malformed one, of which no date is known: they are counted nowhere, not
        as left out either, for otherwise one record would enter the releases of many periods.
    """

    place: int
    bins: int
    days: ColumnEncoder = field(repr=False)

    @classmethod
    def of(cls, rows: PeriodRows, columns: Sequence[str]) -> PeriodFilter:
        """columns: of the batches, in their order."""
        edges = tuple(Fraction(2 * (day - _EPOCH).days - 1, 2) for day in rows.days)
        bins = Bins(edges, integral=True, kind="date")
        days = ColumnEncoder.of(Attribute(name=rows.column, axis=bins, missing=()))
        return cls(place=tuple(columns).index(rows.column), bins=len(edges) - 1, days=days)

    def records(self, batch: TableBatch) -> TableBatch:
        """The records in the bins, in their order."""
        numbers = self.numbers(batch.rows)
        inside = (numbers >= 0) & (numbers < self.bins)
        return TableBatch(batch.rows if inside.all() else batch.rows.filter(mask(inside)))

    def numbers(self, rows: Any) -> IntArray:
        """The bin of each row of an Arrow batch, from 0; anything else where it is in none."""
        return self.days.encode(rows.column(self.place)).codes.astype(np.int64, copy=False)


def date_refusal(kind: Any) -> str | None:
    """None if the period's column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    fits = types.is_date(kind) or types.is_timestamp(kind) or is_text(kind)
    return None if fits else "dates, timestamps or ISO text (the period's column)"
