"""Draws kept for a run that is continued: the same event, and the same sums, or none."""

from fractions import Fraction

import numpy as np
import pytest
from ledgers import ledger_in, reserve, terms

from dpqr.construction.journal import Past
from dpqr.errors import UsageFault
from dpqr.io.journal.ledger_journal import begun_journal, continued_journal, run_of
from dpqr.io.journal.transcript_file import held
from dpqr.privacy.events import DiscreteLaplaceEvent, ExponentialEvent
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

CHOSEN = ExponentialEvent(epsilon=Fraction(1, 2))
MEASURED = DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(4))


def sums(*rows, name="strategy(v)"):
    matrix = Dense(np.array(rows, dtype=np.int64))
    return (QueryBlock(name=name, factors=(Factor(axes=(0,), sizes=(matrix.cells,), matrix=matrix),)),)


STRATEGY, OTHER = sums((2, 0), (0, 1), (0, 1)), sums((2, 0), (0, 1), (0, -1))


@pytest.fixture
def continued(tmp_path):
    """The journal of a run that chose and measured before its job died."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    paid = reserve(ledger, 1)
    with held(tmp_path / ".out.transcript") as file:
        journal = begun_journal(file, ledger, paid)
        journal.same_table("mark")
        for event, blocks, value in ((CHOSEN, (), 3), (MEASURED, STRATEGY, [[7, 8, 9]])):
            journal.begin(event, blocks)
            journal.record(value)
    with held(tmp_path / ".out.transcript") as file:
        yield continued_journal(file, ledger, run_of(file, ledger))


def test_what_was_drawn_is_read_again_whatever_its_blocks_are_called(continued):
    assert continued.past(CHOSEN, ()) == Past(value=3)
    assert continued.past(MEASURED, sums((2, 0), (0, 1), (0, 1), name="another name")) == Past(value=[[7, 8, 9]])
    assert continued.past(MEASURED, STRATEGY) is None


def test_answers_to_other_sums_of_the_same_price_are_not_taken(continued):
    continued.past(CHOSEN, ())
    with pytest.raises(UsageFault, match="draw 1 measured other sums of cells"):
        continued.past(MEASURED, OTHER)
    assert continued.past(MEASURED, STRATEGY) == Past(value=[[7, 8, 9]])


def test_another_event_is_another_plan(continued):
    with pytest.raises(UsageFault, match="draw 0 was another one"):
        continued.past(MEASURED, STRATEGY)
