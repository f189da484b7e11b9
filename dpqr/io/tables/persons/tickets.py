"""Tickets: which rows of each person are kept, an exact uniform choice made for each person apart.

Every row holds a ticket, a uniform real number in [0, 1) of which only the first binary digits are drawn, 64 at a
time; a person's rows with the smallest tickets are kept. Tickets are independent of each other and of all else, and
are compared only with those of the same person, so every set of K of a person's rows is equally likely, whatever
other persons have, in whatever order and files the rows come. Where the digits drawn so far leave two rows of one
person equal, more are drawn, so ties have no say. Digits of rows that stay are kept: a row that comes later meets the
same tickets, and rows that are lost by now would be lost in the end too.
"""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray, WordArray
from dpqr.noise.source import NoiseSource


def fresh_tickets(count: int, levels: int, noise: NoiseSource) -> WordArray:
    """The first 64 times `levels` digits of `count` tickets, shape (levels, count)."""
    return noise.words(levels * count).reshape(levels, count)


def smallest_tickets(owners: IntArray, tickets: WordArray, most: int, noise: NoiseSource) -> tuple[AnyArray, WordArray]:
    """Which rows are among the `most` of their owner with the smallest tickets.

    owners: shape (rows,), numbers from 0; tickets: shape (levels, rows), leading digits first. Returns a mask of
    shape (rows,) and the tickets, with a further level where that was needed to tell two rows apart.
    """
    kept = np.ones(len(owners), dtype=bool)
    crowded = np.flatnonzero(np.bincount(owners)[owners] > most) if len(owners) else np.zeros(0, dtype=np.int64)
    if not crowded.size:
        return kept, tickets
    while (order := _strict_order(owners[crowded], tickets[:, crowded])) is None:
        tickets = np.concatenate([tickets, fresh_tickets(len(owners), 1, noise)])
    ordered = crowded[order]
    runs = owners[ordered]
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    rank = np.arange(len(runs)) - np.repeat(starts, np.diff(starts, append=len(runs)))
    kept[ordered[rank >= most]] = False
    return kept, tickets


def _strict_order(owners: IntArray, tickets: WordArray) -> AnyArray | None:
    """Rows by owner, then by ticket; None where two rows of one owner have equal tickets.

    One word of owner and leading digits is sorted first, which is several times faster; where it ties, everything is.
    """
    digits = np.uint64(64 - max(1, int(owners.max()).bit_length()))
    key = (owners.astype(np.uint64) << digits) | (tickets[0] >> (np.uint64(64) - digits))
    order: AnyArray = np.argsort(key)
    if (np.diff(key[order]) != 0).all():
        return order
    order = np.lexsort((*tickets[::-1], owners))
    rows = np.concatenate([owners[None, order].astype(np.uint64), tickets[:, order]])
    equal = (rows[:, 1:] == rows[:, :-1]).all(axis=0)
    return None if equal.any() else order
