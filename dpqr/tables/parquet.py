"""Parquet tables: the schema's contract, and the wanted columns as Arrow batches.

Types and names are public by declaration. The footer's statistics and the dictionaries are private and decide
nothing; its sizes and row counts are private too, and are compared with the declared caps once the run is paid for.
Rows that cannot be read are malformed, as they are in CSV.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.errors import DataError
from dpqr.tables.cell_values import is_text, mask, numpy_values
from dpqr.tables.encoders import TableBatch
from dpqr.tables.files import TableFile, first_bytes, other_kind
from dpqr.tables.limits import Limits, discreetly


def drop_malformed_rows(batch: Any, spelt: Collection[str], longest: int) -> TableBatch:
    """The rows of an Arrow batch all of whose texts are UTF-8, and whose texts in columns `spelt` have at most
    `longest` bytes each. Arrow itself takes any bytes for a text, and some of its functions fail on others than
    UTF-8.

    **Privacy** No such text is left in a dictionary either, where texts are trimmed, folded and read whether rows use
    them or not: there one row's text would end the run, whose exit code would tell of it.
    """
    import pyarrow as pa

    good, names = np.ones(batch.num_rows, dtype=bool), batch.schema.names
    columns = [_readable(batch.column(place), longest if name in spelt else None) for place, name in enumerate(names)]
    if all(unreadable is None for _, unreadable in columns):
        return TableBatch(batch)
    for _, unreadable in columns:
        good &= True if unreadable is None else ~unreadable
    readable = pa.RecordBatch.from_arrays([cells for cells, _ in columns], list(names))
    return TableBatch(readable.filter(mask(good)), np.flatnonzero(~good))


def _readable(cells: Any, longest: int | None) -> tuple[Any, AnyArray | None]:
    """The cells of a column, such texts null in their dictionary; and which rows hold one, shape (rows,), None: there
    is no such text."""
    import pyarrow as pa
    from pyarrow import types

    coded = types.is_dictionary(cells.type)
    bad = _bad_texts(cells.dictionary if coded else cells, longest)
    if bad is None or not coded:
        return cells, bad
    places = pa.py_buffer(np.arange(len(bad)))
    kept = pa.Array.from_buffers(pa.int64(), len(bad), [mask(~bad).buffers()[1], places])
    found: AnyArray = np.append(bad, False)[numpy_values(cells.indices.cast("int64"), len(bad))]
    return pa.DictionaryArray.from_arrays(cells.indices, cells.dictionary.take(kept), safe=False), found


def _bad_texts(texts: Any, longest: int | None) -> AnyArray | None:
    """Which of these values are no UTF-8 or too long; None: none is, or they are no texts."""
    import pyarrow as pa
    from pyarrow import compute, types

    if not is_text(texts.type):
        return None
    bad = np.zeros(len(texts), dtype=bool)
    if longest is not None:
        bad |= numpy_values(compute.binary_length(texts)) > longest
    try:
        texts.validate(full=True)  # Arrow finds nothing else than UTF-8 in all of them
    except pa.ArrowInvalid:
        wide = pa.binary_view() if types.is_string_view(texts.type) else pa.large_binary()
        for place, value in enumerate(texts.cast(wide).to_pylist()):
            try:
                _ = None if value is None else value.decode()
            except UnicodeDecodeError:
                bad[place] = True
    return bad if bad.any() else None


_BUFFER = 2**20
_TYPE_WIDTH = 60

Accepts = Callable[[Any], str | None]
"""Given an Arrow type: None if the column may have it, or else the types that it may have, in words."""


def parquet_schema(file: TableFile, columns: Mapping[str, Accepts], limits: Limits) -> Any:
    """The Arrow schema, which must hold `columns`; nothing else in the footer is looked at. Raises: DataError."""

    def look() -> Any:
        with _raw(file) as raw:
            schema = _known(file, raw, limits).schema.to_arrow_schema()
        check_columns(file.path, schema.names, lambda name: schema.field(name).type, columns, form="Parquet type")
        return schema

    return discreetly(look, _explainer(file))


def parquet_batches(
    file: TableFile,
    columns: Mapping[str, Accepts],
    limits: Limits,
    progress: Callable[[int], None],
    *,
    spelt: Collection[str] = (),
) -> Iterator[TableBatch]:
    """Arrow record batches, one column a name in `columns`. Raises: DataError, constant in words.

    Texts stay in dictionary form where they can: it is faster to encode, and spelt out they could fill the memory.
    spelt: the columns whose texts will be spelt out all the same.
    progress: is given the bytes of each row group that is begun; together they are the file's size.
    """
    from pyarrow import types

    explain, left = _explainer(file), file.bytes or 0
    with ExitStack() as stack:
        table, footer = discreetly(lambda: stack.enter_context(_opened(file, columns, limits)), explain)
        descriptor = discreetly(lambda: os.open(file.path, os.O_RDONLY), explain)
        stack.callback(os.close, descriptor)
        coded = {field.name for field in table.schema_arrow if types.is_dictionary(field.type)}
        budget = ParquetBudget(file=file, descriptor=descriptor, coded=coded, limits=limits)
        rows = _row_groups(table, footer, list(columns), budget, spelt)
        while (found := discreetly(lambda: next(rows, None), explain)) is not None:
            batch, packed = found
            progress(min(left, packed))
            left -= min(left, packed)
            yield batch
    progress(left)


def _row_groups(
    table: Any, footer: Footer, names: list[str], budget: ParquetBudget, spelt: Collection[str]
) -> Iterator[tuple[TableBatch, int]]:
    """Batches, the first one of each row group with the packed bytes of what is read from that group."""
    for place, group in enumerate(footer.groups):
        packed = sum(chunk.packed for chunk in group.chunks)
        left, most = group.rows, budget.rows(group)
        for batch in table.iter_batches(batch_size=most, row_groups=[place], columns=names):
            if batch.schema.names != names:
                raise DataError("a column and a nested field of the table share one name; rename one of them")
            left -= batch.num_rows
            if left < 0:
                raise BadParquet
            for piece in budget.pieces(batch, spelt):
                yield drop_malformed_rows(piece, spelt, budget.limits.row_bytes), packed
                packed = 0


def _raw(file: TableFile) -> Any:
    import pyarrow as pa

    return pa.OSFile(os.fsencode(file.path), "rb")  # as bytes: names need not be UTF-8


def _known(file: TableFile, raw: Any, limits: Limits) -> Any:
    """Arrow's metadata of the file."""
    from pyarrow import parquet

    known = parquet.read_metadata(raw)
    if known.num_columns > limits.columns:
        raise DataError(f"{file.path} has more columns than the declared limit of {limits.columns}")
    return known


