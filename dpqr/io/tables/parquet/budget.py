"""Parquet budget: how many rows of a row group are decoded at a time, so that no batch outgrows its bytes.

Rows alone bound nothing: a text may be as long as a page, and one page in a dictionary may stand in every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from dpqr.errors import DataError
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet.footer import Chunk, Group
from dpqr.io.tables.parquet.pages import chunk_pages
from dpqr.io.tables.source import TableFile

PAGE_BYTES = 2**28
"""What one page of every column that is read may unpack to, all together."""
BATCH_BYTES = 2**28
"""What the rows that are decoded at a time may come to."""
_MANY_PAGES = 2**17
_TINY = 2**8
_SMALL = 2**22
"""Texts that come to no more when they are spelt out need no count."""


@dataclass(slots=True, kw_only=True)
class ParquetBudget:
    """Meters the pages of one file. descriptor: of that file. coded: columns that stay in dictionary form.

    **Privacy** Sizes of pages depend on cells. Above a cap they end the run, which has paid for it.
    """

    file: TableFile
    descriptor: int
    coded: Set[str]
    limits: Limits
    pages: int = 0
    unpacked: int = 0

    def rows(self, group: Group) -> int:
        """Rows of this group to decode at a time. Errors: DataError above a cap; BadParquet."""
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

    def pieces(self, batch: Any, spelt: str) -> Iterator[Any]:
        """The batch, cut so that the texts of column `spelt` fit the memory when they are spelt out; those longer than
        a CSV row may be never are, for their rows are malformed.

        Errors: DataError where few texts come to a great many bytes.
        """
        from pyarrow import compute, types

        cells, rows = batch.column(spelt), batch.num_rows
        if types.is_dictionary(cells.type) and len(cells.dictionary) and not types.is_primitive(cells.type.value_type):
            lengths = compute.binary_length(cells.dictionary)
            lengths = compute.if_else(compute.greater(lengths, self.limits.row_bytes), 0, lengths)
            longest = compute.max(lengths).as_py() or 0
            if longest * rows > _SMALL:
                self._count(compute.sum(lengths.take(cells.indices)).as_py() or 0)
                rows = min(rows, BATCH_BYTES // longest)
        for start in range(0, batch.num_rows, max(1, rows)):
            yield batch.slice(start, rows)

    def _count(self, unpacked: int) -> None:
        self.unpacked += unpacked
        packed = self.file.bytes or 0
        self.limits.require_bytes(self.unpacked)
        if self.limits.is_bomb(packed, self.unpacked):
            raise DataError(
                f"{self.file.path} unpacks to more than 100 times its size; state --max-bytes if that is meant"
            )
        if self.pages > _MANY_PAGES and packed < self.pages * _TINY:
            raise DataError(f"{self.file.path} consists of tiny pages; write it with larger ones")
