"""Every answer has an error, and says what it rests on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.released_pairs import counts, run

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.block_errors import FINENESS, GroupErrors
from dpqr.models.hypothesis import DenseDistribution
from dpqr.releases.answers.errors import ESTIMATE, MEASURED, measured_factors, raised_errors
from dpqr.releases.error_bounds import BlockErrorDraw, BlockErrors, unmeasured_blocks
from dpqr.releases.result import assemble
from dpqr.releases.sentences import KNOWN, bars_words
from dpqr.workload.block import Factor, QueryBlock

SEARCHED = {"accountant": "zcdp"}
"""Its plan is a search, which leaves blocks unmeasured."""


@pytest.fixture(scope="module")
def made():
    return run(**SEARCHED)


@pytest.fixture(scope="module")
def free():
    return run(error_bars="free", **SEARCHED)


def test_every_answer_has_an_error_and_a_basis(made):
    plan, outcome, release = made
    left = {block.name for block in unmeasured_blocks(plan.problem.workload.blocks, outcome.transcript)}
    assert 0 < len(left) < len(release.answers)
    for each in release.answers:
        assert (each.error >= 0).all()
        assert each.error.max() > 0
        assert (each.intervals.basis == (ESTIMATE if each.block.name in left else MEASURED)).all()
        assert (each.intervals.lower <= each.intervals.upper).all()


def test_the_bought_errors_scale_those_of_unmeasured_blocks(made):
    plan, outcome, release = made
    left = {block.name for block in unmeasured_blocks(plan.problem.workload.blocks, outcome.transcript)}
    assert release.bars.source == "bought"
    assert set(release.bars.factors) == left
    assert min(release.bars.factors.values()) >= 1
    words = f"those of {len(left)} unmeasured blocks rest on noisy L1 errors that were bought too"
    assert words in bars_words(release.bars)


def test_one_transcript_always_gives_the_same_errors(made):
    plan, outcome, release = made
    again = assemble(plan, outcome, {}, private=False)
    for one, other in zip(release.answers, again.answers, strict=True):
        assert np.array_equal(one.error, other.error)


def test_most_bars_hold_the_true_answers(made):
    """The noise is seeded: it is one run, whose coverage is .98."""
    held = [np.abs(each.estimate - each.block.answer(counts())) <= 1.96 * each.error for each in made[2].answers]
    assert 0.94 <= np.concatenate(held).mean() <= 0.995


@pytest.mark.slow
def test_without_a_price_a_rule_of_thumb(free):
    _, _, release = free
    assert release.bars.source == "rule of thumb"
    assert max(release.bars.factors.values()) > 1
    assert "a rule of thumb from the last selections" in bars_words(release.bars)


def test_unbiased_answers_have_the_error_of_their_noise():
    _, _, release = run([{"prefix": "a"}], {"a": 12}, schedule="strategy")
    (answers,) = release.answers
    assert np.array_equal(answers.error, answers.noisy.deviation)
    assert release.bars.refits == 0


def test_a_rule_that_follows_history_one_by_one_has_none_and_says_why():
    _, _, release = run([{"marginal": ["a"]}], {"a": 12}, update="perceptron", schedule="queries", error_bars="free")
    assert np.isnan(release.answers[0].error).all()
    assert bars_words(release.bars) == (
        "The errors of the estimates are not known: the update rule follows the measurements one by one, so a refit "
        "would take as long as the run."
    )


@pytest.fixture(scope="module")
def whole():
    """Of one small table, measured once with noise that leaves nearly all of its cells as they are."""
    sizes, codes = {"a": 5, "b": 6, "c": 7}, np.random.default_rng(4).integers(0, 5, (900, 3))
    table = SparseHistogram(tuple(sizes.values()), codes, np.ones(900, dtype=np.int64))
    return run([{"marginals": [["a", "b"], ["c"]]}], sizes, table, epsilon="30"), table


@pytest.mark.slow
def test_with_hardly_any_noise_errors_need_no_refit(whole):
    (_, outcome, release), table = whole
    assert [one.name for one in outcome.transcript.measurements[0].blocks] != [
        one.block.name for one in release.answers
    ]
    assert release.bars.refits == 0
    assert release.bars.known == len(release.answers)
    assert bars_words(release.bars) == KNOWN
    for each in release.answers:
        assert (np.abs(each.estimate - each.block.answer(table)) <= 1.96 * each.error).all()
        assert (each.intervals.basis == MEASURED).all()


def test_a_sum_of_a_measured_table_keeps_its_interval_where_nobody_asks_for_errors(whole):
    (plan, outcome, _), _ = whole
    release = assemble(replace(plan, error_bars=False), outcome, {}, private=False)
    assert all(np.isnan(each.error).all() for each in release.answers)
    assert all((each.intervals.basis == MEASURED).all() for each in release.answers)
    assert release.bars.refits == 0


# Factors of unmeasured blocks: what was bought over what refits predict, shrunk, and never below 1.


BLOCKS = tuple(QueryBlock(name=f"q{place}", factors=(Factor.identity(place, 2),)) for place in range(6))


def bought(values, deviation, groups=None):
    """L1 errors in records, of single blocks or of groups of them."""
    groups = groups or tuple((block,) for block in BLOCKS[: len(values)])
    expected = np.zeros(sum(block.rows for group in groups for block in group), dtype=np.int64)
    errors = GroupErrors(groups=groups, expected=expected, unit=PrivacyUnit())
    noisy = np.array([round(value * FINENESS) for value in values])
    law = DiscreteGaussian(Fraction(deviation * FINENESS) ** 2)
    return BlockErrors(sums=BlockErrorDraw(errors=errors, values=noisy, law=law, charge=0))


def test_exact_errors_are_taken_as_they_are_and_noisy_ones_shrunk_towards_the_mean_of_their_kind():
    found = measured_factors(bought([200, 300, 50], 1), {"q0": 100.0, "q1": 100.0, "q2": 100.0})
    assert [found[name] for name in ("q0", "q1", "q2")] == pytest.approx([2.0, 3.0, 1.0], abs=0.05)
    assert found["q2"] == 1.0
    found = measured_factors(bought([150, 250], 100), {"q0": 100.0, "q1": 100.0})
    assert 1.5 < found["q0"] < found["q1"] < min(2.5, found["q0"] + 0.1)
    unknown = measured_factors(bought([5, 5], 1), {"q0": 0.0, "q1": 5.0})
    assert unknown.keys() == {"q1"}, "a block that refits always answer has no ratio"


def test_blocks_that_share_a_figure_share_a_factor():
    sums = bought([600], 1, groups=(BLOCKS[:3],))
    found = measured_factors(sums, {"q0": 100.0, "q1": 100.0, "q2": 100.0})
    assert [*found.values()] == pytest.approx([2.0] * 3, rel=0.02)


def test_what_a_model_misses_is_in_proportion_to_the_cells_and_makes_the_sum():
    generator, block = np.random.default_rng(3), QueryBlock(name="", factors=(Factor.identity(0, 40),))
    errors, shares = generator.uniform(1.0, 9.0, 40), generator.dirichlet(np.full(40, 0.3))
    shown, empty = (DenseDistribution(probabilities=shares, total=total) for total in (2e4, 0.0))
    for factor in (1.1, 2.0, 10.0):
        raised, cells = raised_errors(errors, block, shown, factor), shown.answer(block)
        # Each Newton step takes the excess to a quarter at most, from the sum of all e at most.
        assert 0.0 <= raised.sum() / errors.sum() - factor + 1e-12 <= 4.0**-8
        variance = (raised[cells.argmax()] ** 2 - errors[cells.argmax()] ** 2) / cells.max() ** 2
        assert raised == pytest.approx(np.sqrt(errors**2 + variance * cells**2))
    assert raised_errors(errors, block, shown, 1.0) == pytest.approx(errors)
    assert raised_errors(errors, block, empty, 2.0) == pytest.approx(2.0 * errors)
