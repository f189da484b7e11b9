from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, terms

from dpqr.kernel.budget import PURE, Cost
from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError, UsageFault
from dpqr.ledger.chain import BEGINNING, ChainSegment, Link, digest, seal
from dpqr.ledger.codec import encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.state import LedgerState


class Logged(LedgerState):
    """A state that remembers what it admitted."""

    def __init__(self):
        super().__init__()
        self.log = []

    def add(self, entry):
        super().add(entry)
        self.log.append(entry)


def state_of(*opened):
    made = Logged()
    made.add(LedgerEntry(number=0, kind="open", time=""))
    for one in opened or (terms(),):
        made.add(LedgerEntry(number=len(made.log), kind="init", time="", dataset=one.dataset, terms=one))
    return made


def reserve(made, cost, dataset="survey"):
    number = len(made.log)
    cost = Fraction(cost)
    made.add(LedgerEntry(number=number, kind="reserve", time="", dataset=dataset, cost=Cost(cost), events=draws(cost)))
    return number


def replayed(*entries):
    """As they would be read from a file."""
    links, previous = [], BEGINNING
    for text in map(encode_entry, entries):
        previous = seal(previous, text)
        links.append(Link(text=text, seal=previous))
    found = LedgerState()
    found.replay(ChainSegment(links=tuple(links)))
    return found


def settle(made, number, cost, dataset="survey", events=None):
    events = draws(cost) if events is None else events
    entry = LedgerEntry(
        number=len(made.log), kind="settle", time="", dataset=dataset, cost=Cost(Fraction(cost)), events=events
    )
    made.add(replace(entry, settles=number))


def test_thirds_and_tenths_add_up_to_the_last_digit():
    made = state_of(terms("a", "1"), terms("b", "1"))
    for _ in range(3):
        reserve(made, "1/3", "a")
    for _ in range(10):
        reserve(made, "0.1", "b")
    for dataset in "ab":
        assert made.account(dataset).spent == 1
        assert made.account(dataset).left == 0
        with pytest.raises(BudgetRefused):
            reserve(made, Fraction(1, 10**300), dataset)


def test_the_smallest_excess_is_refused_and_changes_nothing():
    made = state_of(terms(epsilon="1"))
    reserve(made, "0.5")
    before = made.account("survey")
    with pytest.raises(BudgetRefused):
        reserve(made, Fraction(1, 2) + Fraction(1, 10**300))
    assert made.account("survey") == before
    assert len(made.log) == 3


def test_spends_too_small_for_floats_count():
    made = state_of(terms(epsilon="1"))
    reserve(made, 1 - Fraction(1, 10**100))
    assert made.account("survey").left == Fraction(1, 10**100)


def test_a_reservation_is_spent_until_it_is_settled():
    made = state_of()
    number = reserve(made, 3)
    account = made.account("survey")
    assert (account.spent, account.pending, account.unsettled, account.reservations) == (3, 3, 1, 1)
    settle(made, number, "1/2")
    account = made.account("survey")
    assert (account.spent, account.pending, account.unsettled, account.reservations) == (Fraction(1, 2), 0, 0, 1)


def test_a_settlement_at_zero_stays_in_the_history():
    made = state_of()
    settle(made, reserve(made, 3), 0, events=())
    account = made.account("survey")
    assert (account.spent, account.reservations) == (0, 1)
    assert [entry.kind for entry in made.log] == ["open", "init", "reserve", "settle"]


def test_what_was_given_back_can_be_spent_again_and_no_more():
    made = state_of(terms(epsilon="1"))
    settle(made, reserve(made, 1), "1/3")
    with pytest.raises(BudgetRefused):
        reserve(made, "0.67")
    reserve(made, "2/3")
    assert made.account("survey").left == 0


def test_a_settlement_never_goes_up():
    made = state_of()
    number = reserve(made, 1)
    with pytest.raises(BudgetRefused, match="stays spent in full"):
        settle(made, number, Fraction(1) + Fraction(1, 10**50))
    assert made.account("survey").spent == 1


def test_each_reservation_is_settled_once():
    made = state_of()
    number = reserve(made, 1)
    settle(made, number, 1)
    for again in (number, 0, 1, 99, -1, number + 1):
        with pytest.raises(BudgetRefused, match="no reservation"):
            settle(made, again, 0, events=())
    assert made.account("survey").spent == 1


def test_a_settlement_stays_with_its_dataset():
    made = state_of(terms("a"), terms("b"))
    number = reserve(made, 1, "a")
    with pytest.raises(BudgetRefused, match="another dataset"):
        settle(made, number, 0, "b", events=())