@contextmanager
def _opened(file: TableFile, columns: Mapping[str, Accepts], limits: Limits) -> Iterator[tuple[Any, Footer]]:
    from pyarrow import default_memory_pool, parquet

    with _raw(file) as raw:
        known = _known(file, raw, limits)
        leaves = [known.schema.column(place).path for place in range(known.num_columns)]
        descriptor = os.open(file.path, os.O_RDONLY)
        try:
            footer = read_footer(descriptor, leaves, set(columns))
        finally:
            os.close(descriptor)
        # Declared caps against the footer, before anything is decoded.
        rows = sum(group.rows for group in footer.groups)
        limits.require_records(max(footer.rows, rows))
        if rows != footer.rows:
            raise BadParquet
        if limits.is_crowd(file.bytes or 0, rows):
            raise DataError(
                f"{file.path} has more than 32 rows for each of its bytes; state --max-records if that is meant"
            )
        limits.require_bytes(sum(chunk.unpacked for group in footer.groups for chunk in group.chunks))
        # Columns that the decoder can keep in dictionary form: all but those with texts written as differences.
        chunks = [chunk for group in footer.groups for chunk in group.chunks]
        codable = {chunk.name for chunk in chunks} - {chunk.name for chunk in chunks if chunk.delta}
        with parquet.ParquetFile(
            raw,
            metadata=known,
            read_dictionary=sorted(codable),
            pre_buffer=False,
            buffer_size=_BUFFER,
            coerce_int96_timestamp_unit="us",
        ) as table:
            schema = table.schema_arrow
            check_columns(file.path, schema.names, lambda name: schema.field(name).type, columns, form="Parquet type")
            yield table, footer
    default_memory_pool().release_unused()


