"""What is learned alone, by a plan that was reviewed and approved: `dpqr domain --lock`, `budget approve`, `--plan`."""

import json
from fractions import Fraction

import pytest
from support.cases import thinned

import dpqr
from dpqr.checker.check import check
from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.ledger.budgets import configured_ledger
from dpqr.releases.record.plan_document import seal_document

PAID = ("--dataset", "s", "--ledger", "l.sqlite")
LEARN = ("--learn", "region,pay", "--types", "pay=number", "--eps", "6", "--delta", "1e-6")
PERSONS = ("--unit", "person", "--max-rows", "8", "--max-labels", "2", "--learn-max-rows", "0.25")


@pytest.fixture
def asking(desk, request):
    """A table, and a budget that pays for approved plans only and lets columns be learned; of persons where asked."""
    rows = [f"{number // 4},{'north' if number % 3 else 'south'},{number % 50}" for number in range(900)]
    desk.write(table__csv="\n".join(["person,region,pay", *rows, ""]))
    terms = ("--eps", "20", "--delta", "1e-5", "--accounting", "basic", "--allow-learning", "--require-approval")
    ended = desk.run("budget", "init", "s", *terms, *getattr(request, "param", ()), "--ledger", "l.sqlite")
    assert ended.code == 0, ended.err
    return desk


def lock(desk, *options, name="plan.json", learn=LEARN):
    ended = desk.run("domain", "table.csv", *learn, *PAID, "--lock", name, *options)
    assert ended.code == 0, ended.err
    return ended


def approve(desk, by="M. Lee", plan="plan.json"):
    return desk.run("budget", "approve", "s", plan, "--by", by, "--ledger", "l.sqlite")


def learn(desk, *options, plan="plan.json", by="Ann"):
    return desk.run("domain", "table.csv", "--plan", plan, *PAID, "--by", by, *options)


def entries():
    return [each for each in configured_ledger("l.sqlite", "none").entries() if each.kind != "open"]


@pytest.mark.parametrize(
    ("asking", "more"),
    thinned([((), ()), (("--unit", "person"), PERSONS)], 1),
    indirect=["asking"],
    ids=["rows", "persons"],
)
def test_the_approved_plan_names_what_is_learned_with_its_price_and_the_run_pays_exactly_that(asking, more):
    ended = lock(asking, *more)
    document = json.loads((asking.path / "plan.json").read_text())
    digest = document["sha256"]
    assert f"planned into plan.json, sha256 {digest}" in ended.out
    assert document["columns"] == ["region", "pay"]
    assert [document["budget"][part]["exact"] for part in ("epsilon", "delta")] == ["6", "1/1000000"]
    refused = learn(asking, "--out", "d.json")
    assert (refused.code, "has no unused approval" in refused.err) == (4, True), refused.err
    assert not (asking.path / "d.json").exists()
    said = approve(asking)
    assert said.code == 0, said.err
    for words in ("region, pay", "epsilon 6, delta 1e-6 for one", digest, "learns by this plan, by M. Lee"):
        assert words in said.out, said.out
    assert learn(asking, "--dry-run").code == 0
    assert learn(asking, by="m.lee", plan="plan.json").code == 4, "who approves does not ask"
    assert [each.kind for each in entries()] == ["init", "approve"]
    made = learn(asking, "--out", "d.json")
    assert made.code == 0, made.err
    *_, paid, settled = entries()
    assert (paid.kind, paid.plan, paid.reason.approved_by) == ("reserve", digest, "M. Lee")
    assert paid.cost == settled.cost == Cost(Fraction(6), Fraction(1, 10**6))
    learned = json.loads((asking.path / "d.json").read_text())["learned"]
    assert learned["ledger"][0]["seal"] == paid.hash
    assert learn(asking).code == 4, "one approval pays for one run"


