import sys
import traceback
import warnings
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, MechanismFailed
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.gate import measure, measure_together
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private, ReleasedValue

SECRET = "4242424242"
TENTH = ExponentialEvent(epsilon=Fraction(1, 10))
NOISE = SeededNoise(1)


@dataclass
class Diary:
    """What happened, in order; also the accountant."""

    lines: list[str] = field(default_factory=list)
    refuses: bool = False

    def charge(self, event):
        if self.refuses:
            raise BudgetRefused("no")
        self.lines.append(f"charged {event.epsilon}")
        return 17


@dataclass(frozen=True)
class Act:
    """A mechanism that does as it is told, and writes into the diary that it was called."""

    diary: Diary
    act: object = lambda value, noise: value
    event: ExponentialEvent = TENTH

    def sample(self, value, noise):
        self.diary.lines.append("opened" if value == SECRET else "given something else")
        return self.act(value, noise)


def run(diary, act):
    return measure(Private(SECRET), Act(diary, act), accountant=diary, noise=NOISE)


def test_it_is_paid_then_opened_with_the_noise_it_was_given():
    diary = Diary()
    assert run(diary, lambda value, noise: (value + "!", noise)) == ReleasedValue((SECRET + "!", NOISE), 17)
    assert diary.lines == ["charged 1/10", "opened"]


class WithoutPrice:
    @property
    def event(self):
        raise BudgetRefused("no")

    def sample(self, value, noise):
        raise AssertionError("opened")


def test_nothing_is_charged_or_opened_when_the_charge_is_refused_or_has_no_price():
    for diary, mechanism in ((Diary(refuses=True), None), (Diary(), WithoutPrice())):
        with pytest.raises(BudgetRefused, match="no"):
            measure(Private(SECRET), mechanism or Act(diary), accountant=diary, noise=NOISE)
        assert diary.lines == []


@in_one_test("nothing", [None, 0, (), False, BaseException()])
def test_a_mechanism_may_return_nothing_or_anything(nothing):
    assert run(Diary(), lambda value, noise: nothing).value is nothing


def raising(make):
    def act(value, noise):
        raise make(value)

    return act


def raising_in_a_chain(value, noise):
    try:
        raise KeyError(value)
    except KeyError as first:
        raise ValueError(f"after {value}") from first


def dividing(value, noise):
    return int(value) // 0


def running_too_deep(value, noise):
    return running_too_deep(value, noise)


FAILURES = [
    raising(ValueError),
    raising(MemoryError),
    raising(MechanismFailed),
    raising(BudgetRefused),
    raising(SystemExit),
    raising(GeneratorExit),
    raising(BaseException),
    raising(lambda value: BaseExceptionGroup(value, [ValueError(value)])),
    raising_in_a_chain,
    dividing,
    running_too_deep,
]


def failure_of(act, expected=MechanismFailed):
    with pytest.raises(expected) as caught:
        run(Diary(), act)
    return caught.value


@in_one_test("act", FAILURES)
def test_every_failure_becomes_the_same_constant(act):
    assert str(failure_of(act)) == str(failure_of(raising(ValueError)))
    assert "paid" in str(failure_of(act))


@in_one_test("act", FAILURES)
def test_a_failure_keeps_nothing_of_the_original(act):
    error = failure_of(act)
    assert (error.__context__, error.__cause__) == (None, None)
    assert not hasattr(error, "__notes__")
    assert SECRET not in "".join(traceback.format_exception(error))
    assert_frames_are_clean(error)
    assert sys.exc_info() == (None, None, None)


def assert_frames_are_clean(error):
    """The traceback holds this test and `measure` alone: no frame in which the value was open."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        assert frame.f_code.co_name not in {"_attempt", "sample", "act"}
        if frame.f_code is measure.__code__:
            assert SECRET not in repr({name: repr(value) for name, value in frame.f_locals.items()})


def test_after_a_failure_the_charge_stands():
    accountant = Basic().guard(PrivacyBudget.parse("0.1"), ((TENTH, 1),))
    diary = Diary()
    with pytest.raises(MechanismFailed):
        measure(Private(SECRET), Act(diary, raising(ValueError)), accountant=accountant, noise=NOISE)
    with pytest.raises(BudgetRefused):
        measure(Private(SECRET), Act(diary), accountant=accountant, noise=NOISE)
    assert diary.lines == ["opened"]


def test_an_interrupt_stays_one_but_forgets_where_it_struck():
    error = failure_of(raising(KeyboardInterrupt), expected=KeyboardInterrupt)
    assert error.args == ()
    assert (error.__context__, error.__cause__) == (None, None)
    assert_frames_are_clean(error)


@in_one_test(
    "act",
    [
        lambda value, noise: warnings.warn(value, stacklevel=1),
        lambda value, noise: np.int64(2**62) * np.int64(len(value)),
        lambda value, noise: np.float64(1) / np.float64(0),
    ],
)
def test_warnings_of_a_mechanism_are_not_shown(act):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run(Diary(), act)
    assert seen == []


FIFTH = ExponentialEvent(epsilon=Fraction(1, 5))


@dataclass(frozen=True)
class Acts:
    """A batch of such a mechanism's draws."""

    diary: Diary
    events: tuple = ((TENTH, 3), (FIFTH, 2))

    def sample(self, value, noise):
        self.diary.lines.append("opened")
        return value


def test_a_batch_pays_for_every_draw_of_every_event_and_is_then_opened():
    diary = Diary()
    drawn = measure_together(Private(SECRET), Acts(diary), accountant=diary, noise=NOISE)
    assert drawn == ReleasedValue(SECRET, 17)
    assert diary.lines == ["charged 1/10"] * 3 + ["charged 1/5"] * 2 + ["opened"]


@in_one_test("limit", [Fraction(n, 10) for n in range(1, 7)])
def test_a_batch_beyond_the_budget_is_not_opened(limit):
    """Seven tenths are asked, one after the other; whatever the budget ends among, nothing is drawn."""
    diary = Diary()
    accountant = Basic().filter(PrivacyBudget(limit))
    with pytest.raises(BudgetRefused):
        measure_together(Private(SECRET), Acts(diary), accountant=accountant, noise=NOISE)
    assert diary.lines == []