def check_columns(
    where: str,
    names: Sequence[str],
    kind: Callable[[str], Any],
    columns: Mapping[str, Accepts],
    *,
    form: str = "type",
) -> None:
    """That each of `columns` is there once, of a type that it may have. kind: the Arrow type of a column, by its name.
    where: what messages call the table.

    Raises: DataError.
    """
    times = Counter(names)
    for name, accepts in columns.items():
        if not times[name]:
            place = " in the first row of its first sheet" if where.lower().endswith(".xlsx") else ""
            raise DataError(
                f"{where} has no column {name!r}{place}; correct its name in the table, or where it is stated (domain "
                "file, --unit, --counts)"
            )
        if times[name] > 1:
            raise DataError(f"{where} has the column {name!r} twice; keep one of them")
        found = kind(name)
        allowed = accepts(found)
        if allowed is not None:
            raise DataError(
                f"{where}: column {name!r} has the {form} {str(found)[:_TYPE_WIDTH]}\n"
                f"the domain declares it such that it must hold {allowed}"
            )


def _explainer(file: TableFile) -> Callable[[Exception], str]:
    def explain(_: Exception) -> str:
        if wrong := other_kind(first_bytes(file.path), file.path, "Parquet"):
            return wrong
        return f"{file.path} cannot be read as Parquet; it is damaged, cut short, or of a form that is not supported"

    return explain


# Parquet footer: rows, and sizes of the column chunks that will be read, from the file's last bytes.
#
# Chunks go with the schema's columns by their order, as in the decoder; the name that a chunk gives itself is not
# looked at. Thrift is read more strictly than in the decoder: a field that stands twice, or has another type than
# the format gives it, is refused and not passed over, for then the two could read one text in two ways. Sources:
# Thrift's compact protocol specification; the Parquet format's FileMetaData (parquet.thrift).

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = (*range(1, 11), 12)
_FIXED = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}
_VARYING = (I16, I32, I64)
_MOST_FIELDS = 100
_DEEPEST = 16


class BadThrift(Exception):
    """The bytes are no sound Thrift. (That they end too early is an IndexError.)"""


Take = tuple[int, Callable[["Compact"], Any]]
"""The type that a field must have, and what reads its value."""


class Compact(Struct):
    """A cursor over `data`, which stands at `at`. Its methods raise IndexError where the bytes end too early."""

    data: bytes
    at: int = 0

    def struct(self, taken: Mapping[int, Take]) -> dict[int, Any]:
        """The fields that are `taken`, by number; all others are passed over."""
        found: dict[int, Any] = {}
        number = 0
        for _ in range(_MOST_FIELDS):
            mark = self._byte()
            if mark == 0:
                return found
            number = number + (mark >> 4) if mark >> 4 else self.whole()
            take = taken.get(number)
            if take is None:
                self._pass(mark & 15, _DEEPEST)
            elif take[0] != mark & 15 or number in found:
                raise BadThrift
            else:
                found[number] = take[1](self)
        raise BadThrift

    def whole(self) -> int:
        """A whole number of 16, 32 or 64 bits."""
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def list_of(self, kind: int) -> int:
        """The head of a list of that kind: how many elements follow."""
        found, count = self._list()
        if found != kind and count:
            raise BadThrift
        return count

    def _byte(self) -> int:
        found = self.data[self.at]
        self.at += 1
        return found

    def _varint(self) -> int:
        value, shift = 0, 0
        while shift <= 63:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise BadThrift

    def _list(self) -> tuple[int, int]:
        mark = self._byte()
        return mark & 15, self._varint() if mark >> 4 == 15 else mark >> 4

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError

    def _pass(self, kind: int, depth: int) -> None:
        """Over one value of this type."""
        if kind in _VARYING:
            self._varint()
        elif kind in _FIXED:
            self._skip(_FIXED[kind])
        elif kind == BINARY:
            self._skip(self._varint())
        elif kind in (LIST, SET) and depth:
            self._pass_list(depth)
        elif kind == STRUCT and depth:
            while mark := self._byte():
                if not mark >> 4:
                    self._varint()
                self._pass(mark & 15, depth - 1)
        else:  # neither a footer nor a page header holds maps
            raise BadThrift

    def _pass_list(self, depth: int) -> None:
        kind, count = self._list()
        if kind in _FIXED:  # a truth value takes a byte where it stands in a list
            self._skip(count * max(1, _FIXED[kind]))
            return
        for _ in range(count):
            self._pass(kind, depth - 1)


