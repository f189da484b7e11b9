"""Label counts: the distinct labels of a column that nobody has listed, and how many units have each. All private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Labels
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import PLACEHOLDER
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.noise.source import KeyedNoise, NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Every, PrivacyUnit
from dpqr.tables.cell_values import changed_texts, is_text, mask, not_null, numpy_values, text_array
from dpqr.tables.counting import secret_key
from dpqr.tables.limits import Limits, Percent, discreetly
from dpqr.tables.load import UNREADABLE, Batches, bytes_on_disk, group_count
from dpqr.tables.persons import PEAK, Splitter, as_text, distinct, smallest_tickets, units
from dpqr.tables.source import TableSource
from dpqr.tables.wanted import columns_to_read

LONGEST_LABEL = 128
"""Bytes of a learned label; a longer text is no label, and belongs to all others."""
TOO_MANY_LABELS = (
    "the column's labels need more memory than the declared limit; raise --max-memory, or state the labels in the "
    "domain file"
)
_LEAST_MERGED = 1 << 18
"""Labels that wait, at least, before they are merged with those that are held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """The labels of one column and how many units have each. Private.

    labels: distinct texts, an Arrow array of bytes. counts: shape (labels,), int64.
    """

    labels: Any = field(repr=False)
    counts: IntArray = field(repr=False)

    def texts(self, places: IntArray) -> tuple[str, ...]:
        """The labels at these places, in the order of their texts."""
        import pyarrow as pa

        return tuple(sorted(text.decode() for text in self.labels.take(pa.array(places)).to_pylist()))


