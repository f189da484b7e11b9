"""All neighbouring pairs of tiny databases, in both directions."""

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.unit import Neighbours

Pair = tuple[DenseHistogram, DenseHistogram]


class Breach(AssertionError):
    """The mechanism loses more than its event says."""


def databases(cells: int, records: int) -> Iterator[tuple[int, ...]]:
    """Every histogram of at most `records` records."""
    for counts in itertools.product(range(records + 1), repeat=cells):
        if sum(counts) <= records:
            yield counts


@lru_cache
def pairs(shape: tuple[int, ...], records: int, relation: Neighbours) -> tuple[Pair, ...]:
    """(x, x') for all x of at most `records` records, where x' may have one more: the record that comes or goes, or,
    under replace, one that takes the place of a record which a rule of the domain drops. Equal databases are one
    object, so that an audit can look at each once."""
    cells = int(np.prod(shape))
    units = np.eye(cells, dtype=np.int64)
    known: dict[tuple[int, ...], DenseHistogram] = {}

    def database(counts: np.ndarray) -> DenseHistogram:
        return known.setdefault(tuple(counts.tolist()), DenseHistogram(counts.reshape(shape)))

    found = []
    for counts in databases(cells, records):
        here = np.array(counts)
        others = [here + unit for unit in units]
        if relation is Neighbours.REPLACE:
            moves = itertools.permutations(range(cells), 2)
            others += [here - units[gone] + units[come] for gone, come in moves if here[gone]]
        for other in others:
            one, two = database(here), database(other)
            found += [(one, two), (two, one)]
    return tuple(found)
