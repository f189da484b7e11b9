"""P42: what is computed from released values alone tells nothing more, and a run computes from nothing else."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from proofs.exact import hockey_stick
from support.cases import thinned
from support.staged_runs import COUNTS, NET, PREDICATES, Watching, planned

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws, RecordedDraw
from dpqr.releases.loop import iterative_construction
from dpqr.strategies.guard import make_filter
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron


def test_p42_no_map_of_outcomes_raises_the_curve():
    """Exact: all maps of four outcomes to three, and mixtures of two of them."""
    one = [Fraction(n, 20) for n in (8, 7, 4, 1)]
    other = [Fraction(n, 20) for n in (2, 4, 5, 9)]

    def mapped(law, image):
        return [sum(p for p, to in zip(law, image, strict=True) if to == place) for place in range(3)]

    images = list(product(range(3), repeat=4))
    for ratio in (Fraction(1), Fraction(2), Fraction(7, 2)):
        whole = hockey_stick(one, other, ratio)
        for image in images:
            assert hockey_stick(mapped(one, image), mapped(other, image), ratio) <= whole
        for image in images[::7]:
            pairs = [
                [(p + q) / 2 for p, q in zip(mapped(law, image), mapped(law, images[5]), strict=True)]
                for law in (one, other)
            ]
            assert hockey_stick(*pairs, ratio) <= whole


class Recording:
    """Writes every draw down."""

    def __init__(self):
        self.values = []

    def past(self, event, blocks):
        return None

    def begin(self, event, blocks):
        pass

    def record(self, value):
        self.values.append(value)


class Replaying(Recording):
    """Releases what was released before, whatever the table."""

    def past(self, event, blocks):
        return RecordedDraw(value=self.values.pop(0))


@pytest.mark.parametrize("update", thinned([MultiplicativeWeights(), Perceptron(), NET], 3), ids=lambda rule: rule.name)
def test_p42_a_run_on_another_table_that_releases_the_same_values_ends_the_same(update):
    plan, journal = planned(update=update), Recording()

    def run(counts):
        seen = Watching()
        draws = Draws(
            data=Private(DenseHistogram(counts)), accountant=make_filter(plan), noise=SeededNoise(1), journal=journal
        )
        outcome = iterative_construction(draws, plan, seen)
        return outcome.hypothesis.answer(PREDICATES).tolist(), list(outcome.transcript.bounds), seen.certificates

    first = run(COUNTS)
    assert journal.values
    values, journal = journal.values, Replaying()
    journal.values = values
    assert run(np.ascontiguousarray(COUNTS[::-1])) == first
    assert not journal.values