MOST_BYTES = 2**27
MOST_CHUNKS = 2**20
_MAGIC = b"PAR1"
_TAIL = 8
BYTE_ARRAY = 6
_DELTA = {5, 6, 7}
_TYPE, _ENCODINGS, _VALUES, _UNPACKED, _PACKED, _FIRST, _DICTIONARY = 1, 2, 5, 6, 7, 9, 11


class BadParquet(Exception):
    """The footer or the page headers are no sound Parquet; the reader of the table says so in its own words."""


class Chunk(Struct, frozen=True, kw_only=True):
    """One column's part of a row group. name: of the schema's column. values: rows, nulls included. unpacked, packed:
    bytes. first, dictionary: where its first data page and its dictionary begin. texts: whether values have any length.
    delta: whether some page holds differences.
    """

    name: str
    values: int
    unpacked: int
    packed: int
    first: int
    dictionary: int | None
    texts: bool
    delta: bool


class RowGroup(Struct, frozen=True, kw_only=True):
    """One row group: its rows, and the chunks of the columns that were asked for."""

    rows: int
    chunks: tuple[Chunk, ...]


class Footer(Struct, frozen=True, kw_only=True):
    """What the footer declares; claims, as far as pages go."""

    rows: int
    groups: tuple[RowGroup, ...]


def read_footer(file: int, columns: list[str], wanted: Set[str]) -> Footer:
    """The footer of the file with this descriptor.

    columns: names of the schema's leaves, in order, as the decoder has them. Raises: BadParquet where the bytes are no
    footer, numbers are negative, a row group has other columns, or there are more chunks than any table needs.
    """
    size = os.fstat(file).st_size
    tail = os.pread(file, _TAIL, max(0, size - _TAIL))
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(size - _TAIL, MOST_BYTES):
        raise BadParquet
    data = os.pread(file, length, size - _TAIL - length)
    try:
        found = Compact(data).struct({3: _NUMBER, 4: (LIST, partial(_groups, columns=columns, wanted=wanted))})
        return Footer(rows=_count(found.get(3)), groups=found.get(4, ()))
    except (BadThrift, IndexError):
        raise BadParquet from None


def _groups(at: Compact, columns: list[str], wanted: Set[str]) -> tuple[RowGroup, ...]:
    count = at.list_of(STRUCT)
    if count * len(columns) > MOST_CHUNKS:
        raise BadParquet
    fields: dict[int, Take] = {1: (LIST, partial(_chunks, columns=columns, wanted=wanted)), 3: _NUMBER}
    groups = []
    for _ in range(count):
        found = at.struct(fields)
        groups.append(RowGroup(rows=_count(found.get(3)), chunks=found.get(1, ())))
    return tuple(groups)


def _chunks(at: Compact, columns: list[str], wanted: Set[str]) -> tuple[Chunk, ...]:
    if at.list_of(STRUCT) != len(columns):
        raise BadParquet
    found = []
    for name in columns:
        if name in wanted:
            facts = at.struct(_FACTS).get(3)
            if facts is None:
                raise BadParquet
            first, dictionary = _count(facts.get(_FIRST)), facts.get(_DICTIONARY)
            found.append(
                Chunk(
                    name=name,
                    values=_count(facts.get(_VALUES)),
                    unpacked=_count(facts.get(_UNPACKED)),
                    packed=_count(facts.get(_PACKED)),
                    first=first,
                    dictionary=dictionary if dictionary is not None and 0 < dictionary < first else None,
                    texts=facts.get(_TYPE) == BYTE_ARRAY,
                    delta=not _DELTA.isdisjoint(facts.get(_ENCODINGS, ())),
                )
            )
        else:
            at.struct({})
    return tuple(found)


