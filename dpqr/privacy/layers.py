"""Layers: releases of counters that use at most K rows of a person together, and cost what the dearest of them does."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import count

from dpqr.data.period import Period, PeriodRows, named_periods
from dpqr.privacy.budget import NO_COST, Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Releases of later and later periods, in the order in which they were made.

    column: of dates. first: the period from which on each person's rows are counted against the bound. rows: K. read:
    digest of what decides which rows are well-formed. number: of several such layers, from 0.

    Privacy:
        Let k_i be how many rows of a person release i uses. *Their sum is at most K:* the lemma of `Counter` asks of
        the nodes of a level no more than that their periods come after each other, that they were read in this order
        that they bound rows from the same period on by the same K, and that they find the same rows well-formed. It
        does not matter what they count: all rows of a person are counted against K, whatever a domain's rules make of
        them. So a layer may hold releases of several counters, and first-fit (`free_layer`) puts the levels of one
        counter into layers of their own: when a node of level j comes, each lower level has a node within it, and level
        j has none.

        *What a person pays:* release i, of price c_i, costs k_i / K of that at most (`Counter`). The sum of (k_i / K)
        c_i with all k_i together at most K is at most the largest c_i. *Where persons are replaced*, release i costs at
        most max(k_i, k_i') / K of c_i. That sum is convex in the k_i and in the k_i', so it is largest where each
        person has K rows in one release: it is at most the sum of the two largest prices.

        A release that is not settled may still have to read its rows, and later than the next one. So its layer takes
        no further one until it is settled.

    >>> Layer(column="day", first="2026-01", rows=3, read="", number=0).rows
    3
    """

    column: str
    first: str
    rows: int
    read: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNode:
    """One release of a layer. period: whose rows are counted, by `PeriodRows.name`. entry: of its reservation."""

    layer: Layer
    period: str
    entry: int
    cost: Cost


def free_layer(rows: PeriodRows, most: int, nodes: Collection[LayerNode], waiting: Collection[int]) -> Layer | None:
    """Return the first layer that a release may join; None: its rows are not bounded over a life.

    Args:
        most: K.
        nodes: of all layers.
        waiting: entries of reservations that are not settled.
    """
    if rows.first is None:
        return None
    layer = Layer(column=rows.column, first=rows.first.name, rows=most, read=rows.read, number=0)
    tried = (replace(layer, number=number) for number in count())
    return next(one for one in tried if is_free(one, rows.name, nodes, waiting))


def is_free(layer: Layer, period: str, nodes: Iterable[LayerNode], waiting: Collection[int]) -> bool:
    """Whether a release of these periods comes after all of a layer, and none of those is still open."""
    every = Period.parse(layer.first).every
    start = named_periods(period, every)[0]
    held = [node for node in nodes if node.layer == layer]
    later = (start.index(named_periods(node.period, every)[-1]) > 0 for node in held)
    return start.index(Period.parse(layer.first)) >= 0 and all(later) and not {one.entry for one in held} & set(waiting)


def of_layers(nodes: Collection[LayerNode], largest: int) -> Cost:
    """Return what one unit pays at most for all layers.

    Args:
        largest: how many of a layer's releases, the dearest ones, it pays for: 1, or 2 where persons are replaced.

    >>> layer = Layer(column="day", first="2026-01", rows=3, read="", number=0)
    >>> nodes = [LayerNode(layer=layer, period=f"2026-0{step}", entry=step, cost=Cost(step)) for step in (1, 2, 3)]
    >>> float(of_layers(nodes, 1).amount), float(of_layers(nodes, 2).amount)
    (3.0, 5.0)
    """
    total = NO_COST
    for layer in {node.layer for node in nodes}:
        costs = sorted((node.cost for node in nodes if node.layer == layer), key=lambda cost: cost.amount)
        total += sum(costs[-largest:], NO_COST)
    return total
