"""Draws in a ledger: one after another, each on the transcript that holds all before it, none beyond what was paid."""

import json
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.ledger_jobs import UNIT, another, by, draws, kept, ledger_in, reserve, restore, rows, session_of, terms

from dpqr.kernel.budget import PURE, Cost
from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError, UsageFault
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.chain import BEGINNING, ChainSegment, Link, digest, seal
from dpqr.ledger.codec import canonical, encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.periods import ALL_PERIODS
from dpqr.ledger.state import AccountState, Charge, LedgerState, decode_state
from dpqr.tables.policy import Policy, Source

ENGINES = True

HALF = ExponentialEvent(epsilon=Fraction(1, 2))
FIRST, SECOND, THIRD = ("1" * 64, "2" * 64, "3" * 64)


@pytest.fixture
def ledger(tmp_path):
    made = ledger_in(tmp_path)
    made.open(terms(epsilon="5"))
    return made


@pytest.fixture
def paid(ledger):
    return reserve(ledger, 1)


def drawn(ledger, paid, number, before, after):
    ledger.begin(paid, HALF, number=number, transcript=before)
    ledger.record(paid, number=number, transcript=after)


def test_a_run_is_found_again_as_far_as_it_came(ledger, paid):
    assert ledger.run("survey", paid.number, paid.receipt).transcript == ""
    drawn(ledger, paid, 0, FIRST, SECOND)
    ledger.begin(paid, HALF, number=1, transcript=SECOND)
    run = another(ledger).run("survey", paid.number, paid.receipt)
    assert (run.lost, run.recorded, run.transcript) == (HALF, 1, SECOND)
    assert (run.reservation, run.note) == (paid, "a test")
    ledger.verify()


def test_no_draw_is_begun_that_is_not_paid(ledger, paid):
    drawn(ledger, paid, 0, FIRST, SECOND)
    drawn(ledger, paid, 1, SECOND, THIRD)
    with pytest.raises(LedgerError, match="does not pay for another draw"):
        ledger.begin(paid, ExponentialEvent(epsilon=Fraction(1, 10**9)), number=2, transcript=THIRD)


def test_a_draw_needs_the_transcript_that_the_ledger_knows(ledger, paid):
    drawn(ledger, paid, 0, FIRST, SECOND)
    with pytest.raises(LedgerError, match="not the newest one"):
        ledger.begin(paid, HALF, number=1, transcript=FIRST)
    ledger.begin(paid, HALF, number=1, transcript=SECOND)


def test_a_draw_is_begun_once_and_then_recorded_once(ledger, paid):
    with pytest.raises(LedgerError, match="another job"):
        ledger.record(paid, number=0, transcript=FIRST)
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    with pytest.raises(LedgerError, match="another job"):
        ledger.begin(paid, HALF, number=0, transcript=FIRST)
    ledger.record(paid, number=0, transcript=SECOND)
    with pytest.raises(LedgerError, match="another job"):
        ledger.record(paid, number=0, transcript=THIRD)


def test_a_settled_run_is_over(ledger, paid):
    ledger.settle(paid, (), note="nothing was drawn")
    assert ledger.run("survey", paid.number, paid.receipt) is None
    with pytest.raises(BudgetRefused, match="settled once"):
        ledger.begin(paid, HALF, number=0, transcript=FIRST)


def test_another_ledgers_run_is_refused(ledger, paid, tmp_path):
    (tmp_path / "other").mkdir()
    other = ledger_in(tmp_path / "other")
    other.open(terms(epsilon="5"))
    reserve(other, 1)
    for act in (
        lambda: other.run("survey", paid.number, paid.receipt),
        lambda: other.begin(paid, HALF, number=0, transcript=FIRST),
        lambda: other.settle(paid, (), note=""),
        lambda: ledger.run("survey", 99, paid.receipt),
        lambda: ledger.run("survey", -1, paid.receipt),
        lambda: ledger.run("census", paid.number, paid.receipt),
    ):
        with pytest.raises(LedgerError):
            act()
    assert other.account("survey").spent == 1


def test_an_older_copy_of_the_ledger_is_found_by_the_anchor(ledger, paid):
    """Else a draw could be made again and again from the copy, until it pleases."""
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    copy = kept(ledger.store)
    ledger.record(paid, number=0, transcript=SECOND)
    restore(ledger.store, copy)
    with pytest.raises(LedgerError, match="rolled back"):
        ledger.run("survey", paid.number, paid.receipt)


