"""A release that a ledger pays for: order, refunds, and what a kill at each stage leaves to be continued."""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import slow_but, thinned
from support.command_desk import DOMAIN, TABLE
from support.concurrent_releases import MEMORY
from support.ledger_jobs import ledger_in
from support.paid_releases import (
    QUERIES,
    begun,
    continue_all,
    document,
    killed_at,
    lay,
    payer,
    price,
    published,
    request,
    run,
    transcript,
    unsound,
)
from support.process_races import run_module

from dpqr.kernel.budget import Cost, Pricing, upward_text
from dpqr.kernel.currency import SumCurrency
from dpqr.kernel.errors import RESUMABLE, STAYS_SPENT, AlreadyThere, BudgetRefused, DataError, LedgerError, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.ledger import DataKind
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import verify
from dpqr.releases import fingerprints
from dpqr.releases import paying as module
from dpqr.releases import release as release_module
from dpqr.releases.files import atomic
from dpqr.releases.journal import TranscriptFile
from dpqr.releases.loop import SILENT
from dpqr.releases.paying import ledger_request
from dpqr.releases.receipt import receipt
from dpqr.releases.requests import OutputRequest, ReleaseRequest
from dpqr.tables.engines.known import source_at
from dpqr.tables.limits import Limits
from dpqr.tables.policy import Policy, PolicyChange
from dpqr.tables.source import TableSource

REST = "the rest is back in the budget, and the guarantee stays that of the whole plan"
NAMED = ("basic", "advanced", "optimal", "zcdp", "pld")


@pytest.fixture
def place(tmp_path):
    lay(tmp_path)
    return tmp_path


def account(place):
    return ledger_in(place).account("survey")


def kinds(place):
    return [entry.kind for entry in ledger_in(place).entries()][2:]


def lines(place):
    return transcript(place).read_text().splitlines()


def drawn(place):
    """What the transcript says that was drawn."""
    return [json.loads(line) for line in lines(place)[2:]]


def test_a_release_is_reserved_drawn_and_settled(place):
    """Without a directory nothing is kept of its draws, and all is paid."""
    made = run(place)
    draws = sum(count for _, count in made.plan.events)
    assert kinds(place) == ["reserve", *["draw", "record"] * draws, "settle"]
    entry = ledger_in(place).entries()[2]
    assert document(place)["ledger"] == {"dataset": "survey", "entry": 2, "seal": entry.hash}
    assert [text for _, text in receipt(made) if "(charged)" in text]
    assert not [text for _, text in receipt(made) if "reserved" in text], "nothing comes back, so nothing is said of it"
    assert account(place).spent == Fraction(1)
    run(place, out=None)
    assert kinds(place)[-2:] == ["reserve", "settle"]
    assert account(place).spent == 2
    assert not transcript(place).exists()
    assert unsound(place) is None


@pytest.mark.parametrize(
    ("budget", "asked"),
    slow_but(
        {0, 7},
        [
            ({"epsilon": "5"}, {"epsilon": "1"}),
            ({"epsilon": "5", "delta": "1e-6", "accountant": "zcdp"}, {"epsilon": "1"}),
            ({"epsilon": "5", "delta": "1e-6", "accountant": "zcdp"}, {"epsilon": "1", "delta": "1e-9"}),
            (
                {"epsilon": "5", "delta": "1e-6", "accountant": "zcdp"},
                {"epsilon": "1", "delta": "1e-9", "accountant": "gdp"},
            ),
            ({"epsilon": "5", "delta": "1e-6", "accountant": "gdp"}, {"epsilon": "1", "delta": "1e-9"}),
            ({"epsilon": "90"}, {"epsilon": "1", "delta": "1e-9", "accountant": "optimal"}),
            ({"epsilon": "90"}, {"epsilon": "1", "delta": "1e-9", "accountant": "advanced", "count_dropped": None}),
            ({"epsilon": "5"}, {"epsilon": "1", "count_dropped": "0.1"}),
            ({"epsilon": "5"}, {"epsilon": "1", "distinguisher": "exponential", "rounds": 1}),
            *(
                ({"epsilon": "5", "delta": "1e-6"}, {"epsilon": "1", "delta": "1e-9", "accountant": name})
                for name in NAMED
            ),
        ],
    ),
    ids=str,
)
def test_every_accountant_of_a_plan_is_paid_in_the_ledgers_currency(tmp_path, budget, asked):
    ledger = lay(tmp_path, **budget)
    made = run(tmp_path, **asked)
    money, spent = ledger.account("survey").terms.currency, ledger.account("survey").spent
    pricing = Pricing(accountant=made.plan.roles.accountant.name, delta=made.plan.budget.delta)
    assert money.price(made.plan.events, pricing) >= spent
    assert spent.amount > 0
    assert unsound(tmp_path) is None


