"""Parts: which part of a table each record belongs to, for learners that are trained on disjoint parts."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.arrays import IntArray
from dpqr.io.tables.persons.bounding import Bounded
from dpqr.io.tables.row_encoder import CodedRows
from dpqr.noise.bits import uniforms_below
from dpqr.noise.source import NoiseSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Draws one of `count` parts, uniformly and for each unit apart.

    **Privacy** A unit's part depends on nothing else, so between neighbours the draws of all others can be made alike
    and one part differs: under add-remove the part that the unit came to, under replace the one part that both of
    them drew. A shuffle into equal parts could move other records when one comes or goes.
    """

    count: int
    noise: NoiseSource

    def of_rows(self, coded: CodedRows) -> IntArray:
        """A part for each kept row of the next batch."""
        return uniforms_below(self.count, coded.rows, self.noise)

    def of_persons(self, bounded: Bounded) -> IntArray:
        """A part for each row of the next group of persons, the same for all rows of a person."""
        drawn: IntArray = uniforms_below(self.count, bounded.persons, self.noise)[bounded.owners]
        return drawn
