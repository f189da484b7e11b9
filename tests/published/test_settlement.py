"""The entry that settles a run names what it drew: runs of one plan cannot swap their entries."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from published.test_checks_of_predictions import PRICE, ROWS
from sessions.test_interactive import SURPRISE, WHERE, opened, place  # noqa: F401 (a fixture)
from sessions.test_interactive import asked as asks
from support.counters import DOMAIN, QUERIES, TABLE
from support.paid_releases import payer

import dpqr
from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.values import replace
from dpqr.ledger.record import read_export
from dpqr.published.checks import require_bound
from dpqr.published.evidence import NotChecked
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.parts import draws_digest
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.requests import OutputRequest
from dpqr.sessions.interactive import close

FAINT = "0.00001"
"""At this epsilon two runs of two counts draw equal noise with a probability below 1e-10."""
WORDS = "names other draws than the record: it settled another run"


def swapped(first: Path, second: Path) -> None:
    """Two records name each other's entries, and say so in their receipts, under new seals."""
    held = [json.loads(path.read_text()) for path in (first, second)]
    for path, mine, other in zip((first, second), held, reversed(held), strict=True):
        text = document_text(mine).replace(f"entry {mine['ledger']['entry']}", f"entry {other['ledger']['entry']}")
        made = json.loads(text) | {"ledger": other["ledger"]}
        path.write_text(document_text(seal_document(made)))


def found(release, ledger):
    return dpqr.verify(release, ledger=ledger).checks[-1]


@pytest.fixture
def ledger(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "l.sqlite")
    ledger.init("shops", eps=300)
    return ledger


def check_swap(ledger, files, records):
    for file in files:
        last = found(file, ledger)
        assert (last.name, last.state) == ("settlement", "ok"), last
        assert "names the draws of the record" in last.text
    swapped(*records)
    for file in files:
        last = found(file, ledger)
        assert (last.name, last.state, WORDS in last.text, last.code) == ("settlement", "FAILED", True, 6), last


def test_two_releases_of_one_plan(tmp_path, ledger):
    asked = {
        "queries": dpqr.queries().marginal("day"),
        "domain": dpqr.domain_from({"day": ["Mon", "Sun"]}),
        "eps": FAINT,
    }
    files = [tmp_path / name for name in "ab"]
    for out in files:
        dpqr.release(ROWS, **asked, dataset="shops", ledger=ledger, out=out)
    check_swap(tmp_path / "l.sqlite", files, [out / "release.json" for out in files])


@pytest.mark.slow
def test_a_release_of_a_counter(tmp_path, ledger):
    """Its plan says which release it is, so no other has the same; one that was made again is told by its draws."""
    asked = {"queries": QUERIES, "domain": DOMAIN, "eps": FAINT, "cumulative": 6, "period": "2024-01"}
    dpqr.release(TABLE, **asked, dataset="shops", ledger=ledger, out=tmp_path / "a")
    last = found(tmp_path / "a", tmp_path / "l.sqlite")
    assert (last.name, last.state) == ("settlement", "ok")
    dpqr.release(TABLE, **asked, out=tmp_path / "again")
    kept, again = (json.loads((tmp_path / name / "release.json").read_text()) for name in ("a", "again"))
    with pytest.raises(GoalMissed, match=WORDS):
        require_bound(SimpleNamespace(entries=ledger.entries()), kept["ledger"]["entry"], again)


@pytest.fixture
def learning(ledger):
    domain = dpqr.domain_from({"day": ["Mon", "Sun"], "open": ["no", "yes"], "price": PRICE})
    return {"domain": domain, "dataset": "shops", "ledger": ledger, "eps": 5, "n": 400, "target": "open"}


@pytest.mark.slow
def test_two_runs_of_predictions(tmp_path, ledger, learning):
    points = ROWS[["day", "price"]][:9]
    files = [tmp_path / f"{name}.csv" for name in "ab"]
    for out in files:
        dpqr.predict(ROWS, points=points, out=out, **learning)
    check_swap(tmp_path / "l.sqlite", files, [out.with_name(f"{out.name}.record.json") for out in files])


