"""What a batch has shown, and when a search without improvement ends."""

from __future__ import annotations

import pytest

from dpqr.strategies.schedules.marginals.errors import Gap
from dpqr.strategies.schedules.marginals.search import BatchEvidence, DependenceGraph
from dpqr.workload.block import Factor, QueryBlock


def gap(first: int, second: int, off: float, error: float = 0.01, cells: int = 12, chance: float = 0.0) -> Gap:
    factors = (Factor.identity(first, cells), Factor.identity(second, cells))
    moved = (off**2 + (0.8 * error) ** 2) ** 0.5
    return Gap(
        block=QueryBlock(name=f"{first} {second}", factors=factors), moved=moved, error=error, passed=1.0, chance=chance
    )


STAR = DependenceGraph().joined(
    [gap(0, 1, off=1.8, error=0.3), gap(0, 2, off=1.8, error=0.3), gap(0, 3, off=1.8, error=0.3)]
)
"""Three columns that follow column 0, measured coarsely."""


def test_what_carried_noise_explains_is_not_real() -> None:
    found = BatchEvidence.of([gap(1, 2, off=0.4)], STAR)
    assert found.least == pytest.approx(0.4, rel=0.05)
    assert found.real == 0.0


def test_what_goes_beyond_it_is_and_so_is_all_that_columns_without_links_show() -> None:
    assert 0.5 < BatchEvidence.of([gap(1, 2, off=0.7)], STAR).real < 0.7
    assert BatchEvidence.of([gap(4, 5, off=0.4)], STAR).real == pytest.approx(0.4)
    mixed = BatchEvidence.of([gap(1, 2, off=0.4), gap(4, 5, off=0.4)], STAR).real
    assert 0.0 < mixed < 0.4


def test_blocks_that_are_off_keep_the_search_going() -> None:
    assert BatchEvidence.of([gap(4, 5, off=0.4)], STAR).unimproved(1, reached=0.1, price=0.3) == 0


def test_batches_that_find_nothing_add_up() -> None:
    found = BatchEvidence.of([gap(1, 2, off=0.2), gap(2, 3, off=0.2)], STAR)
    assert [found.unimproved(before, reached=0.1, price=0.1) for before in (0, 1)] == [1, 2]


def test_blocks_that_are_off_by_less_than_another_takes_from_all_do_not() -> None:
    assert BatchEvidence.of([gap(4, 5, off=0.4)], STAR).unimproved(1, reached=0.1, price=0.5) == 2


def test_what_chance_makes_of_so_many_records_is_real_whatever_noise_would_explain() -> None:
    """But no more than was seen."""
    assert BatchEvidence.of([gap(1, 2, off=0.4, chance=0.1)], STAR).real == pytest.approx(0.1)
    assert BatchEvidence.of([gap(1, 2, off=0.05, chance=0.1)], STAR).real == pytest.approx(0.05)
    assert BatchEvidence.of([gap(4, 5, off=0.4, chance=0.1)], STAR).real == pytest.approx(0.4)


def test_a_batch_that_its_noise_blinds_is_passed_over() -> None:
    """It may hide more than measuring would leave."""
    blind = BatchEvidence.of([gap(4, 5, off=0.0, error=0.3, cells=2)], STAR)
    assert blind.real == 0.0
    assert [blind.unimproved(before, reached=0.01, price=0.01) for before in (0, 1)] == [0, 1]


def test_one_batch_that_its_noise_drowns_is_enough() -> None:
    drowned = BatchEvidence.of([gap(4, 5, off=0.0, error=0.9)], STAR)
    assert drowned.unimproved(0, reached=0.9, price=0.9) == 2
    assert BatchEvidence.of([gap(4, 5, off=1.5, error=0.9)], STAR).unimproved(0, reached=0.9, price=0.9) == 0


def test_many_blocks_tell_more_than_one() -> None:
    one, four = (BatchEvidence.of([gap(4, 5, off=0.0, error=0.3)] * size, STAR) for size in (1, 4))
    assert four.blur == pytest.approx(one.blur / 2**0.5)