def test_a_release_over_the_learned_domain_has_an_approval_of_its_own(asking):
    asking.write(q__json={"queries": [{"marginal": ["region"]}]})
    lock(asking)
    approve(asking)
    assert learn(asking, "--out", "d.json").code == 0
    stated = ("--queries", "q.json", "--domain", "d.json", "--eps", "1")
    assert asking.run("plan", *stated, *PAID, "--out", "release.plan").code == 0
    follow = ("release", "table.csv", "--plan", "release.plan", *PAID, "--by", "Ann", "--out", "out")
    assert asking.run(*follow).code == 4
    assert approve(asking, plan="release.plan").code == 0
    ended = asking.run(*follow)
    assert ended.code == 0, ended.err
    assert asking.run("verify", "out", "--ledger", "l.sqlite", "--plan", "release.plan").code == 0


def stripped(domain):
    """Of the entries that paid, and of all that it says of its price."""
    named = {key: part for key, part in domain["learned"].items() if key != "ledger"}
    return [domain | {"learned": named}, {key: part for key, part in domain.items() if key != "learned"}]


def test_a_domain_that_hides_who_paid_for_it_is_known_by_what_its_run_settled(desk):
    rows = [f"{'north' if number % 3 else 'south'},{number % 50}" for number in range(900)]
    desk.write(table__csv="\n".join(["region,pay", *rows, ""]), q__json={"queries": [{"marginal": ["region"]}]})
    terms = ("--eps", "40", "--delta", "1e-5", "--accounting", "basic", "--allow-learning")
    assert desk.run("budget", "init", "s", *terms, "--ledger", "l.sqlite").code == 0
    assert desk.run("domain", "table.csv", *LEARN, *PAID, "--out", "d.json").code == 0
    kept = json.loads((desk.path / "d.json").read_text())
    paid = kept["learned"]["ledger"][0]["entry"]
    for number, domain in enumerate((kept, *stripped(kept))):
        desk.write(used__json=domain)
        asked = ("--queries", "q.json", "--domain", "used.json", "--eps", "1", "--out", f"out{number}")
        ended = desk.run("release", "table.csv", *asked, *PAID)
        assert ended.code == 0, ended.err
        checked = desk.run("verify", f"out{number}", "--ledger", "l.sqlite")
        assert checked.code == (0 if domain is kept else 6), checked
        hidden = f"entry {paid} of dataset 's' has paid for a run that learned this domain" in checked.out
        assert hidden == (domain is not kept), checked.out
        for reader, *options in (("label",), ("report", "--html", f"report{number}.html")):
            read = desk.run(reader, f"out{number}", "--ledger", "l.sqlite", *options)
            assert read.code == (0 if domain is kept else 6), read
            assert (f"entry {paid} of dataset 's' has paid for a run that learned" in read.err) == (domain is not kept)
        desk.write(l__jsonl=desk.run("budget", "export", "--ledger", "l.sqlite").out)
        found = check(str(desk.path / f"out{number}"), str(desk.path / "l.jsonl"))
        refused = [text for state, _, text in found if state == "refused"]
        assert (refused == []) if domain is kept else all("learned this domain" in text for text in refused), found
        assert bool(refused) == (domain is not kept)


def test_nothing_is_learned_without_a_plan(asking):
    ended = asking.run("domain", "table.csv", *LEARN, *PAID, "--by", "Ann")
    assert (ended.code, "has no unused approval" in ended.err) == (4, True), ended.err
    assert asking.run("domain", "table.csv", *LEARN, *PAID, "--dry-run").code == 0, "it is planned all the same"
    asking.write(
        q__json={"queries": [{"marginal": ["region"]}]},
        open__json={"fields": [{"name": "region", "type": "string", "dpqr": {"labels": "learn"}}]},
    )
    stated = ("--queries", "q.json", "--domain", "open.json", "--eps", "1", "--delta", "1e-6")
    ended = asking.run("release", "table.csv", *stated, *PAID, "--by", "Ann")
    assert (ended.code, "--lock plan.json" in ended.err) == (4, True), ended.err
    assert [each.kind for each in entries()] == ["init"]


