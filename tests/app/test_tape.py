from fractions import Fraction

import pytest

from dpqr.app.tape import Crash, Tape
from dpqr.construction.journal import Past
from dpqr.privacy.events import ExponentialEvent

EVENT = ExponentialEvent(epsilon=Fraction(1))


def drawn(tape, value):
    assert tape.past(EVENT, ()) is None
    tape.begin(EVENT, ())
    tape.record(value)


def test_what_was_recorded_is_read_again_and_what_a_crash_took_is_lost():
    tape = Tape(lost=1)
    drawn(tape, 7)
    with pytest.raises(Crash):
        drawn(tape, 8)
    tape.rewind()
    assert tape.past(EVENT, ()) == Past(value=7)
    assert tape.past(EVENT, ()) == Past(value=None)
    drawn(tape, 9)


def test_nothing_is_lost_without_a_crash():
    tape = Tape()
    drawn(tape, 7)
    drawn(tape, 8)
    tape.rewind()
    assert [tape.past(EVENT, ()), tape.past(EVENT, ()), tape.past(EVENT, ())] == [Past(value=7), Past(value=8), None]
