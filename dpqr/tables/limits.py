"""Limits: the declared caps under which a table is read, what a failure may say, and how progress is reported.

Caps are public and never learnt from the table. Whether a table keeps to them is private, but for the number of
columns: it is asked when the run is paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from msgspec import Struct

from dpqr.domain.histogram import RECORDS
from dpqr.kernel.errors import DataError, DpqrError, UsageFault

LARGEST_ROW_BYTES = 2**30
LEAST_MEMORY = 2**28
_FREE_BYTES = 2**28
_EXPANSION = 100
"""Above what tables are packed to (5 to 50 times), and a tenth of what gzip can do at most."""
_FREE_ROWS = 2**25
_ROWS_A_BYTE = 32
"""A quarter of a bit a row: less than a row of any table needs that has something to tell."""
BYTES = 2**40


TOO_MANY_RECORDS = "the table holds more records than the declared limit; raise the limit on records"
TOO_MANY_PERSONS = (
    "the table's persons need more memory than the declared limit; raise --max-memory, or give the table "
    "as files where it comes by standard input"
)
OUT_OF_ORDER = "the engine does not hand out its rows in the order of persons; that is a fault of the engine"
CELL_ROWS_UNKNOWN = (
    "--max-rows-per-cell counts each table of columns by itself, so the run must know all of them before it begins"
)
COUNTING = (TOO_MANY_RECORDS, TOO_MANY_PERSONS, OUT_OF_ORDER)
"""All that the core's own counting ends with, wherever it counts; the first two are the bits of stated limits."""


class Limits(Struct, frozen=True, kw_only=True):
    """Caps of one run; a table above one ends it with a constant message.

    cells: largest |X| that is kept as a dense array (8 bytes a cell); beyond it, and where the files are much smaller
    than that, only occupied cells are kept.
    records: largest number of rows (of counts, where the table is a histogram); true answers are bounded by it. Where
    nobody states it, also `is_crowd`.
    columns: widest table that is opened, counting the columns that are not read.
    bytes: most bytes read, and most bytes that they may unpack to; where nobody states it, `is_decompression_bomb` too.
    row_bytes: longest CSV row.
    batch_rows: rows of Parquet that are decoded at a time.
    memory: bytes that bounding the rows of persons may need; a table that needs more is read in several passes.
    """

    cells: int = 2**24
    records: int = RECORDS
    columns: int = 2**14
    bytes: int = BYTES
    row_bytes: int = 2**20
    batch_rows: int = 2**17
    memory: int = 2**32

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) < 1:
                raise UsageFault(f"the limit on {name} must be at least 1")
        if self.records > RECORDS:
            raise UsageFault("the limit on records may be at most 2^36: with it no true answer can overflow")
        if self.memory < LEAST_MEMORY:
            raise UsageFault("the limit on memory must be at least 2^28 bytes")
        if self.row_bytes > LARGEST_ROW_BYTES:
            raise UsageFault("the limit on row_bytes may be at most 2^30")

    def require_records(self, count: int) -> None:
        """DataError above the limit, in the same words wherever it is reached: the ending reveals no second bit."""
        if count > self.records:
            raise DataError(TOO_MANY_RECORDS)

    def require_bytes(self, count: int) -> None:
        """The same of bytes, on the disk or unpacked."""
        if count > self.bytes:
            raise DataError("the table holds more bytes than the declared limit; raise the limit or split the table")

    def is_decompression_bomb(self, packed: int, unpacked: int) -> bool:
        """Whether a file of `packed` bytes, of which `unpacked` have come out so far, looks built to fill a machine.
        Who states a limit on bytes has said how many are meant."""
        return self.bytes == BYTES and unpacked > _FREE_BYTES and unpacked > _EXPANSION * packed

    def is_crowd(self, packed: int, rows: int) -> bool:
        """The same of a file of `packed` bytes that declares so many rows, and of a limit on records."""
        return self.records == RECORDS and rows > _FREE_ROWS and rows > _ROWS_A_BYTE * packed


T = TypeVar("T")


class _Done(Struct, Generic[T], frozen=True):
    value: T


def discreetly(work: Callable[[], T], explain: Callable[[Exception], str]) -> T:
    """What `work` returns; its failure becomes a DataError that says `explain(failure)` and remembers nothing.

    explain: chooses one of a few constant messages; it must not quote the failure. A DpqrError keeps its own words,
    which are public already, but loses its history.

    **Privacy**: raised outside the handler, so neither `__cause__`, `__context__` nor a frame of the failed call
    (whose locals are private) reaches whoever prints the error. So is an interrupt.
    """
    outcome = _outcome(work, explain)
    if isinstance(outcome, _Done):
        return outcome.value
    raise outcome


def constantly(work: Callable[[], T], sentence: str, kept: Collection[str] = ()) -> T:
    """What `work` returns; whatever it raises becomes a DataError of one sentence, and is forgotten.

    For programs of others, which may raise any class, those of dpqr included, with any words. kept: the sentences of
    dpqr's own that pass.

    **Privacy**: as `discreetly`, and the error's class reaches nobody either.
    """
    outcome = _outcome(work, lambda _: sentence)
    if isinstance(outcome, _Done):
        return outcome.value
    if isinstance(outcome, KeyboardInterrupt):
        raise outcome
    raise DataError(str(outcome) if str(outcome) in kept else sentence)


def _outcome(work: Callable[[], T], explain: Callable[[Exception], str]) -> _Done[T] | DpqrError | KeyboardInterrupt:
    try:
        return _Done(work())
    except DpqrError as failure:
        return type(failure)(*failure.args)
    except KeyboardInterrupt:  # whose frames hold rows, which a debugger or a notebook prints
        return KeyboardInterrupt()
    except Exception as failure:
        return DataError(explain(failure))


STEP = 10


class Percent(Struct, kw_only=True):
    """Reports 0, 10, 20, ..., 100, each once and in this order, however large the table is and however reading ends.

    total: bytes of all passes; None: not known, then 0 and 100 are reported.

    **Privacy** The sizes of a table's files are functions of its rows. The reported numbers are not: always the same.
    When each of them is reported follows from the reading's speed, which is not padded.
    """

    total: int | None
    tell: Callable[[int], None]
    _read: int = 0
    _next: int = 0

    def begin(self) -> None:
        """Nothing is read yet."""
        self._reach(0)

    def read(self, count: int) -> None:
        """So many bytes more."""
        self._read += count
        if self.total:
            self._reach(min(100 - STEP, 100 * self._read // self.total))

    def end(self) -> None:
        """Reading is over, to whatever end."""
        if self.total is None:
            self._next = max(self._next, 100)
        self._reach(100)

    def _reach(self, percent: int) -> None:
        while self._next <= percent:
            self.tell(self._next)
            self._next += STEP
