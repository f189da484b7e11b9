"""Sampling: synthetic records from a junction tree, clique by clique, a million at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpqr.data.arrays import CodeArray, FloatArray, IntArray
from dpqr.hypotheses.factored.junction_tree import Clique, JunctionTree
from dpqr.noise.public import public_generator


def sampled(tree: JunctionTree, beliefs: tuple[FloatArray, ...], count: int, seed: int) -> CodeArray:
    """`count` records in random order; codes, shape (count, attributes).

    A clique's own attributes are drawn given its separator, which its parent has filled in. Records that agree on the
    separator share one systematic sample: every combination gets its expected number rounded down or up, each
    unbiased, with less spread than independent draws would have; and a random order decides which record gets which.
    """
    generator = public_generator(seed)
    codes: CodeArray = np.zeros((count, len(tree.shape)), dtype=np.int64, order="F")
    for clique, cells in zip(tree.cliques, beliefs, strict=True):
        _fill(codes, clique, cells, generator)
    return codes


def _fill(codes: CodeArray, clique: Clique, cells: FloatArray, generator: Any) -> None:
    """Draw the clique's own attributes for all records."""
    shared = [place for place in range(cells.ndim) if place not in clique.dropped]
    own = list(clique.dropped)
    table = cells.transpose([*shared, *own]).reshape(math.prod(cells.shape[place] for place in shared), -1)
    order: IntArray = generator.permutation(len(codes))
    cases = _cases(codes, [clique.axes[place] for place in shared], [cells.shape[place] for place in shared])[order]
    # The smallest type that holds them: up to 16 bits numpy sorts by radix, ten times faster, to the same order.
    arranged = np.argsort(cases.astype(np.min_scalar_type(len(table) - 1)), kind="stable")
    drawn = _systematic(table, cases[arranged], generator)
    picks = np.empty_like(drawn)
    picks[order[arranged]] = drawn
    parts = np.unravel_index(picks, [cells.shape[place] for place in own])
    for place, part in zip(own, parts, strict=True):
        codes[:, clique.axes[place]] = part


def _cases(codes: CodeArray, axes: list[int], sizes: list[int]) -> IntArray:
    """Which row of the clique's table each record is in."""
    case = np.zeros(len(codes), dtype=np.int64)
    for axis, size in zip(axes, sizes, strict=True):
        case *= size
        case += codes[:, axis]
    return case


def _systematic(table: FloatArray, cases: IntArray, generator: Any) -> IntArray:
    """One column of `table` for every case, cases ascending: evenly spaced points on the cumulated row of each.

    The columns are taken in a random order, so that the spacing does not fall in with the order of an attribute's
    codes. Row r of the table is cumulated to the interval [r, r + 1], and one search serves all rows.
    """
    columns: IntArray = generator.permutation(table.shape[1])
    counts = np.bincount(cases, minlength=len(table))
    ranks = np.arange(len(cases)) - (np.cumsum(counts) - counts)[cases]
    points = (ranks + generator.random(len(table))[cases]) / np.maximum(counts, 1)[cases]
    edges = np.cumsum(table[:, columns], axis=1)
    ends = edges[:, -1:]
    edges /= np.where(ends > 0, ends, 1.0)
    edges[:, -1] = 1.0
    edges += np.arange(len(table))[:, None]
    found = np.searchsorted(edges.reshape(-1), cases + points, side="right") - cases * table.shape[1]
    # A point that rounding has put on its row's end belongs to the last column of positive probability.
    last = table.shape[1] - 1 - np.argmax(table[:, columns[::-1]] > 0, axis=1)
    picked: IntArray = columns[np.clip(found, 0, last[cases])]
    return picked
