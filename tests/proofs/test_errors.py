"""P5, P6: errors that are bought, and the stages of the anytime loop."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from mpmath import exp, log
from proofs.exact import real
from support.cases import in_one_test, thinned
from support.staged_runs import N, planned, stated

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import require_pure
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.block_errors import GroupErrors, LaplaceErrors, noisy_errors
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.schedules.anytime import Anytime, Stages
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix

FINENESS = 64
SEX = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
TABLE = QueryBlock(name="both", factors=(Factor.identity(0, 2), Factor.identity(1, 2)))
RUNNING = QueryBlock(name="running", factors=(Factor(axes=(1,), sizes=(2,), matrix=Prefix(2)),))
MATRICES = {
    "sex": [[1, 1, 0, 0], [0, 0, 1, 1]],
    "both": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    "running": [[1, 0, 1, 0], [1, 1, 1, 1]],
}
"""Of each block over the cells 00, 01, 10, 11."""
UNITS = {
    "rows": PrivacyUnit(),
    "replaced rows": PrivacyUnit(neighbours=Neighbours.REPLACE),
    "persons": PrivacyUnit(columns=("id",), rows=2),
    "replaced persons": PrivacyUnit(columns=("id",), rows=2, neighbours=Neighbours.REPLACE),
}


def brought(unit):
    """All that one unit may bring, as counts of the four cells: its rows, or fewer, for a rule may drop some."""
    every = [cells for size in range(unit.rows + 1) for cells in combinations_with_replacement(range(4), size)]
    return [np.bincount(cells, minlength=4) if cells else np.zeros(4, dtype=int) for cells in every]


def tables(unit):
    """Pairs of neighbours about a few tables."""
    for held in product((0, 2), repeat=4):
        for one in brought(unit):
            if unit.neighbours is Neighbours.ADD_REMOVE:
                yield np.array(held), held + one
            else:
                for other in brought(unit):
                    yield held + one, held + other


def stated_integers(groups, expected, counts, moved, *, largest):
    """floor(e / d) of each block, added up or the largest in each group."""
    found, start = [], 0
    for group in groups:
        each = []
        for block in group:
            answers = np.array(MATRICES[block.name]) @ counts
            own = expected[start : start + len(answers)]
            start += len(answers)
            each.append(int(np.abs(FINENESS * answers - own).sum()) // moved[block.name])
        found.append(max(each) if largest else sum(each))
    return np.array(found)


@pytest.mark.parametrize("name", thinned(UNITS, 4))
@pytest.mark.parametrize("largest", thinned([False, True], 2), ids=["sums", "largest"])
def test_p5_no_neighbour_moves_the_integers_further_than_the_draw_is_charged_for(name, largest):
    unit, groups = UNITS[name], ((SEX, TABLE), (RUNNING,))
    expected = np.array([131, 1, 63, 65, -7, 200, 64, 3])
    # What one unit moves a block's answers by in L1, by all that it may bring and take.
    pairs = [pair for pair in tables(unit) if (pair[0] <= 3).all()]
    moved = {
        block: max(int(np.abs(np.array(matrix) @ (one - other)).sum()) for one, other in pairs)
        for block, matrix in MATRICES.items()
    }
    errors = GroupErrors(groups=groups, expected=expected, unit=unit, largest=largest)
    known = {}

    def integers(counts):
        """Of a table, once."""
        key = counts.tobytes()
        if key not in known:
            known[key] = stated_integers(groups, expected, counts, moved, largest=largest)
        return known[key]

    worst, l1, l2 = np.zeros(2, dtype=int), 0, 0
    for one, other in tables(unit):
        apart = np.abs(integers(one) - integers(other))
        worst = np.maximum(worst, apart)
        l1, l2 = max(l1, int(apart.sum())), max(l2, int((apart**2).sum()))
    assert (worst <= errors.changes).all()
    assert sum(errors.changes) - FINENESS <= l1 <= noisy_errors(errors, Price(epsilon=Fraction(1))).event.sensitivity
    assert l2 <= noisy_errors(errors, Price(rho=Fraction(1))).event.squared_sensitivity
    for counts in ((2, 1, 0, 3), (0, 0, 0, 0)):
        evaluated = errors.evaluate(DenseHistogram(np.array(counts).reshape(2, 2)))
        assert (
            evaluated.tolist() == stated_integers(groups, expected, np.array(counts), moved, largest=largest).tolist()
        )
    assert LaplaceErrors(errors=errors, scale=Fraction(64)).event.sensitivity == sum(errors.changes)


PLANS = {"declared": {}, "bought": {"n": None, "unit": PrivacyUnit(), "most": N}}


def stages_of(plan):
    problem = plan.problem
    return Stages.of(problem, plan.price("search"), plan.roles, problem.n or problem.most)


@pytest.mark.parametrize("name", thinned(PLANS, 2))
def test_p6_the_gammas_of_all_rounds_of_all_stages_add_up_to_beta(name):
    """Exact: 2^j rounds of j doublings, two draws each, K stages: beta' (1 - 1 / (J + 1)) after J doublings."""
    stages = stages_of(planned(stated(**PLANS[name])))
    beta = stages.problem.beta * (1 if name == "declared" else Fraction(19, 20))
    together = Fraction(0)
    for doublings in range(10):
        turns = range(2**doublings, 2 ** (doublings + 1))
        together += 2 * len(stages.alphas) * sum((stages.gamma(turn) for turn in turns), Fraction(0))
        assert together == beta * (1 - Fraction(1, doublings + 2)) < beta