def test_what_does_not_fit_is_refused_with_the_largest_that_does_and_so_is_another_unit(place):
    with pytest.raises(BudgetRefused, match="asked epsilon 6, spent 0 of 5, left 5") as refused:
        run(place, epsilon="6")
    assert "the largest request that fits is epsilon 5, as in --eps 5" in str(refused.value)
    with pytest.raises(BudgetRefused, match="--neighbours add-remove"):
        run(place, neighbours="replace", n=5)
    assert kinds(place) == []
    assert {path.name for path in place.iterdir()} == {"table.csv", "q.json", "ledger.sqlite", "outside.anchor"}


@pytest.mark.parametrize("kind", thinned(["public", "synthetic"], 2))
def test_public_data_has_a_budget_too(tmp_path, kind):
    lay(tmp_path, kind=DataKind(kind))
    run(tmp_path)
    assert account(tmp_path).spent == 1


def notes(error):
    return getattr(error.value, "__notes__", [])


def test_what_no_row_can_change_is_refused_before_anything_is_reserved(place):
    for table in ("missing.csv", "q.json"):
        with pytest.raises(DataError) as ended:
            run(place, table=table)
        assert notes(ended) == []
    assert kinds(place) == []
    assert not transcript(place).exists()


def test_an_ending_before_the_first_look_at_rows_is_settled_at_zero_and_stays_in_the_history(place, monkeypatch):
    def failed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(release_module, "_open_table", failed)
    with pytest.raises(KeyboardInterrupt) as ended:
        run(place)
    *_, reserved, settled = ledger_in(place).entries()
    assert (reserved.kind, settled.kind, settled.cost) == ("reserve", "settle", 0)
    assert settled.note == "ended by KeyboardInterrupt before rows were read"
    assert (account(place).spent, notes(ended)) == (0, [])
    assert not transcript(place).exists()


BROKEN = {
    "records": ({"records": 4}, {}, TABLE),
    "bytes": ({"bytes": len(TABLE) - 1}, {}, TABLE),
    "malformed": ({"fail": True}, {"malformed": "fail"}, TABLE + "F\n"),
}


@pytest.mark.parametrize("out", ["out", None])
@pytest.mark.parametrize("case", thinned(BROKEN.values(), 2), ids=BROKEN)
def test_a_table_that_breaks_its_contract_is_paid_for_in_full(tmp_path, case, out):
    """Whether it does is a function of rows: a refusal for nothing would let a requester ask until n is known."""
    policy, domain, table = case
    lay(tmp_path, policy=Policy(**policy))
    (tmp_path / "q.json").write_text(json.dumps({**QUERIES, "domain": {**DOMAIN, **domain}}))
    (tmp_path / "table.csv").write_text(table)
    with pytest.raises(DataError) as ended:
        run(tmp_path, out=out)
    assert notes(ended) == [STAYS_SPENT]
    assert (account(tmp_path).spent, account(tmp_path).unsettled) == (1, 0)
    assert ledger_in(tmp_path).entries()[-1].note == "ended by DataError after rows were read"
    assert not transcript(tmp_path).exists()


@pytest.mark.parametrize("limits", [{"records": 4}, {"records": 6}, {"bytes": 10}, {"memory": 2**29}], ids=str)
def test_a_limit_that_the_owner_has_not_stated_is_refused_before_the_table_is_opened(place, monkeypatch, limits):
    monkeypatch.setattr(release_module, "check_table", None)
    for asked in ({"limits": Limits(**limits)}, {"counts": "visits"}):
        with pytest.raises(BudgetRefused, match="the owner of the budget fixed"):
            run(place, **asked)
    assert kinds(place) == []


@pytest.mark.slow
def test_the_policys_limits_hold_for_a_request_that_states_none_and_are_named(tmp_path):
    lay(tmp_path, policy=Policy(records=5))
    for limits in (Limits(), Limits(records=5)):
        made = run(tmp_path, limits=limits, out=f"out{limits.records}")
        (bit,) = (note for note in made.trust if "one bit" in note)
        assert "more than 5 records (--max-records)" in bit