FORGED = {
    "columns": lambda d: d.update(columns=["region"]),
    "a cheaper word": lambda d: d.update(guarantee="Differentially private with epsilon = 1"),
    "budget": lambda d: d["budget"]["epsilon"].update(exact="1"),
    "events": lambda d: d["events"].pop(),
    "notes": lambda d: d["notes"].append("reviewed by the officer"),
    "a key": lambda d: d.update(remark="x"),
    "a wider request": lambda d: d["request"]["options"].update(epsilon="9"),
    "an unknown option": lambda d: d["request"]["options"].update(more="9"),
    "labels of nobody": lambda d: d["request"]["options"].update(max_labels=0),
    "no request": lambda d: d.update(request={}),
}


def test_a_plan_that_says_anything_else_than_it_does_is_not_approved(asking):
    lock(asking)
    kept = json.loads((asking.path / "plan.json").read_text())
    for name, change in FORGED.items():
        document = json.loads(json.dumps(kept))
        change(document)
        asking.write(forged__json=seal_document(document), edited__json=document)
        ended = approve(asking, plan="forged.json")
        assert ended.code == 3, (name, ended)
        assert approve(asking, plan="edited.json").code == 3, name
    assert [each.kind for each in entries()] == ["init"]


def test_the_plan_states_all_but_the_table(asking):
    lock(asking)
    approve(asking)
    for more in (
        ("--eps", "1"),
        ("--learn", "pay"),
        ("--types", "pay=number"),
        ("--unit", "person", "--max-rows", "1"),
    ):
        ended = learn(asking, *more)
        assert (ended.code, "leave out all but the table" in ended.err) == (2, True), ended.err
    ended = learn(asking, "--lock", "again.json")
    assert (ended.code, "give one of them" in ended.err) == (2, True), ended.err
    ended = asking.run("domain", "--plan", "plan.json", *PAID, "--by", "Ann")
    assert (ended.code, "DATA names the private table" in ended.err) == (2, True), ended.err
    ended = asking.run("release", "table.csv", "--plan", "plan.json", *PAID, "--by", "Ann")
    assert (ended.code, "is no plan that can be released" in ended.err) == (3, True), ended.err
    ended = learn(asking, plan="table.csv")
    assert (ended.code, "is no plan that can be learned by" in ended.err) == (3, True), ended.err
    assert [each.kind for each in entries()] == ["init", "approve"]
    assert learn(asking, "--out", "d.json").code == 0


def test_a_plan_from_a_codebook_alone_is_followed_from_python(asking):
    """No table is named until it is read; without a ledger a plan is followed without an approval."""
    book = {"fields": [{"name": "region", "type": "string", "dpqr": {"labels": "learn"}}]}
    asking.write(book__json=book)
    place, paid = asking.path / "plan.json", {"dataset": "s", "ledger": asking.path / "l.sqlite"}
    planned = dpqr.domain_file(codebooks="book.json", learn="region", eps=1, delta="1e-6", lock=place, **paid)
    assert planned.remarks[-1].startswith("planned into")
    with pytest.raises(BudgetRefused):
        dpqr.domain_file("table.csv", plan=place, by="Ann", **paid)
    approved = dpqr.Ledger(paid["ledger"]).approve("s", place, by="M. Lee")
    assert "region" in str(approved)
    made = dpqr.domain_file("table.csv", plan=place, by="Ann", **paid)
    assert made.document["fields"][0]["constraints"]["enum"] == ["south", "north"] or len(made.document["fields"]) == 1
    alone = dpqr.domain_file("table.csv", plan=place)
    assert "no ledger adds this up" in alone.remarks[-1]
    with pytest.raises(UsageFault, match="states what is learned"):
        dpqr.domain_file("table.csv", plan=place, learn="region")