@pytest.mark.slow
def test_two_functions(tmp_path, ledger, learning):
    files = [tmp_path / f"{name}.json" for name in "ab"]
    for out in files:
        dpqr.predict(ROWS, form="function", out=out, **learning)
    check_swap(tmp_path / "l.sqlite", files, files)


@pytest.mark.slow
def test_two_sessions_of_predictions(tmp_path, ledger, learning):
    points = ROWS[["day", "price"]][:2]
    files = [tmp_path / f"{name}.csv" for name in "ab"]
    for name, out in zip("ab", files, strict=True):
        session = dpqr.open_predictions(ROWS, name=name, predictions=3, **learning)
        session.ask(points)
        session.close(out)
    check_swap(tmp_path / "l.sqlite", files, [out.with_name(f"{out.name}.record.json") for out in files])


@pytest.mark.slow
def test_two_sessions_of_questions(place):  # noqa: F811
    files = [place / name for name in "ab"]
    for out in files:
        opened(place, out.name)
        for queries in (WHERE, SURPRISE):
            asks(place, queries, out.name)
        close(out.name, payer(place), OutputRequest(directory=str(out)))
    check_swap(place / "ledger.sqlite", files, [out / "release.json" for out in files])


def test_a_settlement_that_names_no_draws(paid_release, tmp_path):
    """Of older versions it is not bound, and said so; a record of today may not name such an entry."""
    record = json.loads((Path(paid_release.release) / "release.json").read_text())
    entries = read_export(Path(paid_release.ledger)).entries
    paid = record["ledger"]["entry"]
    assert entries[-1].drawn == draws_digest(record)
    older = SimpleNamespace(entries=(*entries[:-1], replace(entries[-1], drawn="")))
    with pytest.raises(NotChecked, match=r"not bound: entry \d+ is of dpqr 0\.10 or older and names no draws"):
        require_bound(older, paid, record | {"version": "0.9.0"})
    for version in ("0.11.0", "0.11.0.dev1", "1.0.0", "0.10.0x", 7):
        with pytest.raises(GoalMissed, match="names no draws: the run that it settled has released nothing"):
            require_bound(older, paid, record | {"version": version})
    with pytest.raises(NotChecked, match="not settled yet"):
        require_bound(SimpleNamespace(entries=entries[:-1]), paid, record)


def test_the_digest_is_of_released_values_alone(paid_release):
    """Whatever stands beside the draws in a record moves nothing, and each part of the draws does."""
    record = json.loads((Path(paid_release.release) / "release.json").read_text())
    drawn = {name: record[name] for name in ("transcript", "dropped", "errors")}
    assert draws_digest(record) == draws_digest(drawn)
    for name in drawn:
        assert draws_digest(record | {name: ["another"]}) != draws_digest(record)


@pytest.mark.slow
def test_a_run_that_died_between_release_and_settlement(desk, monkeypatch):
    """It is continued from its transcript, which gives the same draws, and settled with their digest."""
    paid = ("--dataset", "survey", "--ledger", "l.sqlite")
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    with monkeypatch.context() as killed:
        killed.setattr("dpqr.releases.paying.PaidRun.released", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert desk.release(*paid, "--out", "out").code == 130
    published = json.loads((desk.path / "out/release.json").read_text())
    ended = desk.run("verify", "out", "--ledger", "l.sqlite")
    assert (ended.code, "not bound: entry 2 is not settled yet" in ended.out) == (0, True), ended.err
    ended = desk.release(*paid, "--out", "out", "--resume")
    assert ended.code == 0, ended.err
    entries = dpqr.Ledger(desk.path / "l.sqlite").entries()
    assert entries[-1].drawn == draws_digest(published)
    assert "names the draws of the record" in desk.run("verify", "out", "--ledger", "l.sqlite").out
