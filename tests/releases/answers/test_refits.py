"""Refits: the noise of a measurement comes out again, and a misfit that refits cannot show is added."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import make_plan
from support.repeatable_noise import repeatable_noise

import dpqr
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import DenseDistribution, LinearEstimate
from dpqr.releases.answers.refits import (
    TUNING,
    MeasuredBlocks,
    Ratio,
    can_refit,
    refit_count,
    refit_errors,
    shrunk_ratios,
)
from dpqr.releases.loop import Outcome
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.least_squares import LeastSquares
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.workload import Measurement

CELLS = 400
DOMAIN = Domain((Attribute(name="a", axis=Codes(CELLS)), Attribute(name="b", axis=Codes(2))))
A = QueryBlock(name="a", factors=(Factor.identity(0, CELLS),))
UP_TO = QueryBlock(name="up to", factors=(Factor(axes=(0,), sizes=(CELLS,), matrix=Prefix(CELLS)),))
PAIR = QueryBlock(name="pair", factors=(Factor.identity(0, CELLS), Factor.identity(1, 2)))


def measured(block, values, law):
    return Measurement(blocks=(block,), values=(np.asarray(values, dtype=np.int64),), law=law)


def ended(one, blocks=(A,), rule=None):
    """A run that ended with one measurement."""
    rule = rule or LeastSquares()
    plan = make_plan(DOMAIN, blocks)
    plan = replace(plan, roles=replace(plan.roles, update=rule))
    transcript = Transcript()
    transcript.add(Round(choice=None, measurement=one, charges=()))
    hypothesis = rule.update(plan.problem, rule.start(plan.problem), [one])
    return plan, Outcome(hypothesis=hypothesis, transcript=transcript)


@in_one_test("law", [DiscreteGaussian(Fraction(400)), DiscreteLaplace(Fraction(14))])
def test_an_estimate_that_is_the_measured_value_has_the_error_of_its_noise(law):
    """The seeds are public and fixed, so this comes out the same every time."""
    plan, outcome = ended(measured(A, np.full(CELLS, 1500), law))
    found = refit_errors(plan, outcome, outcome.hypothesis)["a"]
    alike = np.sort(found.each)[: CELLS // 2]
    assert alike.min() == pytest.approx(law.deviation, rel=0.05)
    assert found.total == pytest.approx(CELLS * law.mean_size, rel=0.05)


def test_sums_have_the_error_of_sums():
    law = DiscreteGaussian(Fraction(400))
    plan, outcome = ended(measured(A, np.full(CELLS, 1000), law), (A, UP_TO))
    each = refit_errors(plan, outcome, outcome.hypothesis)["up to"].each
    assert each[-1] > 5 * law.deviation
    assert each[0] < 3 * law.deviation


def test_a_misfit_that_refits_cannot_show_is_added():
    """The released hypothesis is another than the measurement's: by 100 records in each cell."""
    law = DiscreteGaussian(Fraction(400))
    plan, outcome = ended(measured(A, np.full(CELLS, 1000), law))
    _, other = ended(measured(A, np.full(CELLS, 1100), law))
    errors = refit_errors(plan, outcome, other.hypothesis)["a"]
    assert np.median(errors.each) == pytest.approx((100**2 + 20**2) ** 0.5, rel=0.1)


def test_a_misfit_of_small_answers_is_theirs_alone():
    """Cells of 1,000 records are met, and those of 0 and 60 are smoothed away, in every refit around 30 as well."""
    law, large = DiscreteGaussian(Fraction(400)), np.arange(CELLS) % 4 == 0
    noise = np.rint(np.random.default_rng(1).normal(0.0, 20.0, CELLS))
    rule, found = MultiplicativeWeights(), {}
    for name, small in (("met", 30), ("missed", 60 * (np.arange(CELLS) % 4 == 1))):
        plan, outcome = ended(measured(A, np.where(large, 1000, small) + noise, law), rule=rule)
        cells = np.where(large, 1000.0, 30.0)[:, None] * np.full((1, 2), 0.5)
        shown = DenseDistribution(probabilities=cells / cells.sum(), total=float(cells.sum()))
        found[name] = refit_errors(plan, outcome, shown)["a"].each
    # Each of the missed ones is off by 30.
    assert found["missed"][~large].mean() > 2.0 * found["met"][~large].mean()
    assert found["missed"][large].mean() < 1.5 * found["met"][large].mean()


