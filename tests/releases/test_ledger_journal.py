"""Draws kept for a run that is continued: the same event, and the same sums, or none."""

from __future__ import annotations

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import UNSET
from support.cases import in_one_test
from support.ledger_jobs import ledger_in, reserve, terms

from dpqr.kernel.errors import BudgetRefused, GoalMissed, LedgerError, UsageFault
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent
from dpqr.releases.draws import RecordedDraw
from dpqr.releases.journal import FORMAT, NAMED, RecordJournal, begin_journal, continue_journal, open_transcript, run_of
from dpqr.strategies.schedules.split import DROPPED
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

CHOSEN = ExponentialEvent(epsilon=Fraction(1, 2))
MEASURED = DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(4))


def sums(*rows, name="strategy(v)"):
    matrix = Dense(np.array(rows, dtype=np.int64))
    return (QueryBlock(name=name, factors=(Factor(axes=(0,), sizes=(matrix.cells,), matrix=matrix),)),)


STRATEGY, OTHER = sums((2, 0), (0, 1), (0, 1)), sums((2, 0), (0, 1), (0, -1))


def begun(file, told, ledger=None):
    """The journal of a new run. ledger: that pays, where it is not the one that is told of draws."""
    return begin_journal(file, told, "survey", lambda key, claim: reserve(ledger or told, 1, key=key, claim=claim))


@pytest.fixture
def continued(tmp_path):
    """The journal of a run that chose and measured before its job died."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    with open_transcript(tmp_path / ".out.transcript") as file:
        journal = begun(file, ledger)
        journal.same_table("mark")
        for event, blocks, value in ((CHOSEN, (), 3), (MEASURED, STRATEGY, [[7, 8, 9]])):
            journal.begin(event, blocks)
            journal.record(value)
    with open_transcript(tmp_path / ".out.transcript") as file:
        yield continue_journal(file, ledger, run_of(file, ledger))


def test_what_wconsistent_with_draws_is_read_again_whatever_its_blocks_are_called(continued):
    assert continued.past(CHOSEN, ()) == RecordedDraw(value=3)
    assert continued.past(MEASURED, sums((2, 0), (0, 1), (0, 1), name="another name")) == RecordedDraw(
        value=[[7, 8, 9]]
    )
    assert continued.past(MEASURED, STRATEGY) is None


def test_answers_to_other_sums_of_the_same_price_are_not_taken(continued):
    with pytest.raises(UsageFault, match="draw 0 was another one"):
        continued.past(MEASURED, STRATEGY)
    continued.past(CHOSEN, ())
    with pytest.raises(UsageFault, match="draw 1 measured other sums of cells"):
        continued.past(MEASURED, OTHER)
    assert continued.past(MEASURED, STRATEGY) == RecordedDraw(value=[[7, 8, 9]])


class Watched:
    """A ledger that writes down what it is told, and what the file holds at that moment."""

    identity = "a seal"

    def __init__(self, path):
        self.path, self.told = path, []

    def begin(self, paid, event, *, number, transcript):
        self.told.append(("begin", event, number, transcript, self.path.read_text()))

    def record(self, paid, *, number, transcript):
        self.told.append(("record", number, transcript, self.path.read_text()))


def test_the_ledger_learns_of_a_draw_before_it_is_made_and_after_it_lies_in_the_file(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    path = tmp_path / ".out.transcript"
    with open_transcript(path) as file:
        journal = begun(file, Watched(path), ledger)
        assert not journal.begun
        for number, (event, blocks, value) in enumerate(((CHOSEN, (), 3), (MEASURED, STRATEGY, [[7]]))):
            before, digest = path.read_text(), file.digest
            journal.begin(event, blocks)
            assert journal.begun
            assert journal.ledger.told.pop() == ("begin", event, number, digest, before)
            journal.record(value)
            assert journal.ledger.told == [("record", number, file.digest, path.read_text())]
            assert journal.ledger.told.pop() != ("record", number, digest, before)
            assert (file.document(-1)["draw"], file.document(-1)["value"]) == (number, value)


@pytest.fixture
def kept(tmp_path):
    """A ledger, and the place of a run's transcript."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    return ledger, tmp_path / ".out.transcript"


