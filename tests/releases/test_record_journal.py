"""The draws of a record in the order in which a run asks for them."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest
from msgspec import UNSET

from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.events import ExponentialEvent
from dpqr.releases.journal import RecordJournal
from dpqr.strategies.schedules.split import DROPPED
from dpqr.workload.block import Factor, QueryBlock

EVENT = ExponentialEvent(epsilon=Fraction(1))
ONE, TWO = QueryBlock(name="all"), QueryBlock(name="a", factors=(Factor.identity(0, 2),))


def part(**values):
    return SimpleNamespace(**values)


def drawn(choice, charges, values, error_sum=UNSET):
    measured = None if values is None else (part(values=values),)
    return part(choice=choice, charges=charges, measured=measured, error_sum=error_sum)


def record(**changed):
    usual = {
        "dropped": part(estimate=7),
        "errors": part(draws=(part(values=(40, 41)),)),
        "events": (part(count=6),),
        "transcript": (
            drawn(None, (1,), (9,)),
            drawn(2, (2, 3), (4, 5)),
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
    lost = (drawn(None, (1,), None), drawn(1, (2, 3), None))
    journal = record(dropped=None, errors=None, transcript=lost, events=(part(count=5),))
    assert asked(journal, (DROPPED,), (ONE,), (), (TWO,), (ONE,)) == [None, None, 1, None, None]
    journal.finish()


def test_a_sum_of_errors_is_one_integer_and_what_was_not_paid_is_no_draw():
    rounds = (drawn(None, (1,), (9,)), drawn(None, (2,), None, error_sum=640), drawn(None, (), None))
    journal = record(dropped=None, errors=None, transcript=rounds, events=(part(count=2),))
    assert asked(journal, (ONE,), ()) == [[[9]], 640]
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