def test_a_rest_below_the_last_digit_is_not_spoken_of(place, monkeypatch):
    """The record does not say that what was set aside came back, where it names the same figure for both."""
    kept, seen = SumCurrency.settled, []

    def hair_less(self, *paid):
        cost = kept(self, *paid)
        seen.append(replace(cost, amount=cost.amount * (1 - Fraction(1, 10**12))))
        return seen[-1]

    monkeypatch.setattr(SumCurrency, "settled", hair_less)
    made = run(place)
    assert account(place).spent == seen[-1].amount < 1
    assert not any(REST in text or "reserved" in text for _, text in receipt(made))
    assert "charged" not in document(place)["ledger"]
    assert verify(VerifyRequest(release=str(place / "out"), ledger=str(ledger_in(place).store.path))).code == 0


def test_a_job_that_ends_while_rows_are_read_stays_paid_and_can_be_continued(place, monkeypatch):
    """No draw was made. One that is continued has looked at rows before, and is never settled at zero."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for owner, name, resume in ((release_module, "load_table", False), (module.PaidRun, "look", True)):
        with monkeypatch.context() as broken:
            broken.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt) as ended:
                run(place, resume=resume)
        assert notes(ended) == [RESUMABLE]
        assert (account(place).spent, account(place).unsettled) == (1, 1)
    run(place, resume=True)
    assert (account(place).spent, account(place).unsettled) == (1, 0)
    assert account(place).reservations == 1


def test_another_table_is_refused_before_the_first_draw_too(place, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(release_module, "load_table", None)
        with pytest.raises(TypeError):
            run(place)
    (place / "table.csv").write_text(TABLE + "F,1,2,3\n")
    with pytest.raises(DataError, match="not the one that the release began with"):
        run(place, resume=True)
    assert (account(place).spent, account(place).unsettled) == (1, 0)


@pytest.mark.slow
def test_a_continued_release_keeps_the_rows_of_each_person(tmp_path, monkeypatch):
    """Each of 200 persons has a row for either label and keeps one of them."""
    lay(tmp_path, unit=PrivacyUnit(columns=("who",), rows=1))
    rows = "".join(f"{sex},{who % 100},{who},{who}\n" for who in range(200) for sex in "FM")
    (tmp_path / "table.csv").write_text(f"sex,age,income,who\n{rows}")
    seen, load = [], release_module.load_table

    def watched(*given, **more):
        table = load(*given, **more)
        seen.append(table.counts._unseal(SealKey()).marginal((0, 1, 2)).tolist())
        return table

    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(release_module, "load_table", watched)
    with monkeypatch.context() as broken:
        broken.setattr(release_module, "iterative_construction", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, unit="who", max_rows=1)
    run(tmp_path, unit="who", max_rows=1, resume=True)
    assert seen[0] == seen[1]


def test_an_error_after_the_first_draw_stays_paid_and_can_be_continued(place, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(release_module, "write_release", interrupted)
        with pytest.raises(KeyboardInterrupt) as ended:
            run(place)
    assert ended.value.__notes__ == [RESUMABLE]
    before = [each["value"] for each in drawn(place)]
    assert (account(place).spent, account(place).unsettled) == (1, 1)
    run(place, resume=True)
    assert published(place) == before
    assert (account(place).spent, account(place).unsettled) == (1, 0)


@pytest.mark.parametrize(("step", "table", "out"), [("write_release", "-", "out"), ("assemble", "table.csv", None)])
def test_an_error_after_the_first_draw_of_a_run_that_cannot_be_continued_is_settled_in_full(
    place, monkeypatch, step, table, out
):
    """On standard input, and without a directory that its transcript could lie beside."""

    def failed(*_, **__):
        raise UsageFault("no")

    monkeypatch.setattr(release_module, step, failed)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((place / "table.csv").read_bytes())))
    with pytest.raises(UsageFault) as ended:
        run(place, table=table, out=out)
    assert notes(ended) == [STAYS_SPENT]
    assert (account(place).spent, account(place).unsettled) == (1, 0)
    assert not transcript(place).exists()


@pytest.mark.slow
def test_an_early_stop_gives_back_what_was_not_charged(tmp_path):
    """A table of 10^6 records at a generous budget: the uniform start answers the query, and the first check stops."""
    lay(tmp_path, epsilon="100")
    parquet.write_table(pa.table({"sex": np.repeat(["F", "M"], 500_000)}), tmp_path / "big.parquet")
    fields = [{"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}}]
    (tmp_path / "q.json").write_text(
        json.dumps({"dpqr": "queries/1", "domain": {"fields": fields}, "queries": [{"where": "sex = 'F'"}]})
    )
    asked = ReleaseRequest(
        source=TableSource(paths=(str(tmp_path / "big.parquet"),)),
        plan=request(tmp_path, epsilon="50", schedule="theory", variant="sharp", rounds=None, n=10**6),
        output=OutputRequest(directory=str(tmp_path / "out")),
        payer=payer(tmp_path),
    )
    made = release_module.release(asked, SILENT)
    assert made.transcript.stopped
    assert len(made.transcript.rounds) < made.plan.rounds
    entries = ledger_in(tmp_path).entries()
    (events,) = begun(entries).values()
    assert ledger_in(tmp_path).account("survey").spent == price(entries, events)
    assert price(entries, events).amount < 50
    record = document(tmp_path)
    assert record["guarantee"].startswith("Differentially private with epsilon = 50 ")
    kept = account(tmp_path).terms.currency.words(price(entries, events), upward_text)
    assert record["ledger"]["charged"] == kept == made.charged
    told = {text: name for name, text in record["receipt"]}
    assert told[f"{kept}, for the draws that were made; {REST}"] == "Charged"
    assert any(text.startswith("basic: eps 50 (reserved) [") for text in told)
    assert not any("(charged)" in text for text in told)
    checked = verify(VerifyRequest(release=str(tmp_path / "out"), ledger=str(ledger_in(tmp_path).store.path)))
    assert checked.code == 0


STAGES = [
    *((ChainedLedger, "begin", count, after) for count in (1, 2, 5) for after in (False, True)),
    *((ChainedLedger, "record", count, after) for count in (1, 4, 7) for after in (False, True)),
    *((TranscriptFile, "append", count, after) for count in (2, 3, 6) for after in (False, True)),
    (ChainedLedger, "reserve", 1, True),
    (module, "table_mark", 1, True),
    (release_module, "load_table", 1, False),
    (release_module, "assemble", 1, False),
    (release_module, "write_release", 1, True),
    (ChainedLedger, "settle", 1, False),
]


def named(stage):
    _, name, count, after = stage
    return f"{'after' if after else 'before'} {name} {count}"


PAIRS = {"epsilon": "5", "delta": "1e-6"}
"""A budget in epsilon and delta."""
ZCDP = {"delta": "1e-7", "accountant": "zcdp"}


@pytest.mark.parametrize(("budget", "asked"), slow_but({0}, [({}, {}), (PAIRS, ZCDP)]), ids=["epsilon", "pairs"])
@pytest.mark.parametrize("stage", thinned(STAGES, 8), ids=named)
def test_a_killed_release_is_continued_and_no_draw_is_paid_twice(tmp_path, stage, budget, asked):
    place = tmp_path
    lay(place, **budget)
    assert killed_at(place, stage, **asked) == 9
    paid = ledger_in(place).entries()[2].cost
    assert account(place).spent == paid <= Cost(Fraction(1), Fraction(asked.get("delta", 0)))
    assert unsound(place) is None
    before = drawn(place)
    made = run(place, resume=True, **asked)
    planned = sum(count for _, count in made.plan.events)
    entries = ledger_in(place).entries()
    (events,) = begun(entries).values()
    assert published(place)[: len(before)] == [each["value"] for each in before]
    assert len(events) <= planned
    assert account(place).spent == paid >= price(entries, events)
    assert account(place).reservations == 1
    _, step, count, after = stage
    assert made.transcript.lost == (step == "begin" and after) + (step == "append" and count > 2 and not after)
    assert (len(events) == planned) or made.transcript.lost
    assert made.charged == "", "a lost draw is no function of the transcript, so nothing comes back"
    assert unsound(place) is None
    assert not transcript(place).exists()


@pytest.mark.parametrize(
    "moment", [(TranscriptFile, "append", 1, True), (ChainedLedger, "reserve", 1, False)], ids=named
)
def test_a_release_that_was_killed_before_it_was_paid_is_paid_once(place, moment):
    """--resume pays for nothing: of a release that it finds no more it says so."""
    assert killed_at(place, moment) == 9
    assert len(lines(place)) == (moment[1] == "append")
    with pytest.raises(UsageFault, match="no killed release waits there; leave --resume out"):
        run(place, resume=True)
    assert kinds(place) == []
    run(place)
    assert (account(place).spent, account(place).reservations) == (1, 1)
    assert unsound(place) is None


@pytest.mark.parametrize("made", [True, False])
def test_a_connection_that_breaks_while_it_is_paid_costs_no_price_twice(place, monkeypatch, made):
    """Whether the reservation was made is not known to its job, and is to the next one."""
    reserve = ChainedLedger.reserve

    def breaking(*given, **more):
        if made:
            reserve(*given, **more)
        raise LedgerError("the connection is gone")

    with monkeypatch.context() as broken:
        broken.setattr(ChainedLedger, "reserve", breaking)
        with pytest.raises(LedgerError, match="is gone"):
            run(place)
    with pytest.raises(UsageFault, match="--resume continues it" if made else "no killed release waits there"):
        run(place, resume=not made)
    run(place, resume=made)
    assert (account(place).spent, account(place).reservations) == (1, 1)
    assert not transcript(place).exists()


def test_what_a_killed_release_has_half_written_is_removed_by_the_run_that_continues_it(place):
    assert killed_at(place, (atomic, "_finish", 1, True)) == 9
    assert len([*place.glob(".out.*.draft")]) == 1
    run(place, resume=True)
    assert not [*place.glob(".*")]


def test_a_claim_is_kept_where_another_ledger_is_named_by_mistake(place, tmp_path_factory):
    assert killed_at(place, (ChainedLedger, "reserve", 1, True)) == 9
    before, other = transcript(place).read_text(), tmp_path_factory.mktemp("other")
    lay(other)
    for resume in (True, False):
        transcript(other).write_text(before)
        with pytest.raises(LedgerError, match="was to be paid from another ledger"):
            run(other, resume=resume)
        assert transcript(other).read_text() == before
    assert kinds(other) == []


def test_a_transcript_that_was_cut_to_its_claim_before_the_first_draw_is_continued(place):
    assert killed_at(place, (ChainedLedger, "begin", 1, False)) == 9
    rewritten(transcript(place), lambda found: found[:1])
    run(place, resume=True)
    assert (account(place).spent, account(place).reservations) == (1, 1)


STAGED = {"schedule": "theory", "rounds": None, "n": 20_000, "no_count_dropped": True}
"""A loop in stages, of a declared number of records."""


@pytest.mark.slow
def test_a_killed_run_in_stages_goes_on_from_its_certificates(place):
    assert killed_at(place, (ChainedLedger, "begin", 9, True), **STAGED) == 9
    before = [each["value"] for each in drawn(place)]
    made = run(place, resume=True, **STAGED)
    entries = ledger_in(place).entries()
    (events,) = begun(entries).values()
    assert published(place)[:8] == before[:8]
    assert made.transcript.lost == 1
    assert made.certificate.records == min(made.transcript.bounds)
    assert len(made.transcript.bounds) > 1
    assert price(entries, events).amount <= 1
    assert unsound(place) is None


@pytest.mark.slow
def test_a_run_may_be_killed_again_and_again(place):
    for count in (2, 1, 2):
        assert killed_at(place, (ChainedLedger, "begin", count, True), resume=transcript(place).exists()) == 9
    made = run(place, resume=True)
    assert made.transcript.lost >= 2
    assert len(document(place)["transcript"]) == len(made.transcript.rounds)
    assert any("lost a draw" in sentence for sentence in made.trust)
    assert account(place).spent == 1
    assert unsound(place) is None


def test_a_run_in_epsilon_and_delta_is_paid_in_full_wherever_it_ends(tmp_path):
    """What zcdp proves of a run is no statement of single draws: a lost draw, or an early end, gives nothing back."""
    lay(tmp_path, **PAIRS)
    assert killed_at(tmp_path, (ChainedLedger, "begin", 3, True), **ZCDP) == 9
    run(tmp_path, resume=True, **ZCDP)
    paid, settled = (ledger_in(tmp_path).entries()[number].cost for number in (2, -1))
    assert settled == paid == account(tmp_path).spent
    assert paid.delta == Fraction("1e-7")
    ledger_in(tmp_path).verify()


@pytest.mark.slow
def test_what_does_not_fit_in_delta_is_refused_with_both_figures(tmp_path):
    lay(tmp_path, **PAIRS)
    run(tmp_path, **ZCDP)
    with pytest.raises(BudgetRefused, match=r"asked \(epsilon 1, delta 9.5e-7\), spent \(1, 1e-7\) of") as refused:
        run(tmp_path, out="more", delta="9.5e-7", accountant="zcdp")
    options = str(refused.value).rpartition("as in ")[2].split()
    run(tmp_path, out="more", epsilon=options[1], delta=options[3], accountant="zcdp")


def test_a_kill_between_publishing_and_settling_leaves_only_the_settlement(place):
    assert killed_at(place, (ChainedLedger, "settle", 1, False)) == 9
    before = document(place)
    run(place, resume=True)
    assert document(place)["transcript"] == before["transcript"]
    assert account(place).unsettled == 0


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_a_kill_after_settling_leaves_nothing_to_continue(place, kept):
    """Where its files are gone too, its transcript gives way to a new release."""
    assert killed_at(place, (ChainedLedger, "settle", 1, True)) == 9
    if not kept:
        shutil.rmtree(place / "out")
    with pytest.raises(UsageFault, match=f"was finished, and is in {place / 'out'}" if kept else "that run is settled"):
        run(place, resume=True)
    assert transcript(place).exists() != kept
    assert (account(place).spent, account(place).reservations) == (1, 1)
    run(place, out="out" if not kept else "more")
    assert account(place).spent == 2


def test_what_is_cut_of_a_finished_release_is_named_by_resume(place):
    assert killed_at(place, (ChainedLedger, "settle", 1, True)) == 9
    rewritten(transcript(place), lambda found: found[:1])
    with pytest.raises(AlreadyThere, match=r"--resume: .*/out is not known to be the release of .* been cut"):
        run(place, resume=True)
    transcript(place).unlink()
    with pytest.raises(AlreadyThere, match="out is there, and no killed release waits; leave --resume out"):
        run(place, resume=True)
    assert (account(place).spent, account(place).reservations) == (1, 1)


@pytest.mark.parametrize("if_exists", ["fail", "skip", "replace"])
def test_the_root_is_no_place_for_a_release(place, if_exists):
    asked = ReleaseRequest(
        source=TableSource(paths=(str(place / "table.csv"),)),
        plan=request(place),
        output=OutputRequest(directory="/", if_exists=if_exists),
        payer=payer(place, resume=True),
    )
    for door in (release_module.already_released, lambda asked: release_module.release(asked, SILENT)):
        with contextlib.suppress(UsageFault, DataError):
            assert door(asked) is False
    assert kinds(place) == []


@pytest.fixture
def waiting(place):
    """A release that was killed with five draws recorded."""
    assert killed_at(place, (ChainedLedger, "begin", 6, False)) == 9
    assert len(drawn(place)) == 5
    return place


def test_a_killed_release_is_not_begun_anew_by_mistake_nor_continued_by_two_jobs(waiting):
    with pytest.raises(UsageFault, match="--resume continues it"):
        run(waiting)
    assert account(waiting).reservations == 1
    for out, resume in (("out", True), ("new", False)):
        with module.open_transcript(transcript(waiting, out)), pytest.raises(UsageFault, match="another job"):
            run(waiting, out=out, resume=resume)
    assert account(waiting).reservations == 1
    run(waiting, resume=True)


def test_there_must_be_something_to_continue(place):
    with pytest.raises(UsageFault, match="no killed release waits"):
        run(place, resume=True)
    with pytest.raises(UsageFault, match="add --out DIR"):
        run(place, out=None, resume=True)
    assert kinds(place) == []


def rewritten(path, change):
    path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))


TAMPERED = {
    "last draw missing": lambda found: found[:-1],
    "all draws missing": lambda found: found[:2],
    "only the header left": lambda found: found[:1],
    "a draw in the middle missing": lambda found: [*found[:3], *found[4:]],
    "two draws exchanged": lambda found: [*found[:2], found[3], found[2], *found[4:]],
    "another value": lambda found: [*found[:-1], found[-1].replace('"value":', '"value":1')],
    "another draw's value": lambda found: [*found[:-1], found[2].replace('"draw":0', '"draw":4')],
    "marked as lost": lambda found: [*found[:-1], found[-1].split('"value":')[0] + '"value":null}'],
    "another table": lambda found: [found[0], '{"table":null}', *found[2:]],
    "another dataset": lambda found: [found[0].replace("survey", "census"), *found[1:]],
    "another ledger, before its table": lambda found: [found[0].replace('"ledger":"', '"ledger":"0')],
    "another entry": lambda found: [found[0], found[1].replace('"entry":2', '"entry":1'), *found[2:]],
    "no JSON": lambda found: ["x", *found[1:]],
    "a list": lambda found: ["[]", *found[1:]],
    "deep": lambda found: ["[" * 100_000, *found[1:]],
}


@pytest.mark.parametrize("change", thinned(TAMPERED.values(), 7), ids=TAMPERED.keys())
def test_a_transcript_that_the_ledger_does_not_know_is_refused(waiting, change):
    rewritten(transcript(waiting), change)
    with pytest.raises(LedgerError):
        run(waiting, resume=True)
    assert not (waiting / "out").exists()
    assert account(waiting).spent == 1


def test_bytes_that_are_no_text_are_refused(waiting):
    transcript(waiting).write_bytes(b"\xff\n" + transcript(waiting).read_bytes())
    with pytest.raises(LedgerError):
        run(waiting, resume=True)


@pytest.mark.slow
def test_another_runs_transcript_is_refused(waiting):
    assert killed_at(waiting, (ChainedLedger, "begin", 6, False), out="other") == 9
    mine, other = transcript(waiting), transcript(waiting, "other")
    rewritten(mine, lambda found: [found[0], *other.read_text().splitlines()[1:]])
    with pytest.raises(LedgerError, match="shortened, edited or copied"):
        run(waiting, resume=True)


@pytest.mark.slow
def test_a_line_beyond_what_the_ledger_knows_is_cut_off(waiting):
    """What was begun and not recorded is lost, even if its line can be read: it might have been written by hand."""
    extra = lines(waiting)[-1].replace('"draw":4', '"draw":5')
    transcript(waiting).write_text(transcript(waiting).read_text() + extra + "\n" + extra[:20])
    made = run(waiting, resume=True)
    assert made.transcript.lost == 0
    assert len(published(waiting)) == sum(count for _, count in made.plan.events)


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"epsilon": "0.9"}, {"rounds": 1}, {"seed": 1}, {"update": "perceptron"}], ids=str)
def test_another_plan_is_refused_and_the_run_stays(waiting, change):
    with pytest.raises(UsageFault, match="the plan is not the one"):
        run(waiting, resume=True, **change)
    run(waiting, resume=True)


@pytest.mark.slow
def test_a_run_that_another_version_began_is_refused_by_name_and_stays(waiting, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(fingerprints, "FORM", fingerprints.FORM + 1)
        with pytest.raises(UsageFault, match="begun by another version of dpqr"):
            run(waiting, resume=True)
    run(waiting, resume=True)


def test_another_table_is_refused_and_closes_the_run(waiting):
    """So there is one comparison of two tables at most for each price that was paid."""
    path = waiting / "table.csv"
    right = path.read_text()
    path.write_text(right.replace("F,45", "F,46"))
    with pytest.raises(DataError, match="not the one that the release began with") as ended:
        run(waiting, resume=True)
    assert not hasattr(ended.value, "__notes__")  # "--resume continues it" would be false
    assert (account(waiting).spent, account(waiting).unsettled) == (1, 0)
    path.write_text(right)
    assert notes(ended) == []
    with pytest.raises(UsageFault, match="no killed release waits there"):
        run(waiting, resume=True)
    run(waiting)
    assert account(waiting).spent == 2


@pytest.fixture
def duck(place):
    """The table in a database of DuckDB and in a Parquet file, and a view of it."""
    with duckdb.connect(str(place / "t.duckdb")) as made:
        made.execute(f"CREATE TABLE people AS FROM read_csv('{place}/table.csv', header = true)")
        made.execute("CREATE VIEW viewed AS FROM people")
        made.execute(f"COPY people TO '{place}/t.parquet'")
    return place


def registered(place, what):
    """The address of a table in an engine, which the owner of the budget has registered."""
    table = f"duckdb:{place}/{what}"
    ledger_in(place).restrict("survey", PolicyChange(source=source_at(table)))
    return table


LOCAL = ("t.duckdb?table=Main.People", "*.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("what", LOCAL)
def test_a_release_of_duckdbs_local_files_is_continued(duck, what):
    table = registered(duck, what)
    assert killed_at(duck, (ChainedLedger, "begin", 2, False), table=table) == 9
    before = [each["value"] for each in drawn(duck)]
    run(duck, table=table, resume=True)
    assert published(duck)[: len(before)] == before
    assert (account(duck).spent, account(duck).unsettled) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("what", LOCAL)
def test_it_is_closed_where_a_byte_of_them_has_changed(duck, what):
    table = registered(duck, what)
    assert killed_at(duck, (ChainedLedger, "begin", 2, False), table=table) == 9
    with duckdb.connect(str(duck / "t.duckdb")) as made:
        made.execute("UPDATE people SET age = age + 1 WHERE age = 45")
        made.execute(f"COPY people TO '{duck}/t.parquet'")
    with pytest.raises(DataError, match="not the one that the release began with"):
        run(duck, table=table, resume=True)
    assert (account(duck).spent, account(duck).unsettled) == (1, 0)


@pytest.mark.slow
def test_a_view_is_not_known_to_be_the_same(duck):
    """It may read other files, or the clock."""
    table = registered(duck, "t.duckdb?table=viewed")
    assert killed_at(duck, (ChainedLedger, "begin", 2, False), table=table) == 9
    with pytest.raises(UsageFault, match="may read more than local files"):
        run(duck, table=table, resume=True)
    assert (account(duck).spent, account(duck).unsettled) == (1, 1)


@pytest.mark.slow
def test_the_mark_of_a_table_needs_the_ledgers_key(waiting):
    run(waiting, out="other")
    assert killed_at(waiting, (ChainedLedger, "begin", 2, False), out="third") == 9
    marks = {json.loads(transcript(waiting, out).read_text().splitlines()[1])["table"] for out in ("out", "third")}
    assert len(marks) == 2
    assert all(len(mark) == 64 for mark in marks)


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.with_name("elsewhere"))],
    ids=["dir", "fifo", "link"],
)
def test_a_transcript_is_a_regular_file(place, make):
    make(transcript(place))
    with pytest.raises(UsageFault):
        run(place)
    assert kinds(place) == []
    assert not (place / "elsewhere").exists()


def test_a_ledger_takes_no_test_noise(place):
    source = TableSource(paths=(str(place / "table.csv"),))
    asked = ReleaseRequest(source=source, plan=request(place), payer=payer(place))
    with pytest.raises(UsageFault, match="private noise only"):
        release_module.release(asked, SILENT, noise=SeededNoise(1))


def test_who_pays():
    none = {"dataset": None, "ledger": None, "anchor": None, "resume": False, "environment": {}}
    assert ledger_request(**none) is None
    assert ledger_request(**{**none, "dataset": "a"}).dataset == "a"
    named = [{"environment": {name: "l"}} for name in ("DPQR_LEDGER", "DPQR_ANCHOR")]
    for change in ({"ledger": "l"}, *named, {"anchor": "a"}, {"resume": True}):
        with pytest.raises(UsageFault, match="--dataset NAME"):
            ledger_request(**{**none, **change})


@pytest.fixture
def memory(tmp_path):
    """A directory in memory, where the system has one."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "asked"),
    [({}, {}), ({"delta": "1e-3"}, {"delta": "1e-7", "accountant": "zcdp"})],
    ids=["epsilon", "pairs"],
)
def test_a_dozen_kills(memory, budget, asked):
    lay(memory, epsilon="1000", **budget)
    options = ("--delta", asked["delta"]) if asked else ()
    done = run_module("support.concurrent_releases", "kills", memory, "--count", 12, "--crowd", 4, *options)
    assert done["unsound"] == []
    assert done["killed"] >= 12
    assert not done["ended"].keys() & {"1", "3", "4", "5"}
    continue_all(memory, **asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "options"),
    [({"epsilon": "2"}, ()), ({"epsilon": "90", "delta": "2.5e-7"}, ("--delta", "1e-7"))],
    ids=["epsilon", "pairs, delta ends"],
)
def test_eight_jobs_race_for_two_releases(tmp_path, budget, options):
    ledger = lay(tmp_path, **budget)
    assert run_module("support.concurrent_releases", "race", tmp_path, "--jobs", 8, *options) == [{"0": 2, "4": 6}]
    spent = ledger.account("survey").spent
    assert spent <= Cost(Fraction(2), Fraction("2e-7"))
    assert spent.delta == 2 * Fraction("1e-7") * bool(options)
    assert len(list(tmp_path.glob("out*/release.json"))) == 2
    assert unsound(tmp_path) is None


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_half(tmp_path):
    """No room for the transcript, for a draw, for the answers, for the ledger: each at some of these sizes."""
    lay(tmp_path, epsilon="100")
    rooms = [0, 100, 230, 400, 700, 1000, 2000, 4000, 8000, 12_400, 16_400, 20_500, 30_000]
    ended = run_module("support.concurrent_releases", "full", tmp_path, "--rooms", *rooms)
    assert unsound(tmp_path) is None
    assert set(ended.values()) <= {0, 2, 7}
    assert len(set(ended.values())) > 1
    for room, code in ended.items():
        assert (code == 0) == (tmp_path / f"out{room}").exists()
    continue_all(tmp_path)
    assert not list(tmp_path.glob(".*"))
