from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, terms

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import LedgerError
from dpqr.kernel.events import DiscreteGaussianEvent
from dpqr.ledger.chain import ChainSegment, Link
from dpqr.ledger.codec import encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.record import Record, require_proofs
from dpqr.ledger.state import LedgerState

ENGINES = True

GAUSSIAN = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 1),)


def prove(*entries):
    """Check the entries after the opening, chained or not."""
    require_proofs(record(*entries))


def record(*entries, more=""):
    state = LedgerState()
    entries = (LedgerEntry(number=0, kind="open", time=""), *entries)
    for entry in entries:
        state.add(entry)
    links = tuple(Link(text=encode_entry(entry) + more, seal="") for entry in entries)
    return Record(chain=ChainSegment(links=links), entries=entries, state=state)


def init(made):
    return LedgerEntry(number=1, kind="init", time="", dataset=made.dataset, terms=made)


def reserve(cost, events):
    return LedgerEntry(number=2, kind="reserve", time="", dataset="survey", cost=Cost(Fraction(cost)), events=events)


ZCDP = terms(delta="1e-9", accountant="zcdp")


def test_honest_entries_pass():
    prove(init(terms()), reserve("1/3", draws("1/3")))
    prove(init(ZCDP), reserve("1/200", GAUSSIAN))


def test_an_old_price_that_was_too_high_passes():
    prove(init(terms()), reserve("1/2", draws("1/3")))


@pytest.mark.parametrize(
    "entries",
    [
        (init(terms()), reserve("1/3", draws("1/2"))),
        (init(terms()), reserve("1/3", draws("1/6", 3))),
        (init(terms()), reserve("1", GAUSSIAN)),
        (init(ZCDP), reserve("1/201", GAUSSIAN)),
        (init(replace(terms(), limit=Cost(Fraction(6)))),),
        (init(replace(ZCDP, limit=Cost(ZCDP.limit.amount * Fraction(1001, 1000)))),),
    ],
)
def test_what_costs_more_than_it_states_is_found(entries):
    with pytest.raises(LedgerError, match="states less"):
        prove(*entries)


def test_a_link_that_says_more_than_its_entry_is_found():
    with pytest.raises(LedgerError, match="not written as dpqr writes it"):
        require_proofs(record(more=" "))


def settle(cost, events):
    return LedgerEntry(
        number=3, kind="settle", time="", dataset="survey", cost=Cost(Fraction(cost)), events=events, settles=2
    )


def test_a_settlement_costs_what_its_draws_cost():
    prove(init(terms()), reserve("1", draws(1)), settle("1/3", draws("1/3")))
    prove(init(terms()), reserve("1", draws(1)), settle(0, ()))
    for cost, events in (("1/4", draws("1/3")), (0, draws("1/3")), ("1/3", draws("1/6", 3)), ("1", GAUSSIAN)):
        with pytest.raises(LedgerError, match="entry 3 states less"):
            prove(init(terms()), reserve("1", draws(1)), settle(cost, events))
