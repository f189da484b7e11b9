"""Median: nets and polytopes, halved and cut."""

from fractions import Fraction
from math import comb, log2

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours
from dpqr.models.small_databases import Net, PolytopeSample
from dpqr.strategies.problem import Level
from dpqr.strategies.updates.median import Median

RULE = Median()


def theory(cells, level, queries=20, n=1000, seed=0):
    rows = np.random.default_rng(0).integers(0, 2, (queries, cells))
    blocks = [dense(row, (cells,), name=f"q{i}") for i, row in enumerate(rows)]
    return problem((cells,), blocks, n=n, level=level, neighbours=Neighbours.REPLACE, seed=seed)


def test_sizes_and_bounds_of_the_toy():
    """alpha 0.2, 8 cells: 21 records, 1,184,040 members, 20 updates. alpha 0.3: 14 records, 116,280 members, 16."""
    for level, size, members, bound in (("1/10", 21, 1_184_040, 20), ("3/20", 14, 116_280, 16)):
        facts = theory(8, level)
        net = RULE.start(facts)
        assert (net.size, net.members.shape) == (size, (8, members))
        assert RULE.mistakes(facts, facts.level) == bound == int(log2(members))


def test_few_queries_take_the_smaller_net_of_samples():
    """200 cells, one query, level 1/4: rounding needs 201 records, Hoeffding floor(log(2) / (2/16)) + 1 = 6."""
    facts = theory(200, "1/4", queries=1)
    assert RULE.expected_mistakes(facts, facts.level) == int(log2(comb(6 + 199, 6)))


def test_the_net_of_samples_has_a_member_near_every_distribution():
    """6 cells, one query, level 2/5: Hoeffding needs 3 records where rounding needs 4."""
    facts = theory(6, "2/5", queries=1)
    net = RULE.start(facts)
    assert net.size == 3
    row = facts.workload.blocks[0].factors[0].matrix.row(0)
    points = np.random.default_rng(1).dirichlet(np.full(6, 0.3), 300)
    assert np.abs((points @ row)[:, None] - row @ net.members / 3).min(axis=1).max() < 0.4


def test_members_at_the_median_and_beyond_are_dropped():
    facts = theory(2, "1/5")
    net = RULE.start(facts)
    first = dense([1, 0], (2,))
    assert sorted(net.members[0].tolist()) == [0, 1, 2, 3]
    below = RULE.update(facts, net, [measured([first], [[100]])])
    above = RULE.update(facts, net, [measured([first], [[900]])])
    assert below.members[0].tolist() == [0]
    assert sorted(above.members[0].tolist()) == [2, 3]
    assert RULE.update(facts, below, [measured([first], [[-100]])]) is None
    assert net.members.shape == (2, 4)


def test_beyond_the_limit_the_polytope_is_sampled_and_marked():
    rule = Median(members=10, points=64, steps=40)
    facts = theory(8, "1/10", seed=5)
    sample = rule.start(facts)
    assert isinstance(sample, PolytopeSample)
    assert isinstance(RULE.start(facts), Net)
    assert rule.mistakes(facts, facts.level) is None
    assert rule.expected_mistakes(facts, facts.level) == RULE.mistakes(facts, facts.level) == 20
    assert rule.trust == ()
    assert "1,184,040 members and at most 10 are listed" in rule.caution(facts, facts.level)
    query = dense([1, 1, 1, 1, 0, 0, 0, 0], (8,))
    for value, inside in ((900, (0.8, 1.0)), (100, (0.0, 0.2))):
        cut = rule.update(facts, sample, [measured([query], [[value]])])
        shares = cut.points[:, :4].sum(axis=1)
        assert inside[0] - 1e-9 <= shares.min() <= shares.max() <= inside[1] + 1e-9
        again = rule.update(facts, sample, [measured([query], [[value]])])
        assert np.array_equal(cut.points, again.points)
    assert rule.update(facts, sample, [measured([query], [[-500]])]) is None


class Half:
    """A sample that answers half of its records to every query, and is told where to be cut."""

    shape, total, told = (8,), 1000.0, None

    def answer(self, block):
        return np.array([500.0])

    def cut(self, rows, bounds):
        self.told = rows, bounds
        return self


@in_one_test(
    ("value", "low", "high"),
    [(300, 0.2, 0.4), (450, 0.35, 0.4), (700, 0.6, 0.8), (550, 0.6, 0.65), (-20, -0.12, 0.08), (1050, 0.95, 1.15)],
)
def test_a_cut_keeps_every_truth_that_a_fair_answer_may_have(value, low, high):
    """Within the level 1/10 of the answer, and at least the level away from the half that was told, on its side."""
    row = np.array([1, 1, 0, 1, 0, 0, 1, 0])
    found = RULE.update(theory(8, "1/10"), Half(), [measured([dense(row, (8,))], [[value]])])
    rows, bounds = found.told
    assert rows.tolist() == [row.tolist(), (-row).tolist()]
    assert bounds == pytest.approx([high, -low])


def test_an_update_moves_a_polytope_s_answer_by_the_level():
    """v is within the level of f(D): what is left still answers at least the level away, where f(x) must be."""
    rule = Median(members=1, points=64, steps=40)
    facts = theory(8, "1/10")
    sample = rule.start(facts)
    query = dense([1, 1, 0, 1, 0, 0, 1, 0], (8,))
    told = sample.answer(query)[0]
    cut = rule.update(facts, sample, [measured([query], [[round(told - 90)]])])
    assert cut.answer(query)[0] <= told - 100 + 1e-6


def test_it_needs_a_level_and_a_small_universe_and_says_how_much_memory():
    for action in (lambda: RULE.start(problem((8,), n=5)), lambda: RULE.update(problem((8,), n=5), None, [])):
        with pytest.raises(InfeasiblePlan, match="--schedule theory"):
            action()
    large = theory(5000, "1/10", queries=2)
    assert RULE.mistakes(large, Level(value=Fraction(1, 10))) is None
    with pytest.raises(InfeasiblePlan, match="at most 4096"):
        RULE.start(large)
    assert RULE.footprint(theory(8, "1/10")).bytes >= 1_184_040 * 8
    assert Median(members=1).footprint(theory(8, "1/10")).bytes < 10**6
    assert RULE.footprint(problem((8,), [marginal((0,), (8,))], n=5)).refusal is not None