@pytest.mark.file
def test_every_reservation_has_a_key_of_its_own_until_it_is_settled(ledger, paid):
    other = reserve(ledger, 1)
    keys = ledger.key(paid), ledger.key(other)
    assert len(set(keys)) == 2
    assert {len(key) for key in keys} == {32}
    assert not any(key.hex() in entry for _, entry, _ in rows(ledger.store) for key in keys)
    ledger.settle(paid, (), note="nothing was drawn")
    with pytest.raises(LedgerError, match="key of reservation"):
        ledger.key(paid)
    stored = kept(ledger.store)
    assert keys[0] not in stored
    assert keys[1] in stored


def test_a_use_after_a_failed_one_starts_from_what_is_stored(ledger, paid, monkeypatch):
    """The book that this process keeps must not run ahead of the file."""

    def fail(*_):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(session_of(ledger.store), "commit", fail)
        with pytest.raises(LedgerError):
            ledger.begin(paid, HALF, number=0, transcript=FIRST)
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    assert len(ledger.entries()) == len(rows(ledger.store)) == 4


def test_a_ledger_that_was_replaced_is_replayed_from_its_beginning(ledger, paid, tmp_path):
    alone = ledger_in(tmp_path, anchored=False)
    reserve(alone, 1)
    (tmp_path / "other").mkdir()
    other = ledger_in(tmp_path / "other", anchored=False)
    other.open(terms(dataset="census", epsilon="1"))
    restore(ledger.store, kept(other.store))
    assert canonical([account.terms.dataset for account in alone.accounts()]) == '["census"]'
    assert reserve(alone, 1, dataset="census").number == 2


@pytest.mark.parametrize("number", [-1, 1, 2])
def test_a_draw_is_begun_and_recorded_under_its_own_number_alone(ledger, paid, number):
    """Else a job that believes itself elsewhere in its plan would spend another draw's place."""
    with pytest.raises(LedgerError, match="another place"):
        ledger.begin(paid, HALF, number=number, transcript=FIRST)
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    with pytest.raises(LedgerError, match="another place"):
        ledger.record(paid, number=number, transcript=SECOND)
    ledger.record(paid, number=0, transcript=SECOND)
    assert ledger.run("survey", paid.number, paid.receipt).recorded == 1


def state(**given):
    return LedgerState(accounts={"survey": AccountState(terms=terms(**given))})


ASKED = Charge(dataset="survey", events=draws("1/2", 2), unit=UNIT, policy=Policy(), pricing=by(None))


def test_every_draw_is_priced_in_the_budgets_currency_and_alike_each_time():
    asked = replace(ASKED, events=(*draws("1/2", 2), *draws("1/8", 3)), pricing=by("1e-6"))
    budgets = [state(), state(delta="1e-6"), state(delta="1e-6", accountant="zcdp")]
    assert asked.content(budgets[0])["cost"] == 1 + Fraction(3, 8)
    for each in (*budgets, *budgets):
        assert asked.content(each)["cost"] == replace(asked).content(each)["cost"]
    assert [asked.content(each)["pricing"] for each in budgets[:2]] == [None, by("1e-6")]
    pure, advanced = (replace(asked, pricing=each).content(budgets[1])["cost"] for each in (by(None), by("1e-6")))
    assert (pure.delta, advanced.delta) == (0, Fraction(1, 10**6))


LAXER = [
    *({name: 7} for name in ("records", "bytes", "memory")),
    *({"delimiter": ";"}, {"encoding": "latin-1"}, {"counts": "n"}, {"fail": True}, {"approval": True}),
    {"source": Source(address="duckdb:/data/t.duckdb?table=t")},
]


@in_one_test("other", LAXER)
def test_every_part_of_the_policy_must_be_the_budgets(other):
    with pytest.raises(BudgetRefused, match="the policy of its budget has changed"):
        replace(ASKED, policy=Policy(**other)).content(state())


def test_another_unit_is_refused():
    with pytest.raises(BudgetRefused):
        replace(ASKED, unit=PrivacyUnit(columns=("id",))).content(state())


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


def reserve_in(made, cost, dataset="survey"):
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
        reserve_in(made, "1/3", "a")
    for _ in range(10):
        reserve_in(made, "0.1", "b")
    for dataset in "ab":
        assert made.account(dataset).spent == 1
        assert made.account(dataset).left == 0
        with pytest.raises(BudgetRefused):
            reserve_in(made, Fraction(1, 10**300), dataset)


