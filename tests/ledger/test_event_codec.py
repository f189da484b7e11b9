from dataclasses import fields
from fractions import Fraction
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Draw,
    ExponentialEvent,
    GaussianObjectiveEvent,
    LeftOutEvent,
    PermuteAndFlipEvent,
)
from dpqr.ledger.codec import LONGEST, decode_events, encode_events, exact_text, parse_exact

LAPLACE = {"kind": "discrete-laplace", "sensitivity": "2", "scale": "5/3", "count": 7}
WHOLE = st.integers(1, 10**20)
EXACT = st.builds(Fraction, st.integers(1, 10**30), st.integers(1, 10**30))
PARAMETERS = {int: WHOLE, Fraction: EXACT, bool: st.booleans(), int | None: st.none() | WHOLE}
OWN = {"directions": st.sampled_from((1, 2)), "opposite": EXACT.map(lambda exact: 1 / (1 + exact))}


def events_of(made):
    """Any event of a class, by the types of its fields."""
    hints = get_type_hints(made)
    names = [each.name for each in fields(made) if not each.name.startswith("_")]
    return st.builds(made, **{name: OWN.get(name, PARAMETERS[hints[name]]) for name in names})


EVENTS = st.one_of(*map(events_of, get_args(Draw)))
EVENTS |= EVENTS.map(lambda event: LeftOutEvent(event=event))


@given(st.lists(st.tuples(EVENTS, st.integers(0, 10**9)), max_size=4))
def test_every_event_comes_back_as_it_was(composition):
    assert decode_events(encode_events(tuple(composition))) == tuple(composition)


PULL = GaussianObjectiveEvent(
    squared_sensitivity=1, variance=Fraction(2), changes=1, curvature=Fraction(1, 9), closing=Fraction(1, 64)
)


@pytest.mark.parametrize("lacking", [(), ("tapered",), ("opposite",), ("opposite", "tapered")], ids=str)
def test_the_text_of_a_version_without_a_parameter_comes_back_as_it_was(lacking):
    """The seal is of that text; the event and its price are those of the parameter's default."""
    (now,) = encode_events(((PULL, 3),))
    assert (now["opposite"], now["tapered"]) == ("0", "0")
    older = {name: text for name, text in now.items() if name not in lacking}
    decoded = decode_events([older])
    assert encode_events(decoded) == [older]
    assert decoded == ((PULL, 3),)
    assert hash(decoded) == hash(((PULL, 3),))
    with pytest.raises(ValueError, match="unknown"):
        decode_events([{**older, "_unstated": "1"}])


@given(EVENTS)
def test_every_parameter_is_written_unless_it_is_none(event):
    drawn = event.event if isinstance(event, LeftOutEvent) else event
    (part,) = encode_events(((event, 1),))
    stated = part["event"] if isinstance(event, LeftOutEvent) else part
    names = [each.name for each in fields(drawn) if not each.name.startswith("_")]
    assert {*stated} - {"kind", "count"} == {name for name in names if getattr(drawn, name) is not None}


def test_the_parts_are_plain_text():
    assert encode_events(((DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(5, 3)), 7),)) == [LAPLACE]


def test_kinds_are_told_apart():
    both = ((ExponentialEvent(epsilon=Fraction(1)), 1), (PermuteAndFlipEvent(epsilon=Fraction(1)), 1))
    assert [type(event) for event, _ in decode_events(encode_events(both))] == [ExponentialEvent, PermuteAndFlipEvent]


def test_gaussian_parameters_keep_their_types():
    (event, _), *_ = decode_events(
        encode_events(((DiscreteGaussianEvent(squared_sensitivity=4, variance=Fraction(9)), 1),))
    )
    assert type(event.squared_sensitivity) is int
    assert type(event.variance) is Fraction


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "laplace"},
        {"kind": None},
        {"kind": []},
        {"scale": "10/6"},
        {"scale": "1.5"},
        {"scale": "-1"},
        {"scale": 1},
        {"scale": 1.5},
        {"scale": "1/0"},
        {"scale": "0"},
        {"scale": "1e5"},
        {"scale": "٣"},
        {"scale": " 1"},
        {"scale": "9" * (LONGEST + 1)},
        {"sensitivity": "1/2"},
        {"sensitivity": None},
        {"count": -1},
        {"count": "7"},
        {"count": True},
        {"count": 1.0},
        {"more": "1"},
    ],
)
def test_anything_else_is_refused(changed):
    with pytest.raises((ValueError, KeyError, TypeError, BudgetRefused)):
        decode_events([LAPLACE | changed])


def test_a_missing_parameter_is_refused():
    with pytest.raises((ValueError, KeyError)):
        decode_events([{name: value for name, value in LAPLACE.items() if name != "scale"}])


def test_figures_of_many_digits_are_refused_before_they_are_stored():
    assert parse_exact(exact_text(Fraction(10**LONGEST - 1))) == 10**LONGEST - 1
    with pytest.raises(BudgetRefused, match="digits"):
        exact_text(Fraction(1, 10**LONGEST))


def test_a_parameter_that_came_later_may_be_left_out():
    later = [field for made in get_args(Draw) for field in fields(made) if field.default is None]
    assert all(field.name not in LAPLACE for field in later)
    assert decode_events([LAPLACE]) == ((DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(5, 3)), 7),)