@pytest.fixture
def died(kept):
    """A ledger and the transcript of a run that recorded one draw, began another, and died."""
    ledger, path = kept
    with open_transcript(path) as file:
        journal = begun(file, ledger)
        journal.same_table("mark")
        journal.begin(CHOSEN, ())
        journal.record(3)
        journal.begin(MEASURED, STRATEGY)
    return ledger, path


def continued_from(died):
    ledger, path = died
    with open_transcript(path) as file:
        return continue_journal(file, ledger, run_of(file, ledger)), list(file.lines)


def test_a_draw_that_was_begun_and_not_recorded_is_lost_and_never_made_again(died):
    journal, lines = continued_from(died)
    assert (journal.begun, journal.known, journal.lost) == (True, 2, False)
    assert journal.past(CHOSEN, ()) == RecordedDraw(value=3)
    assert not journal.lost
    assert journal.past(MEASURED, STRATEGY) == RecordedDraw(value=None)
    assert journal.lost
    assert len(lines) == 4
    with open_transcript(died[1]) as file:
        assert run_of(file, died[0]).recorded == 2


@pytest.fixture
def written(tmp_path, monkeypatch):
    """As `died`, but the second draw lies in the file: its job died before the ledger learned of it."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    path = tmp_path / ".out.transcript"
    with open_transcript(path) as file, monkeypatch.context() as patched:
        journal = begun(file, ledger)
        journal.same_table("mark")
        journal.begin(CHOSEN, ())
        journal.record(3)
        journal.begin(MEASURED, STRATEGY)
        patched.setattr(type(ledger), "record", lambda *_, **__: None)
        journal.record([[7, 8, 9]])
    return ledger, path


def test_a_draw_whose_line_lies_in_the_file_is_found_again(written):
    journal, lines = continued_from(written)
    assert (journal.known, len(lines)) == (2, 4)
    assert journal.past(CHOSEN, ()) == RecordedDraw(value=3)
    assert journal.past(MEASURED, STRATEGY) == RecordedDraw(value=[[7, 8, 9]])
    assert not journal.lost
    again, _ = continued_from(written)
    assert again.known == 2
    with open_transcript(written[1]) as file:
        found = run_of(file, written[0])
        assert (found.recorded, found.lost, found.transcript) == (2, None, file.digest)


@pytest.mark.parametrize(
    "change",
    [
        lambda line, _: line.replace("[7,8,9]", "[7,8,8]"),
        lambda line, _: line.replace('"draw":1', '"draw":2'),
        lambda line, other: json.dumps(json.loads(line) | {"seal": json.loads(other)["seal"]}),
        lambda line, _: json.dumps({key: value for key, value in json.loads(line).items() if key != "seal"}),
        lambda line, other: other,
        lambda *_: "[]",
        lambda *_: "{",
        lambda line, _: json.dumps(json.loads(line) | {"seal": 7}),
        lambda line, _: json.dumps(json.loads(line) | {"seal": "\u00e4"}),
        lambda line, _: json.dumps(json.loads(line) | {"seal": "\ud800"}),
        lambda line, _: line.replace('"draw":1', '"draw":1,"more":NaN'),
    ],
)
def test_a_line_that_its_job_did_not_write_there_is_lost(written, change):
    _, path = written
    *before, other, line = path.read_text().splitlines()
    path.write_text("\n".join([*before, other, change(line, other), ""]))
    journal, lines = continued_from(written)
    assert (journal.known, len(lines)) == (2, 4)
    journal.past(CHOSEN, ())
    assert journal.past(MEASURED, STRATEGY) == RecordedDraw(value=None)


def test_a_line_that_the_ledger_does_not_know_is_not_taken(died):
    """Its draw was begun; whether the line that stands there is its value, nobody can tell."""
    _, path = died
    line = path.read_text().splitlines()[-1].replace('"draw":0', '"draw":1').replace('"value":3', '"value":4')
    with path.open("a") as opened:
        opened.write(f"{line}\n")
    journal, lines = continued_from(died)
    assert '"value":4' not in "".join(lines)
    journal.past(CHOSEN, ())
    assert journal.past(MEASURED, STRATEGY) == RecordedDraw(value=None)


@pytest.mark.parametrize("change", ["shorten", "edit", "swap"])
def test_only_the_newest_transcript_is_continued(died, change):
    _, path = died
    lines = path.read_text().splitlines()
    changed = {
        "shorten": lines[:-1],
        "edit": [*lines[:-1], lines[-1].replace('"value":3', '"value":4')],
        "swap": [lines[0], lines[2], lines[1]],
    }[change]
    path.write_text("".join(f"{line}\n" for line in changed))
    with pytest.raises(LedgerError, match="shortened, edited or copied"):
        continued_from(died)


def test_a_run_that_began_no_draw_keeps_none(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    with open_transcript(tmp_path / ".out.transcript") as file:
        begun(file, ledger).same_table("mark")
        file.append({"draw": 0, "event": None, "value": 3})
        journal = continue_journal(file, ledger, run_of(file, ledger))
        assert (len(file.lines), journal.known, journal.begun) == (2, 0, False)
        assert journal.past(CHOSEN, ()) is None


def test_a_table_is_marked_once_and_no_other_is_taken(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    with open_transcript(tmp_path / ".out.transcript") as file:
        journal = begun(file, ledger)
        assert journal.same_table("mark")
        marked = list(file.lines)
        assert [journal.same_table(mark) for mark in ("mark", "other", "", None)] == [True, False, False, False]
        assert file.lines == marked
    with open_transcript(tmp_path / ".other.transcript") as file:
        journal = begun(file, ledger)
        found = [journal.same_table(mark) for mark in (None, None, "mark")]
        assert found == [True, False, False], "a table without a mark is not known again"


def test_marks_of_a_run_do_not_tell_whether_two_tables_are_the_same(tmp_path):
    """Before the first draw the line can be taken out of the file, and another table be marked under the same key: who
    compared the two lines could try guesses of a whole table, as many as pleased, none of which closed the run."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    with open_transcript(tmp_path / ".out.transcript") as file:
        journal = begun(file, ledger)
        marked = set()
        for _ in range(2):
            file.cut(1)
            assert journal.same_table("mark")
            assert [journal.same_table(mark) for mark in ("mark", "other")] == [True, False]
            marked.add(file.document(1)["table"])
        assert len(marked | {"mark"}) == 3


