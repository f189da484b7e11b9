"""Public facts: what is known of every table over a domain before anybody looks at one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, frozen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A set of cells, told by some attributes alone.

    text: how the curator wrote it. axes: ascending positions in the domain. cells: true inside, shape = their sizes,
    read-only.
    """

    text: str
    axes: Axes
    cells: AnyArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", frozen(self.cells.view()))

    def within(self, axes: Axes) -> Region | None:
        """What the region says of `axes`, which become positions 0, 1, ...: the cells that lie in it whatever the
        other attributes are. None where there is no such cell."""
        kept = tuple(axis for axis in self.axes if axis in axes)
        gone = tuple(place for place, axis in enumerate(self.axes) if axis not in kept)
        cells = np.asarray(self.cells.all(axis=gone))
        order = sorted(range(len(kept)), key=lambda place: axes.index(kept[place]))
        moved = Region(
            text=self.text,
            axes=tuple(axes.index(kept[place]) for place in order),
            cells=cells.transpose(order),
        )
        return moved if cells.any() else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownTotal:
    """The number of records in a region."""

    region: Region
    count: int

    def within(self, axes: Axes) -> KnownTotal | None:
        """The same over `axes`; None where the region speaks of other attributes too."""
        region = self.region.within(axes) if set(self.region.axes) <= set(axes) else None
        return None if region is None else KnownTotal(region=region, count=self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFacts:
    """Declared by the curator, never inferred from the data; a guarantee does not cover what they tell.

    impossible: regions without a record. totals: regions whose number of records is known. least, most: bounds on the
    number of all records that follow from the totals; most is None where nothing bounds it.
    """

    impossible: tuple[Region, ...] = ()
    totals: tuple[KnownTotal, ...] = ()
    least: int = 0
    most: int | None = None

    def __bool__(self) -> bool:
        return bool(self.impossible or self.totals or self.least or self.most is not None)

    @property
    def records(self) -> int | None:
        """The number of records, where it is known."""
        return self.least if self.least == self.most else None

    @property
    def axes(self) -> frozenset[Axes]:
        """The groups of attributes that the facts look at together."""
        regions = (*self.impossible, *(total.region for total in self.totals))
        return frozenset(region.axes for region in regions if region.axes)

    def within(self, axes: Axes) -> PublicFacts:
        """What they say of the attributes at `axes`, which become positions 0, 1, ..."""
        impossible = (region.within(axes) for region in self.impossible)
        totals = (total.within(axes) for total in self.totals)
        return PublicFacts(
            impossible=tuple(region for region in impossible if region),
            totals=tuple(total for total in totals if total),
            least=self.least,
            most=self.most,
        )

    def silent(self, axes: Axes) -> tuple[str, ...]:
        """Facts that say nothing of these attributes alone."""
        regions = [region.text for region in self.impossible if not region.within(axes)]
        return (*regions, *(total.region.text for total in self.totals if not total.within(axes)))
