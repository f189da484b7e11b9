"""The choice of rows: every set of K of a person's rows equally likely, each person apart, and ties without a say."""

import itertools
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from support.scripted_noise import ScriptedNoise, outcomes

from dpqr.io.tables.persons.tickets import fresh_tickets, smallest_tickets
from dpqr.noise.source import SeededNoise

HIGH, LOW = 2**63, 0
NO_NOISE = ScriptedNoise([])


def choice(owners, tickets, most, noise=NO_NOISE):
    kept, tickets = smallest_tickets(np.array(owners), np.array(tickets, dtype=np.uint64), most, noise)
    return tuple(np.flatnonzero(kept).tolist()), tickets


@pytest.mark.parametrize("owners", [(0, 0, 0), (0, 1, 0, 1, 0), (2, 0, 2, 1, 0, 2)])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_each_persons_choice_is_uniform_and_independent_of_the_others(owners, most) -> None:
    """All orders of distinct tickets are equally likely; so are then all combinations of the persons' choices."""
    found = Counter(
        choice(owners, [[rank << 40 for rank in ranks]], most)[0]
        for ranks in itertools.permutations(range(len(owners)))
    )
    ways = 1
    for rows in Counter(owners).values():
        ways *= comb(rows, min(rows, most))
    assert len(found) == ways
    assert len(set(found.values())) == 1
    for kept in found:
        assert Counter(owners[row] for row in kept) == {
            owner: min(rows, most) for owner, rows in Counter(owners).items()
        }


@pytest.mark.parametrize(("rows", "most", "depth"), [(2, 1, 8), (3, 1, 6), (3, 2, 6), (4, 2, 4)])
def test_ties_have_no_say(rows, most, depth) -> None:
    """Tickets of a few digits tie often. Of what is decided within `depth` words, every set has the same share."""

    def draw(noise):
        return choice([0] * rows, fresh_tickets(rows, 1, noise), most, noise)[0]

    found: dict[tuple[int, ...], Fraction] = {}
    for kept, share in outcomes(draw, (LOW, 2**62, HIGH, HIGH + 2**62), depth):
        found[kept] = found.get(kept, Fraction(0)) + share
    assert len(found) == comb(rows, most)
    assert len(set(found.values())) == 1
    assert sum(found.values()) >= Fraction(3, 32)


def test_more_digits_are_drawn_for_all_and_kept() -> None:
    kept, tickets = choice([0, 0, 1], [[HIGH, HIGH, LOW]], 1, ScriptedNoise([5, 3, 9]))
    assert kept == (1, 2)
    assert tickets.tolist() == [[HIGH, HIGH, LOW], [5, 3, 9]]


def test_a_second_level_decides_what_the_first_leaves_equal_only() -> None:
    assert choice([0, 0, 0], [[7, 7, 8], [9, 1, 0]], 1)[0] == (1,)
    assert choice([0, 0, 0], [[7, 7, 8], [9, 1, 0]], 2)[0] == (0, 1)


def test_digits_below_the_leading_ones_of_the_key_count() -> None:
    """The key that is sorted first has no room for the last digits where there are several owners."""
    assert choice([0, 0, 5, 5], [[HIGH + 1, HIGH, 4, 5]], 1)[0] == (1, 2)


def test_equal_tickets_of_different_persons_or_of_persons_with_few_rows_need_no_more() -> None:
    assert choice([0, 1, 2], [[4, 4, 4]], 1)[0] == (0, 1, 2)
    assert choice([0, 0], [[4, 4]], 2)[0] == (0, 1)
    assert choice([], [[]], 1)[0] == ()


def test_many_rows_against_a_sort_of_each_person() -> None:
    generator = np.random.default_rng(5)
    owners = generator.integers(0, 400, 5000)
    tickets = generator.integers(0, 2**64, (1, 5000), dtype=np.uint64)
    kept = set(choice(owners, tickets, 7, SeededNoise(1))[0])
    for owner in range(400):
        rows = sorted(np.flatnonzero(owners == owner).tolist(), key=lambda row: int(tickets[0, row]))
        assert kept.intersection(rows) == set(rows[:7])
