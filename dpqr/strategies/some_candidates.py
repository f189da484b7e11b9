"""SomeCandidates: what is left of a list of blocks while choices are made from one hypothesis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import final

from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.some_scores import SomeScores
from dpqr.strategies.candidates import BlockCandidates, Candidate


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SomeCandidates:
    """Some of the blocks, those at `places`: each choice leaves one fewer, and the scores of all serve every choice.

    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> blocks = tuple(QueryBlock(name=name, factors=(Factor.identity(0, 2),)) for name in "ab")
    >>> SomeCandidates(every=BlockCandidates(blocks=blocks), places=(1,))[0][0].name
    'b'
    """

    every: BlockCandidates
    places: tuple[int, ...]

    @classmethod
    def without(cls, every: BlockCandidates, names: Collection[str]) -> SomeCandidates:
        """All but the blocks of these names."""
        return cls(every=every, places=tuple(n for n, block in enumerate(every.blocks) if block.name not in names))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Candidate:
        return self.every[self.places[index]]

    def scores(self, hypothesis: Hypothesis) -> SomeScores:
        return SomeScores(scores=self.every.scores(hypothesis), places=self.places)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return self.listed.sensitivity(unit)

    @property
    def listed(self) -> BlockCandidates:
        """These alone."""
        blocks, charged = self.every.blocks, self.every.penalties
        return BlockCandidates(
            blocks=tuple(blocks[place] for place in self.places),
            unit=self.every.unit,
            penalties=tuple(charged[place] for place in self.places) if charged else (),
            records=self.every.records,
        )
