"""Face: a table's gaps, seen along one of its attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, FloatArray, IntArray

FULL = 2**15 - 2
"""The largest sum of gains, over all faces; one below what the smallest type of 16 bits holds, and its negative."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Face:
    """Records that are missing (negative: too many), the attribute's values side by side.

    axes: the table's attributes. place: of the attribute among them. sizes: of the table with the attribute last.
    gap: shape (cells of the other attributes, values), single precision, changed by `moved`.
    scale: what a gap of one record is worth, of the same shape: 1 where no record is wanted, less where many are.
    """

    axes: Axes
    place: int
    sizes: tuple[int, ...]
    gap: AnyArray
    scale: AnyArray

    @classmethod
    def of(cls, axes: Axes, axis: int, gap: FloatArray, wanted: FloatArray) -> Face:
        """The face of a table over `axes` along `axis`. gap, wanted: shape = sizes of `axes`."""
        place = axes.index(axis)
        turned = np.moveaxis(gap, place, -1)
        scale = 1.0 / (1.0 + np.sqrt(np.moveaxis(wanted, place, -1)) / 2.0)
        return cls(axes=axes, place=place, sizes=turned.shape, gap=_flat(turned), scale=_flat(scale))

    @property
    def others(self) -> Axes:
        return tuple(axis for place, axis in enumerate(self.axes) if place != self.place)

    @property
    def apart(self) -> float:
        """Records that would have to move, at least."""
        return float(np.abs(self.gap).sum()) / 2.0

    def gains(self, faces: int) -> tuple[AnyArray, AnyArray]:
        """What one record more and one record less in each cell would gain, as integers of which `faces` can be added
        up in 16 bits.

        |gap| - |gap -+ 1| is the gap's sign but for gaps below one record; it is softened by the scale.
        """
        unit = np.float32(FULL // faces)
        slope = self.scale * unit
        rise = self.gap * (2.0 * slope)
        more, less = rise - slope, -rise - slope
        return np.clip(more, -unit, unit).astype(np.int16), np.clip(less, -unit, unit).astype(np.int16)

    def moved(self, places: IntArray, old: IntArray, new: IntArray) -> None:
        """Records of the cells `places` of the other attributes had the old values and have the new ones."""
        flat, width, one = self.gap.reshape(-1), self.gap.shape[1], np.float32(1.0)
        np.add.at(flat, places * width + old, one)
        np.subtract.at(flat, places * width + new, one)

    def restored(self) -> FloatArray:
        """The gaps in the table's own order."""
        turned: FloatArray = np.moveaxis(self.gap.reshape(self.sizes), -1, self.place).astype(np.float64)
        return turned


def _flat(table: FloatArray) -> AnyArray:
    return np.ascontiguousarray(table.reshape(-1, table.shape[-1]), dtype=np.float32)