def test_a_pair_that_was_not_measured_errs_by_its_sampling_variation_however_many_records_there_are():
    """Of independent columns: records fall into its cells by chance, noise in the columns is next to nothing."""
    records, size = 4 * TUNING.rows, 64
    columns = tuple(QueryBlock(name=name, factors=(Factor.identity(axis, size),)) for axis, name in enumerate("abc"))
    pair = QueryBlock(name="pair", factors=(*columns[0].factors, *columns[1].factors))
    domain = Domain(tuple(Attribute(name=block.name, axis=Codes(size)) for block in columns))
    plan, rule, transcript = make_plan(domain, (pair,)), MultiplicativeWeights(), Transcript()
    plan = replace(plan, roles=replace(plan.roles, update=rule))
    for block in columns:
        one = measured(block, np.full(size, records // size), DiscreteGaussian(Fraction(4)))
        transcript.add(Round(choice=None, measurement=one, charges=()))
    hypothesis = rule.update(plan.problem, rule.start(plan.problem), transcript.measurements)
    each = refit_errors(plan, Outcome(hypothesis=hypothesis, transcript=transcript), hypothesis)["pair"].each
    # Counts of the columns are known, so a cell of m records varies by m (1 - 1 / size)^2. The errors rest on 4,096
    # cells: a mean square of theirs has a relative deviation of (2 / 4096)^0.5, and 0.05 of its root is 4.5 of these.
    assert each.mean() == pytest.approx(records**0.5 / size * (1 - 1 / size), rel=0.05)


def test_few_refits_of_large_workloads():
    law = DiscreteGaussian(Fraction(4))
    one, model = measured(A, np.zeros(CELLS), law), DenseDistribution.uniform((CELLS, 2), 1.0)
    histograms = LinearEstimate(groups=())
    assert refit_count(model, [A], [one]) == TUNING.most
    assert refit_count(model, [PAIR], [one]) == 1
    assert refit_count(model, [A], [one], most=8) == 2
    assert refit_count(histograms, [A], [one]) == TUNING.linear
    many = QueryBlock(name="many", factors=(Factor.identity(0, 2**22),))
    assert refit_count(model, [many], [one]) == 1
    assert refit_count(histograms, [many], [one]) == 1


def test_which_measurement_answers_a_block():
    law = DiscreteGaussian(Fraction(4))
    table, own = measured(PAIR, np.zeros(2 * CELLS), law), measured(A, np.zeros(CELLS), law)
    assert MeasuredBlocks.of([own, table]).place(A) == (1, 0)
    assert MeasuredBlocks.of([table, own]).place(A) == (1, 0)
    assert MeasuredBlocks.of([table]).place(UP_TO) == (0, 0)
    assert MeasuredBlocks.of([own]).place(PAIR) is None


def marginal(axes):
    return QueryBlock(name=f"{axes}", factors=tuple(Factor.identity(axis, 2) for axis in axes))


@in_one_test("seed", range(10))
def test_the_last_marginal_over_all_columns_of_a_block_answers_it(seed):
    draw, law = np.random.default_rng(seed), DiscreteGaussian(Fraction(4))

    def columns():
        return tuple(draw.permutation(6)[: draw.integers(0, 5)].tolist())

    asked = [columns() for _ in range(8)]
    history = [measured(marginal(axes), np.zeros(2 ** len(axes)), law) for axes in asked]
    for axes in [columns() for _ in range(20)]:
        block = QueryBlock(name="another name", factors=marginal(axes).factors)
        holding = [place for place, wide in enumerate(asked) if set(axes) <= set(wide)]
        assert MeasuredBlocks.of(history).place(block) == ((holding[-1], 0) if holding else None)


def test_a_pair_of_many_columns_is_looked_up_among_the_marginals_that_hold_it():
    pairs = [(one, other) for one in range(20) for other in range(one)]
    law = DiscreteGaussian(Fraction(4))
    places = MeasuredBlocks.of([measured(marginal(pair), np.zeros(4), law) for pair in pairs])
    assert {len(places.marginals[tuple(sorted(pair))]) for pair in pairs} == {1}


def test_which_rules_can_be_refitted():
    plan = make_plan(DOMAIN, (A,))

    def by(rule):
        return can_refit(replace(plan, roles=replace(plan.roles, update=rule)))

    assert by(MultiplicativeWeights()) is None
    assert "one by one" in by(MultiplicativeWeights(replay=False))
    assert "third party" in can_refit(plan)


@in_one_test("law", [DiscreteGaussian(Fraction(1, 12)), DiscreteLaplace(Fraction(1, 5))])
def test_noise_that_is_rarely_above_0_still_comes_out_again(law):
    """A normal or Laplace draw of so small a deviation, once rounded, would be 0."""
    assert law.deviation < 0.15
    plan, outcome = ended(measured(A, np.full(CELLS, 1000), law), (A, UP_TO))
    found = refit_errors(plan, outcome, outcome.hypothesis)
    assert found["up to"].each.max() == pytest.approx(law.deviation * CELLS**0.5, rel=0.7)


def test_few_answers_of_a_size_borrow_from_other_blocks_of_their_kind():
    """A block of one answer would rest on a single draw."""
    law = DiscreteGaussian(Fraction(400))
    one = QueryBlock(name="b", factors=(Factor.identity(1, 2),))
    history = [measured(A, np.full(CELLS, 1500), law), measured(one, np.full(2, 1500), law)]
    plan = make_plan(DOMAIN, (A, one))
    plan = replace(plan, roles=replace(plan.roles, update=LeastSquares()))
    transcript = Transcript()
    for each in history:
        transcript.add(Round(choice=None, measurement=each, charges=()))
    rule = plan.roles.update
    hypothesis = rule.update(plan.problem, rule.start(plan.problem), history)
    found = refit_errors(plan, Outcome(hypothesis=hypothesis, transcript=transcript), hypothesis)
    assert found["b"].each.min() > 0.5 * law.deviation


def test_ratios_that_noise_hides_are_about_those_of_their_kind():
    sure = shrunk_ratios([Ratio(value=4.0, noise=0.01), Ratio(value=1.0, noise=0.01), Ratio(value=0.2, noise=0.01)])
    assert sure == pytest.approx([4.0, 1.0, 1.0], abs=0.05)
    alike = shrunk_ratios(
        [Ratio(value=3.0 + 0.01 * place, noise=0.1) for place in range(50)] + [Ratio(value=9.0, noise=50.0)]
    )
    assert 3.0 < alike[-1] < 4.0
    hidden = shrunk_ratios([Ratio(value=value, noise=1e6) for value in (-1e6, 0.0, 1e6)])
    assert hidden == pytest.approx([1.0 + TUNING.deviations * TUNING.prior] * 3, rel=0.1)


@in_one_test("size", [1e60, 1e155, 1e250, np.inf])
def test_ratios_over_errors_of_nearly_0_are_numbers(size):
    """Of a model that has lost all records: refits err by nothing, and measurements are off by their noise."""
    for value in (-size, size):
        found = shrunk_ratios([Ratio(value=value, noise=size / 2), Ratio(value=-32.0, noise=32.0)])
        assert all(1.0 <= each < np.inf for each in found)


def test_a_ratio_that_stands_out_is_believed_beside_a_precise_one():
    far, other, precise = shrunk_ratios(
        [Ratio(value=44.0, noise=8.0), Ratio(value=4.0, noise=17.0), Ratio(value=1.5, noise=0.3)]
    )
    assert far > 30
    assert 1.0 < other < far
    assert precise == pytest.approx(1.5, abs=0.4)


@pytest.mark.slow
def test_a_measured_sum_near_0_errs_by_what_noise_in_its_columns_leaves():
    """Of the smallest region: refits start from rows of which it has next to none, and show next to no error of it."""
    sample = Path(__file__).parents[3] / "sample_data"

    def smallest(**budget):
        found = dpqr.release(sample / "survey.csv", queries=sample / "queries.json", **budget).answers
        return found[(found["query"] == "sum(income) by region") & (found["region"] == "Islands")].iloc[0]

    true = smallest(eps="1000")["estimate"]
    with repeatable_noise():
        released = [smallest(eps=".3", delta="1e-6") for _ in range(8)]
    assert min(one["estimate"] for one in released) < true / 2
    assert max(abs(one["estimate"] - true) / one["error"] for one in released) < 4


def test_errors_that_squares_hide_show_beside_the_peak_of_laplace_noise():
    """A model of 8 records a cell, of which every other one has none. The noise is its law's quantiles, so that no
    chance moves its variance; to this, errors of 8 add a twentieth."""
    cells, law = 2**12, DiscreteLaplace(Fraction(25))
    domain = Domain((Attribute(name="a", axis=Codes(cells)),))
    block = QueryBlock(name="a", factors=(Factor.identity(0, cells),))
    places = (np.arange(cells) + 0.5) / cells - 0.5
    noise = -25.0 * np.sign(places) * np.log1p(-2.0 * np.abs(places))
    noise = np.rint(np.random.default_rng(1).permutation(noise))
    shown, found = DenseDistribution.uniform((cells,), 8.0 * cells), {}
    for name, counts in (("met", np.full(cells, 8)), ("missed", 16 * (np.arange(cells) % 2))):
        one, rule, transcript = measured(block, counts + noise, law), MultiplicativeWeights(), Transcript()
        plan = make_plan(domain, (block,))
        plan = replace(plan, roles=replace(plan.roles, update=rule))
        transcript.add(Round(choice=None, measurement=one, charges=()))
        found[name] = refit_errors(plan, Outcome(hypothesis=shown, transcript=transcript), shown)["a"].each.mean()
    assert found["met"] < 8.0 < found["missed"]
    assert found["met"] < 0.5 * found["missed"]
