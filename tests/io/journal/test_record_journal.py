"""The draws of a record in the order in which a run asks for them."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

from dpqr.errors import GoalMissed
from dpqr.io.journal.record_journal import RecordJournal
from dpqr.privacy.events import ExponentialEvent
from dpqr.strategies.schedules.dropped_count import DROPPED
from dpqr.workload.block import Factor, QueryBlock

EVENT = ExponentialEvent(epsilon=Fraction(1))
ONE, TWO = QueryBlock(name="all"), QueryBlock(name="a", factors=(Factor.identity(0, 2),))


def part(**values):
    return SimpleNamespace(**values)


def record(**changed):
    usual = {
        "dropped": part(estimate=7),
        "errors": part(draws=(part(values=(40, 41)),)),
        "events": (part(count=6),),
        "transcript": (
            part(choice=None, charges=(1,), measured=(part(values=(9,)),)),
            part(choice=2, charges=(2, 3), measured=(part(values=(4, 5)),)),
        ),
    }
    return RecordJournal.of(part(**usual | changed))


def asked(journal, *draws):
    return [journal.past(EVENT, blocks).value for blocks in draws]


def test_all_draws_in_their_order():
    journal = record()
    assert asked(journal, (DROPPED,), (ONE,), (), (TWO,), (ONE, TWO)) == [[[7]], [[9]], 2, [[4, 5]], [[40, 41]]]
    journal.finish()


def test_what_was_paid_and_lost():
    lost = (part(choice=None, charges=(1,), measured=None), part(choice=1, charges=(2, 3), measured=None))
    journal = record(dropped=None, errors=None, transcript=lost, events=(part(count=5),))
    assert asked(journal, (DROPPED,), (ONE,), (), (TWO,), (ONE,)) == [None, None, 1, None, None]
    journal.finish()


@pytest.mark.parametrize("draws", [((TWO,),), ((),), ((ONE,), (TWO,)), ((ONE,), (), (ONE,))])
def test_another_draw_than_the_record_holds(draws):
    with pytest.raises(GoalMissed, match="is not what the plan draws there"):
        asked(record(), *draws)


def test_a_record_that_ends_too_early_or_goes_on():
    journal = record(errors=None, events=(part(count=3),))
    asked(journal, (ONE,), (), (TWO,))
    with pytest.raises(GoalMissed, match="the record ends after draw 3, and the plan goes on"):
        asked(journal, (ONE,))
    journal = record()
    asked(journal, (ONE,))
    with pytest.raises(GoalMissed, match="the plan ends after draw 1, and the record goes on"):
        journal.finish()


def test_nothing_is_ever_drawn():
    for draw in (lambda: record().begin(EVENT, ()), lambda: record().record(1)):
        with pytest.raises(AssertionError, match="draws nothing"):
            draw()