@in_one_test("name", PLANS)
def test_p6_every_price_buys_both_tails_and_none_is_a_hundredth_too_high(name):
    stages = stages_of(planned(stated(**PLANS[name])))
    queries = len(stages.tails.candidates)
    for number in (0, len(stages.alphas) - 1):
        for turn in (1, 5):
            room = stages.alphas[number] * stages.records / 8
            gamma = stages.gamma(turn)
            select, measure = (require_pure(_event(stages, part)) for part in stages.prices(number, turn))
            # Exponential mechanism, sensitivity 1: (2 / eps) log(|Q| / gamma). Laplace: 2 q^(k + 1) / (1 + q).
            short = 2 / real(select) * log(real(queries / gamma))
            # A record of the room is the rounding of the hypothesis' answers.
            assert (real(room) - 1) * real(Fraction(98, 100)) <= short <= real(room)
            decay = exp(-real(measure))
            beyond = 2 * decay ** (int(room) + 1) / (1 + decay)
            assert beyond <= real(gamma)
            assert 2 * decay ** (int(room * Fraction(98, 100)) + 1) / (1 + decay) >= real(gamma) / 2
            stage = stages.stage(number)
            assert stage.noise == room
            assert 8 * stage.noise == stage.alpha * stages.records
            assert stage.threshold == 6 * room


def _event(stages, part):
    return Exponential().event(stages.whole.times(part))


@pytest.mark.slow
def test_p6_what_is_certain_costs_no_more_than_the_budget_whatever_the_rounds():
    """The worst numbers of updates that the potential allows, searched for, and the smallest alpha by the formula."""
    plan = planned(epsilon=10)
    stages, certain = stages_of(plan), plan.stop.certain
    assert isinstance(plan.schedule, Anytime)
    cells, spent, most = plan.problem.domain.size, [], Fraction(0)
    potential = log(real(cells))

    def cost(number, rounds):
        return sum((sum(stages.prices(number, turn)) for turn in range(1, rounds + 1)), Fraction(0))

    drops = []
    for number, alpha in enumerate(stages.alphas):
        drop = 2 * (real(alpha) * 5 / 8) ** 2
        updates = int(potential / drop)
        if updates > 120:
            break
        drops.append(drop)
        whole = cost(number, updates + 1)
        spent.append(whole / (updates + 1))
        most = max(most, whole)
        claimed = most + sum(spent)
        # All updates in one stage, or halves and thirds of the potential in several: never above the claim.
        shares = [shared for shared in product(range(5), repeat=number + 1) if sum(shared) <= 4] if number < 4 else []
        for shared in shares:
            updates_in = [int(potential * share / 4 / each) for share, each in zip(shared, drops, strict=True)]
            assert sum(cost(stage, count + 1) for stage, count in enumerate(updates_in)) <= claimed
        assert (claimed <= 1) == (certain is not None and alpha >= certain)
    assert certain in stages.alphas