def count_labels(
    source: TableSource,
    domain: Domain,
    limits: Limits,
    *,
    unit: PrivacyUnit,
    most: Sequence[int],
    noise: NoiseSource,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[Private[LabelCounts], ...]:
    """Count the units that have each label of the domain's columns, and seal the results, one for each column.

    Args:
        domain: columns whose labels do not matter; how their texts are written, and which mean null, does.
        unit: a row, or a person with all their rows; how many rows of each does not matter here.
        most: m of each column, the labels in which a unit counts, at most.
        noise: what the key is drawn from that chooses the labels of a person.

    Raises:
        UsageFault: an engine's table, or a table of counts. DataError: in constant words, on a structural fault or
            beyond a limit.

    Privacy:
        Rows are units: each adds 1 to one count or to none, by its own cell alone. Persons: fix the key. Of a person's
        distinct labels in the order of their texts the i-th has the i-th word of a keyed hash of the person's name as
        its ticket, and those of the m smallest tickets are kept. So the kept labels are a function of the key and that
        person's rows, at most m, each counted once; one person more or less moves at most m counts by 1, whatever the
        key (`Bounding`). The order is that of the texts and not of their first rows, which others' rows decide.
        A text longer than LONGEST_LABEL bytes counts for no label: a rule on the cell alone.

        Memory grows with the distinct labels; beyond `limits.memory` the run ends in constant words, a bit of the exit
        code that is named where the limit is stated (`uncovered_bits`). Whatever it ends with was paid for.
    """
    require_listable(source)
    key = secret_key(noise)
    return discreetly(lambda: _counted(source, domain, limits, unit, most, key, progress), lambda _: UNREADABLE)


def require_listable(source: TableSource) -> None:
    """UsageFault where rows cannot be walked over here, or stand for several records."""
    if source.engine is not None:
        raise UsageFault(
            f"--learn: labels of {source.engine.name} cannot be learned, for it hands out counts of stated labels; "
            "export the column to a file, or state its labels"
        )
    if source.count_column is not None:
        raise UsageFault("--learn: labels of a table of counts cannot be learned; give one row each, or state them")


def _counted(
    source: TableSource,
    domain: Domain,
    limits: Limits,
    unit: PrivacyUnit,
    most: Sequence[int],
    key: bytes,
    progress: Callable[[int], None],
) -> tuple[Private[LabelCounts], ...]:
    files = source.files()
    groups = group_count(files, domain, limits, names=len(unit.columns)) if unit.columns else 1
    read_columns = tuple(columns_to_read(domain, unit, None))
    places = [read_columns.index(name) for name in unit.columns]
    size = bytes_on_disk(files)
    watch = Percent(total=None if size is None else groups * size, tell=progress)
    table = Batches(source=source, domain=domain, unit=unit, limits=limits, progress=watch.read)
    splitter = Splitter.draw(groups, KeyedNoise(key=key))
    sums = [LabelSums(memory=limits.memory) for _ in domain.attributes]
    limits.require_bytes(size or 0)
    watch.begin()
    try:
        for group in range(groups):
            own = [PersonLabels(memory=limits.memory, most=each, key=key) for each in most]
            read = 0
            for batch, _ in table.walk():
                read += batch.count
                limits.require_records(read)
                people, mine = None, None
                if places:
                    named = [batch.rows.column(place) for place in places]
                    people, mine = _of_group(named, unit.per, splitter, group)
                for place, attribute in enumerate(domain.attributes):
                    texts = label_texts(batch.rows.column(place), attribute)
                    if people is not None:
                        texts = texts.filter(mine)
                    known = not_null(texts)
                    if people is None:
                        sums[place].add(texts.drop_null(), None)
                    else:
                        own[place].add(people.filter(mask(known)), texts.drop_null())
            for place, each in enumerate(own):
                sums[place].add(*each.finish())
    finally:
        watch.end()
    return tuple(Private(each.finish()) for each in sums)


def _of_group(columns: Sequence[Any], per: Every | None, splitter: Splitter, group: int) -> tuple[Any, Any]:
    """The units of this group in a batch, row by row, and which rows are theirs. columns, per: as `units` has them."""
    people, named = units(columns, per)
    mine = splitter.group(people) == group
    chosen = named.copy()
    chosen[named] = mine
    return people.filter(mask(mine)), mask(chosen)


def label_texts(cells: Any, attribute: Attribute) -> Any:
    """What a cell would be compared with as a label (`LabelEncoder`), as Arrow bytes; null where it has none.

    Texts as they are, without blanks at both ends or without their case where the column says so; whole numbers by
    their decimal text, booleans as "true" and "false", dates in ISO form. Null: no value, a text that means null,
    a text of more than LONGEST_LABEL bytes, or that no domain file may hold: with a null character, or as PLACEHOLDER.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    assert isinstance(attribute.axis, Labels)
    trim, folded, missing = attribute.spelling.trim, attribute.axis.folded, attribute.missing
    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    spelt = is_text(cells.type) and (trim or folded)
    if not (types.is_string(cells.type) or types.is_large_string(cells.type)):
        cells = cells.cast(pa.string())
    if spelt and trim:
        changed, places = changed_texts(cells, str.strip)
        cells, missing = changed.take(places), tuple(each.strip() for each in missing)
    null = numpy_values(compute.is_in(cells, value_set=text_array(missing, cells.type)))
    if spelt and folded:
        changed, places = changed_texts(cells, attribute.axis.form)
        cells = changed.take(places)
    found = as_text(cells)
    good = not_null(found) & ~null & (numpy_values(compute.binary_length(found)) <= LONGEST_LABEL)
    good &= ~numpy_values(compute.match_substring(found, "\0"))
    good &= ~numpy_values(compute.starts_with(found, PLACEHOLDER))
    return compute.if_else(mask(good), found, pa.scalar(None, found.type))


class LabelSums(Struct, kw_only=True):
    """Labels with their counts; what comes is merged in when it is as much as what is held. memory: bytes, at most."""

    memory: int
    _held: LabelCounts | None = None
    _waiting: list[tuple[Any, IntArray]] = msgspec.field(default_factory=list)
    _pending: int = 0

    def add(self, labels: Any, counts: IntArray | None) -> None:
        """Take labels, Arrow bytes without nulls, equal ones among them; counts: of each, None: one each."""
        if not len(labels):
            return
        known, places = distinct([labels])
        sums = np.zeros(len(known), dtype=np.int64)
        np.add.at(sums, places, 1 if counts is None else counts)
        self._waiting.append((known, sums))
        self._pending += len(known)
        if self._pending >= max(_LEAST_MERGED, 0 if self._held is None else len(self._held.counts)):
            self._merge()

    def finish(self) -> LabelCounts:
        """All of them; nothing may be added after it."""
        import pyarrow as pa

        self._merge()
        nothing = LabelCounts(labels=pa.array([], pa.large_binary()), counts=np.zeros(0, dtype=np.int64))
        return self._held or nothing

    def _merge(self) -> None:
        if not self._waiting:
            return
        parts = [*([(self._held.labels, self._held.counts)] if self._held else []), *self._waiting]
        known, places = distinct([labels for labels, _ in parts])
        counts = np.zeros(len(known), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([each for _, each in parts]))
        self._held, self._waiting, self._pending = LabelCounts(labels=known, counts=counts), [], 0
        require_room(self.memory, known.nbytes + counts.nbytes)


@dataclass(slots=True, kw_only=True)
class PersonLabels:
    """The distinct labels of each person of one group, and of these at most `most`. key: chooses them."""

    memory: int
    most: int
    key: bytes = field(repr=False)
    _people: Any = None
    _labels: Any = None
    _pairs: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _waiting: list[tuple[Any, Any]] = field(default_factory=list)
    _pending: int = 0

    def add(self, people: Any, labels: Any) -> None:
        """Take rows: whose each is, and its label; Arrow arrays without nulls."""
        if not len(labels):
            return
        self._waiting.append((people, labels))
        self._pending += len(labels)
        if self._pending >= max(_LEAST_MERGED, len(self._pairs)):
            self._merge()

    def finish(self) -> tuple[Any, IntArray]:
        """Labels, and how many of these persons count in each."""
        import pyarrow as pa
        from pyarrow import compute

        self._merge()
        if self._labels is None:
            return pa.array([], pa.large_binary()), np.zeros(0, dtype=np.int64)
        order = numpy_values(compute.sort_indices(self._labels)).astype(np.int64)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        owners, labels = self._pairs >> _HALF, self._pairs & _LOW
        rows = np.lexsort((ranks[labels], owners))
        kept = rows[smallest_tickets(owners[rows], self._people, self.most, self.key)]
        return self._labels, np.bincount(labels[kept], minlength=len(self._labels)).astype(np.int64)

    def _merge(self) -> None:
        """Persons and labels that are held keep their numbers: distinct ones come in the order of their first rows."""
        if not self._waiting:
            return
        held = 0 if self._people is None else len(self._people)
        people, owners = distinct([*([self._people] if held else []), *(each for each, _ in self._waiting)])
        old = 0 if self._labels is None else len(self._labels)
        labels, places = distinct([*([self._labels] if old else []), *(each for _, each in self._waiting)])
        pairs = (owners[held:] << _HALF) | places[old:]
        self._people, self._labels, self._waiting, self._pending = people, labels, [], 0
        self._pairs = np.unique(np.concatenate([self._pairs, pairs]))
        require_room(self.memory, PEAK * (people.nbytes + labels.nbytes + self._pairs.nbytes))


_HALF = np.int64(32)
_LOW = np.int64((1 << 32) - 1)


def require_room(memory: int, needed: int) -> None:
    """DataError in constant words above the limit."""
    if needed > memory:
        raise DataError(TOO_MANY_LABELS)