def test_the_smallest_excess_is_refused_and_changes_nothing():
    made = state_of(terms(epsilon="1"))
    reserve_in(made, 1 - Fraction(1, 10**100))
    before = made.account("survey")
    assert before.left == Fraction(1, 10**100)
    with pytest.raises(BudgetRefused):
        reserve_in(made, before.left.amount + Fraction(1, 10**300))
    assert (made.account("survey"), len(made.log)) == (before, 3)


def test_each_reservation_is_settled_once():
    made = state_of()
    number = reserve_in(made, 1)
    settle(made, number, 1)
    for again in (number, 0, 1, 99, -1, number + 1):
        with pytest.raises(BudgetRefused, match="no reservation"):
            settle(made, again, 0, events=())
    assert made.account("survey").spent == 1


def test_a_settlement_stays_with_its_dataset():
    made = state_of(terms("a"), terms("b"))
    number = reserve_in(made, 1, "a")
    with pytest.raises(BudgetRefused, match="another dataset"):
        settle(made, number, 0, "b", events=())


@in_one_test("name", ["survey", "SURVEY", "Survey"])
def test_a_dataset_is_opened_once_whatever_the_case_of_its_name(name):
    with pytest.raises(BudgetRefused, match="no reset"):
        state_of(terms(), terms(name, "9"))


def test_an_unknown_dataset_is_named_beside_the_known_ones():
    with pytest.raises(UsageFault, match=r"'surway'.*known: survey"):
        state_of().account("surway")


@in_one_test(
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


def test_a_checkpoint_is_of_the_state_before_it():
    made = state_of()
    reserve_in(made, 1)
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


@in_one_test("pricing", [None, PURE])
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


DIGESTS = ("1" * 64, "2" * 64)


@pytest.fixture
def text(tmp_path):
    """Two datasets, a settled run, one that has not begun, one with a draw that is not recorded."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms(cap="2"))
    ledger.open(terms("z", "3", "1e-9", "zcdp"))
    ledger.settle(reserve(ledger, 2), draws("1/3"), note="released")
    reserve(ledger, 1)
    paid = reserve(ledger, "1/10", "z")
    half = ExponentialEvent(epsilon=Fraction(1, 20))
    ledger.begin(paid, half, number=0, transcript=DIGESTS[0])
    ledger.record(paid, number=0, transcript=DIGESTS[1])
    ledger.begin(paid, half, number=1, transcript=DIGESTS[1])
    return ledger.walk().state.text


def test_a_state_comes_back_as_it_was(text):
    state = decode_state(text)
    assert state.text == text
    assert state.accounts["survey"].account.spent == Fraction(4, 3)
    (run,) = state.accounts["z"].runs.values()
    assert (run.begun, run.recorded, run.last) == (2, 1, ExponentialEvent(epsilon=Fraction(1, 20)))
    assert run.settled(run.events) == Fraction(2, 8 * 20**2)


def test_a_sum_of_any_length_can_be_kept(text):
    state = decode_state(text)
    state.accounts["survey"].spent = {ALL_PERIODS: Cost(Fraction(1, 3**20_000))}
    again = decode_state(state.text)
    assert again.accounts["survey"].account.spent == Fraction(1, 3**20_000)


def changed(text, change):
    document = json.loads(text)
    change(document)
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("anchored"),
        lambda found: found.update(more=1),
        lambda found: found.update(dpqr="dpqr state/2"),
        lambda found: found["datasets"][0].update(more=1),
        lambda found: found["datasets"][0].update(spent=["8", "6"]),
        lambda found: found["datasets"][0].update(spent=["4", "0"]),
        lambda found: found["datasets"][0].update(spent=4),
        lambda found: found["datasets"].append(found["datasets"][0]),
        lambda found: found["datasets"][1]["runs"][0]["paid"].update(cost="x"),
        lambda found: found["datasets"][1]["runs"][0].update(last=[{"kind": "exponential", "count": 1}]),
        lambda found: found.update(datasets=None),
    ],
)
def test_any_other_text_is_refused(text, change):
    assert changed(text, lambda _: None) == text
    for other in (changed(text, change), "", "[]", "{}", "[" * 100_000, "null"):
        with pytest.raises(LedgerError):
            decode_state(other)