def test_budgets_of_datasets_are_apart():
    made = state_of(terms("a", "1"), terms("b", "1"))
    reserve(made, 1, "a")
    reserve(made, 1, "b")
    assert made.account("a").left == made.account("b").left == 0


def test_one_release_is_capped():
    made = state_of(terms(cap="0.5"))
    with pytest.raises(BudgetRefused, match="cap"):
        reserve(made, "0.51")
    for _ in range(10):
        reserve(made, "0.5")
    assert made.account("survey").largest == 0


@pytest.mark.parametrize("name", ["survey", "SURVEY", "Survey"])
def test_a_dataset_is_opened_once_whatever_the_case_of_its_name(name):
    with pytest.raises(BudgetRefused, match="no reset"):
        state_of(terms(), terms(name, "9"))


def test_an_unknown_dataset_is_named_beside_the_known_ones():
    with pytest.raises(UsageFault, match=r"'surway'.*known: survey"):
        state_of().account("surway")


@pytest.mark.parametrize(
    "forged",
    [
        LedgerEntry(number=2, kind="reserve", time="", dataset="survey", cost=Cost(Fraction(6))),
        LedgerEntry(number=2, kind="reserve", time="", dataset="nobody", cost=Cost(Fraction(1))),
        LedgerEntry(number=2, kind="init", time="", dataset="survey", terms=terms()),
        LedgerEntry(number=2, kind="init", time="", dataset="other", terms=terms()),
        LedgerEntry(number=2, kind="init", time="", dataset="other"),
        LedgerEntry(
            number=2, kind="init", time="", dataset="other", terms=replace(terms("other"), accountant="advanced")
        ),
        LedgerEntry(number=2, kind="init", time="", dataset="other", terms=replace(terms("other"), limit=Cost())),
        LedgerEntry(number=2, kind="open", time=""),
        LedgerEntry(number=3, kind="reserve", time="", dataset="survey", cost=Cost(Fraction(1))),
        LedgerEntry(number=2, kind="settle", time="", dataset="survey", settles=1),
        LedgerEntry(number=2, kind="settle", time="", dataset="survey"),
        LedgerEntry(number=2, kind="reset", time="", dataset="survey"),
        LedgerEntry(number=2, kind="checkpoint", time="", state=digest("")),
    ],
)
def test_a_forged_entry_is_not_admitted(forged):
    made = state_of()
    before = made.text
    with pytest.raises(DpqrError):
        made.add(forged)
    assert made.text == before


def test_a_forged_entry_is_found_in_a_replay():
    honest = state_of().log
    assert replayed(*honest).account("survey").left == 5
    with pytest.raises(LedgerError, match="entry 2 breaks the rules"):
        replayed(*honest, LedgerEntry(number=2, kind="reserve", time="", dataset="survey", cost=Cost(Fraction(6))))


def test_a_record_that_does_not_begin_is_found():
    with pytest.raises(LedgerError):
        replayed(LedgerEntry(number=0, kind="init", time="", dataset="survey", terms=terms()))


def test_a_checkpoint_is_of_the_state_before_it():
    made = state_of()
    reserve(made, 1)
    entry = LedgerEntry(number=3, kind="checkpoint", time="", state=digest(made.text))
    made.add(entry)
    assert (made.length, made.checkpoint) == (4, entry)
    with pytest.raises(LedgerError, match="another state"):
        made.add(replace(entry, number=4))


def test_an_anchor_is_kept_from_the_beginning_or_from_its_entry_on():
    assert replayed(LedgerEntry(number=0, kind="open", time="", anchored=True)).anchored
    made = state_of()
    assert not made.anchored
    made.add(LedgerEntry(number=2, kind="anchor", time=""))
    assert made.anchored


@pytest.mark.parametrize("pricing", [None, PURE])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_reservation_says_how_it_is_priced_where_its_budget_asks_and_there_alone(delta, pricing):
    made = state_of(terms(delta=delta))
    entry = LedgerEntry(number=2, kind="reserve", time="", dataset="survey", cost=Cost(Fraction(1)), events=draws(1))
    if (pricing is None) == (delta == "0"):
        made.add(replace(entry, pricing=pricing))
        assert made.account("survey").spent == 1
    else:
        with pytest.raises(LedgerError, match="how it is priced"):
            made.add(replace(entry, pricing=pricing))
        assert made.account("survey").spent == 0
