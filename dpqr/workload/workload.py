"""Workload Q: the blocks that a release must answer, over one domain."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.arrays import Axes
from dpqr.errors import DocumentError
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True)
class Workload:
    """The curator's questions in their order; names are unique."""

    blocks: tuple[QueryBlock, ...]

    def __post_init__(self) -> None:
        if not self.blocks:
            raise DocumentError("the workload asks nothing; give at least one query")
        seen: set[str] = set()
        for block in self.blocks:
            if block.name in seen:
                raise DocumentError(f"two queries are named {block.name!r}; give one of them another name")
            seen.add(block.name)

    @property
    def rows(self) -> int:
        """|Q|: the number of linear queries."""
        return sum(block.rows for block in self.blocks)

    @property
    def axes(self) -> Axes:
        """The attributes that some query looks at, in domain order."""
        return tuple(sorted({axis for block in self.blocks for axis in block.axes}))
