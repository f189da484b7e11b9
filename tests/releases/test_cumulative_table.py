"""The file of cumulative answers: what each release hands on, level by level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.handmade_release import make_release

from dpqr.domain.periods import Period, PeriodTree
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.unit import PrivacyUnit
from dpqr.releases.answer_tables import cumulative_table, handed_on, handed_over
from dpqr.releases.answers.answered import Earlier, answered_block
from dpqr.releases.files import reserve
from dpqr.releases.read_release import read_release
from dpqr.releases.release_files import write_release
from dpqr.strategies.counter import Counter, CounterStep

TREE = PeriodTree(periods=7)
FIRST = Period.parse("2026-01")
MADE = make_release()
OWN = np.concatenate([answered_block(each, MADE.plan.problem.domain).estimate for each in MADE.answers])


def of_counter(number, earlier):
    """The release made by hand as one of a binary counter; each node has the same answers."""
    counter = Counter(tree=TREE, life=PrivacyBudget.parse("1"), accountant="basic", unit=PrivacyUnit())
    turn = CounterStep(counter=counter, first=FIRST, period=FIRST.later(number - 1))
    plan = replace(MADE.plan, problem=replace(MADE.plan.problem, turn=turn))
    return replace(MADE, plan=plan, earlier=earlier)


def written(place, number, earlier):
    made = of_counter(number, earlier)
    write_release(made, reserve(str(place / str(number))), cumulative=cumulative_table(made))
    return read_release(str(place / str(number)))


def estimates(blocks):
    return np.concatenate([block.estimate for block in blocks])


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """Seven releases, each of which goes on from the files of the one before."""
    place, files = tmp_path_factory.mktemp("life"), {}
    earlier = Earlier()
    for number in range(1, TREE.periods + 1):
        files[number] = written(place, number, earlier)
        earlier = Earlier(counts=handed_on(files[number], TREE, number), period=str(number), sha256="0" * 64)
    return files


def test_counts_are_sums_over_the_path(life):
    """Every node counts the same here, so a count is the number of its nodes times that."""
    for number, files in life.items():
        found = estimates(handed_on(files, TREE, number)[0])
        assert found == pytest.approx(len(TREE.path(number)) * OWN)


def test_the_last_multiple_of_each_width_is_handed_on(life):
    for number, files in life.items():
        multiples = {level: number // 2**level * 2**level for level in range(TREE.levels)}
        found = {level: estimates(blocks) for level, blocks in handed_on(files, TREE, number).items()}
        assert set(found) == {level for level, multiple in multiples.items() if multiple}
        for level, counts in found.items():
            assert counts == pytest.approx(len(TREE.path(multiples[level])) * OWN)


def test_what_was_handed_over_makes_the_same_file_again(life):
    for number, files in life.items():
        again = of_counter(number, Earlier(counts=handed_over(files, TREE, number)))
        kept = of_counter(number, Earlier(counts=handed_on(life[number - 1], TREE, number - 1) if number > 1 else {}))
        assert cumulative_table(again).records() == cumulative_table(kept).records()


def test_a_release_of_no_counter_has_none():
    assert cumulative_table(MADE) is None
