"""A database over any small domain: random counts, and the answers that its cells' titles give by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from dpqr.data.domain import Domain
from dpqr.data.histogram import DenseHistogram

Record = dict[str, tuple[int, str]]


class Database:
    """Counts of every cell; each cell is seen as {column: (code, title)}."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        counts = np.random.default_rng(3).integers(0, 50, size=domain.shape)
        self.histogram = DenseHistogram(counts)

    def records(self) -> Iterator[tuple[Record, int]]:
        titles = [attribute.titles() for attribute in self.domain.attributes]
        for codes in product(*map(range, self.domain.shape)):
            cell = {
                attribute.name: (code, title[code])
                for attribute, code, title in zip(self.domain.attributes, codes, titles, strict=True)
            }
            yield cell, int(self.histogram.counts[codes])

    def total(self, weigh: Callable[[Record], int | bool]) -> int:
        return sum(count * int(weigh(cell)) for cell, count in self.records())


@pytest.fixture
def database() -> Callable[[Domain], Database]:
    return Database