def _count(value: int | None) -> int:
    if value is None or not 0 <= value < 2**63:
        raise BadParquet
    return value


_NUMBER: Take = (I64, Compact.whole)
_META: dict[int, Take] = {
    _TYPE: (I32, Compact.whole),
    _ENCODINGS: (LIST, lambda at: {at.whole() for _ in range(at.list_of(I32))}),
    **dict.fromkeys((_VALUES, _UNPACKED, _PACKED, _FIRST, _DICTIONARY), _NUMBER),
}
_FACTS: dict[int, Take] = {3: (STRUCT, lambda at: at.struct(_META))}


# Parquet pages: what their headers declare, read before anything is decoded, and how many rows are decoded at a time.
#
# A page header decides how much is unpacked at once. The footer's sizes are claims that the decoder never compares
# with the pages. Rows alone bound nothing: a text may be as long as a page, and one page in a dictionary may stand
# in every row. Source: the Parquet format's PageHeader (parquet.thrift).

_HEADER = 2**8
LONGEST_HEADER = 2**20
_DATA, _DICTIONARY_PAGE, _DATA_2 = 0, 2, 3
_PLACES = {_DATA: (5, 2), _DICTIONARY_PAGE: (7, 2), _DATA_2: (8, 4)}
"""By page type: the fields of the header of that type and, in it, of the encoding. Field 1 is its number of values."""
_DELTA_BYTE_ARRAY = 7
_WHOLE: Take = (I32, Compact.whole)
_FIELDS: dict[int, Take] = {
    **dict.fromkeys((1, 2, 3), _WHOLE),
    5: (STRUCT, lambda at: at.struct({1: _WHOLE, 2: _WHOLE})),
    7: (STRUCT, lambda at: at.struct({1: _WHOLE, 2: _WHOLE})),
    8: (STRUCT, lambda at: at.struct({1: _WHOLE, 4: _WHOLE})),
}


class ParquetPage(Struct, frozen=True, kw_only=True):
    """unpacked: bytes it unpacks to. values: how many it holds, nulls included. data: whether they are rows and no
    dictionary. prefixed: texts are stored as differences, so each may be as long as the whole page."""

    unpacked: int
    values: int
    data: bool
    prefixed: bool


def chunk_pages(file: int, chunk: Chunk) -> Iterator[ParquetPage]:
    """The pages of one column chunk, up to its declared number of values.

    file: a descriptor of the file.

    Raises: BadParquet for headers that lie outside the chunk, or hold sizes that no page has.
    """
    at = chunk.first if chunk.dictionary is None else chunk.dictionary  # as the decoder finds it
    end, seen = at + chunk.packed, 0
    while seen < chunk.values:
        if at >= end:
            raise BadParquet
        header, length = _header(file, at, end)
        packed = _whole(header, 3)
        at += length + packed
        if at > end:
            raise BadParquet
        kind, unpacked = _whole(header, 1), _whole(header, 2)
        if kind not in _PLACES:  # a page of a kind that the decoder passes over
            continue
        place, encoding = _PLACES[kind]
        own, data = header.get(place), kind != _DICTIONARY_PAGE
        if not isinstance(own, dict):
            raise BadParquet
        values = _whole(own, 1)
        if not data and values > unpacked:  # each of its values takes a byte at least
            raise BadParquet
        seen += values if data else 0
        prefixed = data and own.get(encoding) == _DELTA_BYTE_ARRAY
        yield ParquetPage(unpacked=unpacked, values=values, data=data, prefixed=prefixed)


def _whole(fields: dict[int, Any], number: int) -> int:
    found = fields.get(number)
    if not isinstance(found, int) or not 0 <= found < 2**31:
        raise BadParquet
    return found