def test_a_run_that_an_earlier_version_began_is_known_by_its_plain_mark(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    paid = reserve(ledger, 1)
    with open_transcript(tmp_path / ".out.transcript") as file:
        file.append({"dpqr": NAMED, "dataset": "survey", "entry": paid.number, "receipt": paid.receipt})
        file.append({"table": "mark"})
        journal = continue_journal(file, ledger, run_of(file, ledger))
        assert [journal.same_table(mark) for mark in ("mark", "other", None)] == [True, False, False]


def test_a_draw_that_stands_in_anothers_place_is_damage(continued):
    continued.known, continued.number = 2, 0
    lines = continued.file.lines
    lines[2], lines[3] = lines[3], lines[2]
    with pytest.raises(LedgerError, match="draw 0 stands elsewhere"):
        continued.past(MEASURED, STRATEGY)


@pytest.fixture
def claimed(kept):
    """A ledger and the transcript of a run that was killed as soon as it was paid."""
    ledger, path = kept
    with open_transcript(path) as file:
        begun(file, ledger)
    return kept


def test_a_run_that_is_paid_is_found_by_its_claim_alone(claimed):
    ledger, path = claimed
    (line,) = path.read_text().splitlines()
    assert json.loads(line).keys() == {"dpqr", "ledger", "dataset", "claim"}
    assert ledger.key(reserve(ledger, 1)).hex() not in line
    journal, _ = continued_from(claimed)
    assert (journal.paid.number, journal.begun) == (2, False)
    with open_transcript(path) as file:
        journal.file = file
        assert journal.same_table("mark")
        assert file.document(1)["receipt"] == journal.paid.receipt == run_of(file, ledger).reservation.receipt


@in_one_test("forged", [{"claim": "0" * 64}, {"claim": ""}, {"dataset": "other"}, {"dataset": "none"}])
def test_no_other_claim_finds_it(tmp_path, forged):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    ledger.open(terms("other"))
    with open_transcript(tmp_path / ".out.transcript") as file:
        begun(file, ledger)
        header = file.document(0)
        file.cut(0)
        file.append(header | forged)
        assert run_of(file, ledger) is None


def test_a_copied_claim_finds_the_same_run_and_draws_nothing_twice(claimed):
    ledger, path = claimed
    copy = path.with_name(".copy.transcript")
    copy.write_text(path.read_text())
    journals = []
    with open_transcript(path) as file, open_transcript(copy) as other:
        for each in (file, other):
            journals.append(continue_journal(each, ledger, run_of(each, ledger)))
            assert journals[-1].same_table("mark")
        journals[0].begin(CHOSEN, ())
        with pytest.raises(LedgerError, match="has come to another place"):
            journals[1].begin(CHOSEN, ())
        journals[0].record(3)
        for event in (CHOSEN, MEASURED):
            with pytest.raises(LedgerError, match="has come to another place"):
                journals[1].begin(event, ())
    assert ledger.account("survey").reservations == 1


@pytest.mark.parametrize("paid", [True, False])
def test_a_settled_run_is_found_by_no_claim_and_neither_is_one_that_was_never_paid(tmp_path, paid):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    with open_transcript(tmp_path / ".out.transcript") as file:
        if paid:
            ledger.settle(begun(file, ledger).paid, (), note="a test")
        else:
            with pytest.raises(LedgerError, match="gone"):
                begin_journal(file, ledger, "survey", failing(LedgerError("gone"), claims=True))
        assert len(file.lines) == 1
        assert run_of(file, ledger) is None


def failing(error, *, claims=False):
    def pay(_, claim):
        if claims:
            claim()
        raise error

    return pay


@pytest.mark.parametrize("error", [BudgetRefused("no"), UsageFault("no")], ids=["budget", "usage"])
def test_a_run_that_is_refused_claims_nothing(tmp_path, error):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    with open_transcript(tmp_path / ".out.transcript") as file, pytest.raises(type(error)):
        begin_journal(file, ledger, "survey", failing(error))
    assert list(tmp_path.glob(".*")) == []


@in_one_test(
    "header",
    [
        {},
        {"dpqr": "transcript/0"},
        *({"dpqr": form, **wrong} for form in (NAMED, FORMAT) for wrong in ({"dataset": 1}, {"receipt": None})),
        {"dpqr": FORMAT, "receipt": None, "claim": 1},
    ],
)
def test_another_file_is_no_transcript(tmp_path, header):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    paid = reserve(ledger, 1)
    with open_transcript(tmp_path / ".out.transcript") as file:
        file.append({"dataset": paid.dataset, "entry": paid.number, "receipt": paid.receipt, **header})
        with pytest.raises(LedgerError, match="no transcript of dpqr"):
            run_of(file, ledger)


# The draws of a record in the order in which a run asks for them.


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
        "person_tables": None,
        "events": ({"count": 6},),
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
    journal = record(dropped=None, errors=None, transcript=lost, events=({"count": 5},))
    assert asked(journal, (DROPPED,), (ONE,), (), (TWO,), (ONE,)) == [None, None, 1, None, None]
    journal.finish()


def test_a_sum_of_errors_is_one_integer_and_what_was_not_paid_is_no_draw():
    rounds = (drawn(None, (1,), (9,)), drawn(None, (2,), None, error_sum=640), drawn(None, (), None))
    journal = record(dropped=None, errors=None, transcript=rounds, events=({"count": 2},))
    assert asked(journal, (ONE,), ()) == [[[9]], 640]
    journal.finish()


@in_one_test("draws", [((TWO,),), ((),), ((ONE,), (TWO,)), ((ONE,), (), (ONE,))])
def test_another_draw_than_the_record_holds(draws):
    with pytest.raises(GoalMissed, match="is not what the plan draws there"):
        asked(record(), *draws)


def test_a_record_that_ends_too_early_or_goes_on():
    journal = record(errors=None, events=({"count": 3},))
    asked(journal, (ONE,), (), (TWO,))
    with pytest.raises(GoalMissed, match="the record ends after draw 3, and the plan goes on"):
        asked(journal, (ONE,))
    journal = record()
    asked(journal, (ONE,))
    with pytest.raises(GoalMissed, match="the plan ends after draw 1, and the record goes on"):
        journal.finish()
    for draw in (lambda: record().begin(EVENT, ()), lambda: record().record(1)):
        with pytest.raises(AssertionError, match="draws nothing"):
            draw()
