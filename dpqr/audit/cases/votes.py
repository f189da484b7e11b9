"""Labels by votes: of one point, and of points that come one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, Pair, Shown, records
from dpqr.audit.cases.once import PLACES, SHAPE, Cells, Once
from dpqr.audit.claim import Claim
from dpqr.audit.law import Coin, Flips, Selection
from dpqr.data.histogram import Counts
from dpqr.data.unit import Neighbours
from dpqr.mechanisms.votes import ExponentialVotes, PermuteAndFlipVotes, RandomisedVotes
from dpqr.noise.source import NoiseSource
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import PartsEnsemble
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.one_by_one import OnePoint, Shared
from dpqr.privacy.accountants.filters import SumFilter, require_pure
from dpqr.privacy.gate import measure_together
from dpqr.privacy.sealed import Private

VOTERS = 2
VOTES_EPSILON, COIN_SCALE = Fraction(2), Fraction(1, 2)
BRIEF = 6_000
"""Runs that show votes, or a coin, whose noise is too narrow by a fifth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneByOne:
    """Two labels at one place, as a session draws them: each is charged and drawn by itself, the votes are counted once
    for both."""

    epsilon: Fraction

    @property
    def claim(self) -> Claim:
        return Claim.pure(tuple(event for batch in self._batches() for event in batch.events))

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        guard = SumFilter(limit=2 * self.epsilon, cost=require_pure, unit="epsilon")
        drawn = (measure_together(database, each, accountant=guard, noise=noise).value for each in self._batches())
        return (), tuple(int(label[0]) for label in drawn), ()

    def _batches(self) -> Iterator[ExponentialVotes]:
        ensemble, shared = voters(2), Shared()
        for place in range(2):
            yield ExponentialVotes(
                ensemble=OnePoint(ensemble=ensemble, shared=shared, place=place), epsilon=self.epsilon
            )


def vote_cases() -> Iterator[Case]:
    """Both neighbour relations."""
    for relation in (each.value for each in Neighbours):
        yield votes_case(relation)
        yield flips_case(relation)
        yield randomised_case(relation)
        yield session_case(relation)


def votes_case(relation: str) -> Case:
    """One label by votes that all are for the first class, of which one changes sides: that of an empty part, which
    gets a record of the other class, or that of a part whose record is replaced by one of it."""
    trial = Once(batch=ExponentialVotes(ensemble=voters(), epsilon=VOTES_EPSILON))
    one, two = (
        Selection(scores=np.array(votes), rate=float(VOTES_EPSILON) / 2) for votes in ((VOTERS, 0.0), (VOTERS - 1, 1.0))
    )
    laws, pair = ((one,), (two,)), voters_pair(relation)
    return Case(
        name=f"predict-votes-{relation}", what="a label by votes", pair=pair, trial=trial, brief=BRIEF, laws=laws
    )


def flips_case(relation: str) -> Case:
    """The same votes, the label by permute-and-flip: the second label's probability rises from exp(-epsilon) / 2 to
    1 / 2, so all of epsilon is used."""
    trial = Once(batch=PermuteAndFlipVotes(ensemble=voters(), epsilon=VOTES_EPSILON))
    one, two = (
        Flips(scores=np.array(votes), rate=float(VOTES_EPSILON) / 2) for votes in ((VOTERS, 0.0), (VOTERS - 1, 1.0))
    )
    what, laws, pair = "a label by permute-and-flip of votes", ((one,), (two,)), voters_pair(relation)
    return Case(name=f"predict-flips-{relation}", what=what, pair=pair, trial=trial, brief=BRIEF, laws=laws)


def randomised_case(relation: str) -> Case:
    """The same votes, the label by a coin: with none for the second label its probability is q / 2, with one 1 / 2."""
    trial = Once(batch=RandomisedVotes(ensemble=voters(), scale=COIN_SCALE))
    one, two = (Coin(votes=votes, parts=VOTERS, scale=float(COIN_SCALE)) for votes in (0, 1))
    what, laws, pair = "a label by randomised votes", ((one,), (two,)), voters_pair(relation)
    return Case(name=f"predict-randomised-{relation}", what=what, pair=pair, trial=trial, brief=BRIEF, laws=laws)


def session_case(relation: str) -> Case:
    """The votes of `votes_case` for two points of a session, at half of its epsilon each."""
    epsilon = VOTES_EPSILON / 2
    one, two = (
        Selection(scores=np.array(votes), rate=float(epsilon) / 2) for votes in ((VOTERS, 0.0), (VOTERS - 1, 1.0))
    )
    laws, trial = ((one, one), (two, two)), OneByOne(epsilon=epsilon)
    what, pair = "labels by votes, one point after the other", voters_pair(relation)
    return Case(name=f"predict-session-{relation}", what=what, pair=pair, trial=trial, laws=laws)


def voters(points: int = 1) -> PartsEnsemble:
    """At one place."""
    return PartsEnsemble(
        features=CellFeatures(domain=PLACES),
        base=RidgeBase(),
        axis=1,
        labels=2,
        values=None,
        points=CellFeatures(domain=PLACES).of(np.zeros((points, 1), dtype=np.int64)),
        parts=VOTERS,
    )


def voters_pair(relation: str) -> Pair:
    """Of their parts, the first holds nothing, or a record of the first class, and then one of the second."""
    others: Cells = {(0, 0, part): 1 for part in range(1, VOTERS)}
    one = others if relation == Neighbours.ADD_REMOVE.value else {(0, 0, 0): 1, **others}
    return records((*SHAPE, VOTERS), one), records((*SHAPE, VOTERS), {(0, 1, 0): 1, **others})
