"""The draws after the loop: of which blocks, in which groups, at what price; journalled, and what is made of them."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.fakes import OpenFilter, Says
from support.plan_phases import without

from dpqr.audit.cases.releases import Crash, Tape
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import HypothesisFailed
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.block_errors import FINENESS
from dpqr.releases.draws import Draws
from dpqr.releases.error_bounds import BlockErrors, measured_errors, unmeasured_blocks
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import PermuteAndFlip
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Phase, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload

SIZES = (2, 3, 4)
COUNTS = np.random.default_rng(3).integers(0, 300, size=SIZES)
TABLE = DenseHistogram(COUNTS)
PAIRS = tuple(
    QueryBlock(name=f"{a}{b}", factors=(Factor.identity(a, SIZES[a]), Factor.identity(b, SIZES[b])))
    for a, b in ((0, 1), (0, 2), (1, 2))
)
DOLLARS = QueryBlock(
    name="dollars",
    factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[3, 5], [1, 0]]))),),
    scale=Fraction(1, 2),
)
HUGE, RICH = Price(epsilon=Fraction(10**4)), Price(rho=Fraction(10**8))
MODEL = Says({block.name: 40.3 for block in (*PAIRS, DOLLARS)}, total=float(COUNTS.sum()))


def make_plan(noun, price, unit=None, blocks=PAIRS):
    """Any plan, with one phase."""
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(SIZES)))
    problem = Problem(domain=domain, workload=Workload(tuple(blocks)), unit=unit or PrivacyUnit())
    roles = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic())
    plan = Rounds(rounds=1).plan(problem, PrivacyBudget(Fraction(1)), roles)
    return replace(plan, phases=(Phase(noun=noun, count=1, price=price),))


def measured(*blocks):
    """A transcript of these measurements; what they released is of no matter."""
    transcript = Transcript()
    for block in blocks:
        measurement = Measurement(blocks=(block,), values=(np.zeros(block.rows, dtype=np.int64),), law=None)
        transcript.add(Round(choice=None, measurement=measurement, charges=()))
    return transcript


def drawn(plan, transcript, released=MODEL, journal=None):
    guard = OpenFilter()
    more = {"journal": journal} if journal else {}
    draws = Draws(data=Private(TABLE), accountant=guard, noise=SeededNoise(3), **more)
    return measured_errors(draws, plan, released, transcript), guard.charged


def error(block, released=MODEL):
    """The exact L1 error, in records."""
    return float(block.scale) * float(np.abs(block.answer(TABLE) - released.answer(block)).sum())


def test_a_block_is_measured_by_itself_by_its_rows_or_by_a_table_that_holds_it() -> None:
    whole = QueryBlock(name="all", factors=tuple(Factor.identity(axis, size) for axis, size in enumerate(SIZES)))
    first, second, third = PAIRS
    assert unmeasured_blocks((*PAIRS, DOLLARS), measured()) == (*PAIRS, DOLLARS)
    assert unmeasured_blocks((*PAIRS, DOLLARS), measured(first)) == (second, third)
    assert unmeasured_blocks((*PAIRS, DOLLARS), measured(third)) == (first, second, DOLLARS)
    assert unmeasured_blocks((*PAIRS, DOLLARS), measured(whole)) == ()
    assert unmeasured_blocks((DOLLARS,), measured(DOLLARS.row(0))) == (DOLLARS,)
    assert unmeasured_blocks((DOLLARS,), measured(DOLLARS.row(0), DOLLARS.row(1))) == ()
    assert unmeasured_blocks(PAIRS, measured(QueryBlock(name="records"))) == PAIRS


def test_a_plan_that_buys_nothing_draws_nothing_nor_where_every_block_is_measured() -> None:
    for plan in (make_plan("opening", HUGE), without(make_plan("errors", HUGE), "errors")):
        assert drawn(plan, measured()) == (None, [])
    assert drawn(make_plan("errors", HUGE), measured(*PAIRS)) == (None, [])
    found, charged = drawn(make_plan("bounds", RICH), measured(*PAIRS))
    assert (len(found.by_name), len(charged)) == (3, 1)


@in_one_test("price", [HUGE, RICH])
@pytest.mark.parametrize(
    "unit", [PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE), PrivacyUnit(columns=("who",), rows=3)], ids=str
)
def test_at_a_high_price_the_errors_of_unmeasured_blocks_are_the_true_ones(price, unit) -> None:
    found, charged = drawn(make_plan("errors", price, unit, (*PAIRS, DOLLARS)), measured(PAIRS[0]))
    assert set(found.by_name) == {"02", "12"}  # a measured pair answers what is asked of its columns
    for block in PAIRS[1:]:
        noisy = found.by_name[block.name]
        assert noisy.blocks == 1
        assert noisy.value == pytest.approx(error(block), abs=0.3)  # rounding to 1 / FINENESS, and the floor
        assert noisy.deviation < 0.2
    (event,) = charged
    cost, stated = (pure_epsilon, price.epsilon) if price.rho is None else (concentrated_rho, price.rho)
    assert cost(event) == stated


def test_sums_are_in_their_own_unit() -> None:
    found, _ = drawn(make_plan("errors", HUGE, None, (PAIRS[2], DOLLARS)), measured(PAIRS[2]))
    assert found.by_name["dollars"].value == pytest.approx(error(DOLLARS), abs=0.2)


def test_at_a_low_price_blocks_share_the_mean_of_their_group() -> None:
    found, (event,) = drawn(make_plan("errors", Price(epsilon=Fraction(1, 100))), measured())
    assert len(found.sums.errors.groups) == 1
    assert event.sensitivity == 3 * FINENESS
    values = {noisy.value for noisy in found.by_name.values()}
    assert len(values) == 1
    assert found.by_name["01"].deviation == pytest.approx(2**0.5 / Fraction(1, 100), rel=1e-3)
    assert abs(values.pop() - np.mean([error(block) for block in PAIRS])) < 40 * found.by_name["01"].deviation


def test_in_epsilon_bounds_take_two_draws_and_in_rho_one() -> None:
    found, charged = drawn(make_plan("bounds", HUGE), measured(PAIRS[2]))
    assert [[block.name for block in group] for group in found.sums.errors.groups] == [["12"], ["01", "02"]]
    assert [[block.name for block in group] for group in found.largest.errors.groups] == [["12"], ["01"], ["02"]]
    assert (found.sums.errors.largest, found.largest.errors.largest) == (False, True)
    assert [pure_epsilon(event) for event in charged] == [HUGE.epsilon] * 2
    few, _ = drawn(make_plan("bounds", Price(epsilon=Fraction(1, 1000))), measured())
    assert len(few.largest.errors.groups) == 1
    one, charged = drawn(make_plan("bounds", RICH), measured())
    assert (one.largest, len(charged)) == (None, 1)


def test_answers_beyond_all_integers_are_clipped_and_no_answers_are_refused() -> None:
    beyond = Says({block.name: 1e300 for block in PAIRS}, total=10.0)
    found, charged = drawn(make_plan("errors", HUGE), measured(), beyond)
    assert found is not None
    assert len(charged) == 1
    with pytest.raises(HypothesisFailed):
        drawn(make_plan("errors", HUGE), measured(), Says({block.name: np.nan for block in PAIRS}))


def release(plan, tape):
    """A run of the plan on a journal, as a continued one reads it."""
    draws = Draws(data=Private(TABLE), accountant=make_filter(plan), noise=SeededNoise(8), journal=tape)
    return iterative_construction(draws, plan, SILENT)


@pytest.mark.parametrize("more", thinned([{}, {"bounds": Fraction(1, 10)}], 2), ids=["errors", "bounds"])
def test_a_run_killed_after_the_loop_is_continued_and_a_lost_draw_is_not_made_again(more) -> None:
    plain = make_plan("errors", HUGE)
    split = Split(**({"errors": None} | more))
    plan = plan_split(Rounds(rounds=1, opening=False), split, plain.problem, plain.budget, plain.roles)
    draws = sum(count for _, count in plan.events)
    whole = Tape()
    first = release(plan, whole)
    assert isinstance(first.errors, BlockErrors)
    whole.rewind()
    again = release(plan, whole)
    assert again.errors.sums.values.tolist() == first.errors.sums.values.tolist()
    lost = Tape(lost=draws - 1 - ("bounds" in more))
    with pytest.raises(Crash):
        release(plan, lost)
    lost.rewind()
    continued = release(plan, lost)
    assert continued.errors is None
    assert continued.transcript.lost == 0
