"""Brute force over persons: all that one person's rows can be, on tiny databases."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.unit import Neighbours, PrivacyUnit

BASES = 1
"""Most rows of all other persons."""


def holdings(cells: int, most: int) -> Iterator[np.ndarray]:
    """Histograms of at most `most` rows."""
    for rows in range(most + 1):
        for chosen in itertools.combinations_with_replacement(range(cells), rows):
            yield np.bincount(np.array(chosen, dtype=np.int64), minlength=cells)


def crowd(shape: tuple[int, ...], unit: PrivacyUnit) -> Iterator[list[DenseHistogram]]:
    """For every set of other rows: the database without the person, then with each of the person's possible rows.

    Under replace any two of a list are neighbours (a person all of whose rows are dropped has none); under add-remove
    the first and any other.
    """
    cells = int(np.prod(shape))
    for others in holdings(cells, BASES):
        yield [DenseHistogram((others + own).reshape(shape)) for own in holdings(cells, unit.rows)]


def largest_move(scores: Callable[[DenseHistogram], np.ndarray], shape: tuple[int, ...], unit: PrivacyUnit) -> int:
    """Largest change of any score between neighbours."""
    moves = [0]
    for databases in crowd(shape, unit):
        table = np.stack([scores(database) for database in databases])
        replaced = unit.neighbours is Neighbours.REPLACE
        moves.append(int(np.ptp(table, axis=0).max() if replaced else np.abs(table - table[0]).max()))
    return max(moves)


def person(relation: Neighbours, rows: int) -> PrivacyUnit:
    """Persons of at most so many rows."""
    return PrivacyUnit(neighbours=relation, columns=("pid",), rows=rows)