def _header(file: int, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at `at`, and its length. Statistics in it may be long, so more is read where needed."""
    size = _HEADER
    while True:
        cursor = Compact(os.pread(file, min(size, end - at), at))
        try:
            return cursor.struct(_FIELDS), cursor.at
        except BadThrift:
            raise BadParquet from None
        except IndexError:
            if size >= min(LONGEST_HEADER, end - at):
                raise BadParquet from None
            size *= 8


PAGE_BYTES = 2**28
"""What one page of every column that is read may unpack to, all together."""
BATCH_BYTES = 2**23
"""What the rows that are decoded at a time may come to."""
_MANY_PAGES = 2**17
_TINY = 2**8
_SMALL = 2**22
"""Texts that come to no more when they are spelt out need no count."""


class ParquetBudget(Struct, kw_only=True):
    """Meters the pages of one file. descriptor: of that file. coded: columns that stay in dictionary form.

    **Privacy** Sizes of pages depend on cells. Above a cap they end the run, which has paid for it.
    """

    file: TableFile
    descriptor: int
    coded: Set[str]
    limits: Limits
    pages: int = 0
    unpacked: int = 0

    def rows(self, group: RowGroup) -> int:
        """Rows of this group to decode at a time. Raises: DataError above a cap; BadParquet."""
        weighed = [self._weighed(chunk) for chunk in group.chunks]
        if sum(largest for largest, _ in weighed) > PAGE_BYTES:
            raise DataError(
                f"{self.file.path} has pages that unpack to more than {PAGE_BYTES} bytes; write it with smaller pages"
            )
        wide = sum(each for _, each in weighed)
        return min(self.limits.batch_rows, max(1, BATCH_BYTES // max(1, wide)))

    def _weighed(self, chunk: Chunk) -> tuple[int, int]:
        """The largest page of a column chunk, and the most bytes that one of its rows takes on average in any page.

        A value that is written as a difference, or as a place in a dictionary that is not kept, may be as long as the
        page that it comes from.
        """
        whole = largest = each = 0
        loose = chunk.texts and chunk.name not in self.coded
        for page in chunk_pages(self.descriptor, chunk):
            self.pages += 1
            # each batch has a copy of its own of the dictionary
            self._count(page.unpacked * (1 if page.data else 1 + chunk.values // self.limits.batch_rows))
            whole, largest = whole + page.unpacked, max(largest, page.unpacked)
            stretched = page.prefixed or (loose and not page.data)
            each = max(each, page.unpacked if stretched else page.unpacked // max(1, page.values))
        return largest, each

    def pieces(self, batch: Any, spelt: Collection[str]) -> Iterator[Any]:
        """The batch, cut so that the texts of columns `spelt` fit the memory when they are spelt out; those longer than
        a CSV row may be never are, for their rows are malformed.

        Raises: DataError where few texts come to a great many bytes.
        """
        from pyarrow import compute, types

        rows = batch.num_rows
        for name in spelt:
            cells = batch.column(name)
            coded = types.is_dictionary(cells.type) and len(cells.dictionary)
            if not coded or types.is_primitive(cells.type.value_type):
                continue
            lengths = numpy_values(compute.binary_length(cells.dictionary)).astype(np.int64)
            lengths[lengths > self.limits.row_bytes] = 0
            longest = int(lengths.max())
            if longest * batch.num_rows > _SMALL:
                places = numpy_values(cells.indices.cast("int64"), len(lengths))
                self._count(int(np.append(lengths, 0)[places].sum()))
                rows = min(rows, BATCH_BYTES // longest)
        for start in range(0, batch.num_rows, max(1, rows)):
            yield batch.slice(start, rows)

    def _count(self, unpacked: int) -> None:
        self.unpacked += unpacked
        packed = self.file.bytes or 0
        self.limits.require_bytes(self.unpacked)
        if self.limits.is_decompression_bomb(packed, self.unpacked):
            raise DataError(
                f"{self.file.path} unpacks to more than 100 times its size; state --max-bytes if that is meant"
            )
        if self.pages > _MANY_PAGES and packed < self.pages * _TINY:
            raise DataError(f"{self.file.path} consists of tiny pages; write it with larger ones")
