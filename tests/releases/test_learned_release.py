"""A release whose domain leaves labels and bounds open: what is drawn, paid, stated and kept, and what is refused."""

import copy
import functools
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from proofs.exact import LEAST, exp, real
from support.cases import slowly, thinned

import dpqr
from dpqr.domain.domain_file import decode_domain
from dpqr.domain.open_columns import asked_quantiles
from dpqr.domain.text.decoding import Location
from dpqr.kernel.accountants.accountant import summed_cost
from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import (
    LEARNED,
    LEARNED_UNPAID,
    STAYS_SPENT,
    AlreadyThere,
    BudgetRefused,
    DataError,
    DocumentError,
    DpqrError,
    InfeasiblePlan,
    UsageFault,
)
from dpqr.kernel.events import DiscreteLaplaceEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import BudgetRequest, configured_ledger, open_budget
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import require_verified, verify
from dpqr.releases.any_release import check_documents, dry_run, release
from dpqr.releases.files.read_release import read_release
from dpqr.releases.learned import learned_release
from dpqr.releases.learned.learned_release import kept_place, over, plan_both
from dpqr.releases.loop import SILENT
from dpqr.releases.release import release as release_alone
from dpqr.releases.requests import LedgerRequest, OutputRequest, PlanRequest, ReleaseRequest
from dpqr.releases.sentences import guarantee, whole_budget
from dpqr.tables.limits import Limits
from dpqr.tables.policy import Policy
from dpqr.tables.source import TableSource

REGION = {"name": "region", "type": "string", "dpqr": {"labels": "learn"}}
PAY = {"name": "pay", "type": "number", "dpqr": {"bounds": "learn", "bins": 4}}
SEX = {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}
LEDGER = "l.sqlite"


@pytest.fixture
def table(tmp_path, monkeypatch):
    """1,000 rows: two common regions, and one that a single row has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPQR_LEDGER", raising=False)
    rows = [f"{number},{'fm'[number % 2]},{'north' if number % 3 else 'south'},{number + 1}" for number in range(999)]
    Path("t.csv").write_text("\n".join(["id,sex,region,pay", *rows, "999,m,PRIVATEVALUE,500", ""]))
    return "t.csv"


def asked(*fields, queries=({"marginal": ["region"]},), payer=None, out=None, domain=None, **plan):
    """A release of an epsilon at which nothing is left to chance, unless it is said otherwise."""
    domain = domain or {"fields": list(fields or (REGION, SEX)), "malformed": "drop"}
    more = {name: plan.pop(name) for name in ("learn_share", "rehearse", "source") if name in plan}
    documents = {"queries": {"queries": list(queries)}, "domain": domain, "epsilon": "400", "delta": "1e-6"}
    return ReleaseRequest(
        **({"source": TableSource(paths=("t.csv",)), "payer": payer} | more),
        plan=PlanRequest(**(documents | plan)),
        output=OutputRequest(directory=out),
    )


def budget(epsilon="1000", accountant="basic", policy=None):
    """A ledger with a budget that lets labels be learned; who pays."""
    terms = {"epsilon": epsilon, "delta": "1e-5", "accountant": accountant, "policy": policy or Policy(learning=True)}
    open_budget(configured_ledger(LEDGER, "none"), BudgetRequest(dataset="s", **terms))
    return LedgerRequest(dataset="s", ledger=LEDGER, anchor="none")


def spent():
    return configured_ledger(LEDGER, "none").account("s").spent


def entries():
    return [each.kind for each in configured_ledger(LEDGER, "none").entries() if each.kind not in ("open", "init")]


def made(request, noise=None):
    return release(request, SILENT, noise=noise)


# What is released, and what is said of it.


def test_the_labels_are_learned_and_the_answers_are_asked_over_them(table):
    finished = made(asked(out="out"), SeededNoise(1))
    assert finished.plan.problem.domain.attributes[0].titles() == ("north", "south", "(null)", "(outside)")
    assert [round(value) for value in finished.answers[0].estimate] == [666, 333, 0, 1]
    assert "PRIVATEVALUE" not in "".join(path.read_text() for path in Path("out").iterdir())
    assert not kept_place(asked(out="out")).exists()


def test_a_text_that_means_null_in_all_columns_is_learned_in_none(table):
    """Once learned as a label it is none of the domain's, and the release ended after it was paid."""
    Path(table).write_text(Path(table).read_text() + "\n".join([*(f"{each},f,NA,-99" for each in range(999)), ""]))
    domain = {"fields": [REGION, PAY], "missingValues": ["", "NA", "-99"]}
    queries = [{"marginal": ["region", "pay"]}]
    region, pay = made(asked(domain=domain, queries=queries), SeededNoise(1)).plan.problem.domain.attributes
    assert region.titles() == ("north", "south", "(null)", "(outside)")
    assert pay.axis.edges[0] >= 0
    own = {**REGION, "missingValues": ["south"]}
    found = made(asked(domain=domain | {"fields": [own]}), SeededNoise(1)).plan.problem.domain.attributes[0]
    assert found.titles() == ("NA", "north", "(null)", "(outside)")


def test_what_was_learned_of_the_domain_before_counts_too_and_is_no_part_of_this_budget(table):
    whom = "one row of the table added or removed (the number of rows is private)"
    before = {"columns": ["sex"], "epsilon": "1.5", "delta": "1e-7", "unit": whom}
    domain = {"fields": [REGION, SEX], "malformed": "drop", "learned": before}
    assert whole_budget(dry_run(asked(domain=domain))[0]).epsilon == Fraction("401.5")
    finished = made(asked(domain=domain, out="out"), SeededNoise(1))
    learned = json.loads(Path("out/domain.json").read_text())["learned"]
    assert learned == {"columns": ["sex", "region"], "epsilon": "81.5", "delta": "3e-7", "unit": whom}
    assert finished.plan.budget.epsilon == 320
    assert whole_budget(finished.plan).epsilon == Fraction("401.5")


@pytest.mark.parametrize("kind", ["number", *slowly("integer")])
def test_bins_are_cut_at_the_quantiles_that_queries_ask(table, kind):
    """Values grow by a hundredth, to 20,750: half of them lie below 145, in the cell from 128 to 160 of the grid."""
    values = [1.01**number for number in range(1000)]
    Path("t.csv").write_text("\n".join(["pay", *(str(round(each) if kind == "integer" else each) for each in values)]))
    figures = [{"median": "pay"}, {"quantiles": "pay", "at": [0.9]}, {"median": "another"}, {"median": 3}]
    edges = {}
    for name, queries in (("asked", figures[:2]), ("alone", [{"mean": "pay"}])):
        made(asked(PAY | {"type": kind}, queries=queries, out=name), SeededNoise(1))
        field = json.loads(Path(name, "domain.json").read_text())["fields"][0]
        (attribute,) = decode_domain({"fields": [field]}, Location("domain")).attributes
        cells = [attribute.axis.bounds(place) for place in range(attribute.axis.size)]
        edges[name] = [*(low for low, _ in cells), cells[-1][1]]  # the last one is the largest value
    assert len(edges["alone"]) == 5
    assert len(edges["asked"]) == 7
    assert {*edges["alone"]} <= {*edges["asked"]}
    half, most = sorted({*edges["asked"]} - {*edges["alone"]})
    assert edges["asked"][-1] == edges["alone"][-1]
    assert 128 <= half <= 160
    assert 1.01**860 <= most <= 1.01**940  # the cell from 6,554 to 8,192, a cell wider on either side
    assert asked_quantiles(figures)["pay"] == {Fraction(1, 2), Fraction(9, 10)}
    assert [*asked_quantiles(figures)] == ["pay", "another"]


@pytest.mark.parametrize("most", [False, *slowly(True)])
def test_more_quantiles_than_a_column_may_have_bins_are_refused(table, most):
    parts = [Fraction(part, 200) for part in range(1, 100)]
    entry = {"quantiles": "pay", "at": list(map(float, parts))}
    at_most = PAY | {"dpqr": {"bounds": "learn", "bins": 1000 - len(parts)}}
    if most:
        assert dry_run(asked(at_most, queries=[entry]))
    with pytest.raises(UsageFault, match="asked of 'pay': together at most 1000"):
        dry_run(asked(at_most | {"dpqr": at_most["dpqr"] | {"bins": 1001 - len(parts)}}, queries=[entry]))


def leaves(part, path=()):
    """The place of every part of a document."""
    yield from [path] if path else []
    members = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, member in members:
        yield from leaves(member, (*path, key))


@pytest.mark.parametrize("value", thinned([-1, None, [], "x"], 2))
def test_whatever_stands_in_an_open_domain_is_planned_or_refused(table, value):
    learned = {"columns": ["sex"], "epsilon": "1", "delta": "0", "unit": "one row"}
    domain = {"fields": [REGION, SEX, PAY], "malformed": "drop", "learned": learned}
    places, refused = list(leaves(domain)), 0
    for place in places:
        changed = copy.deepcopy(domain)
        above = functools.reduce(lambda part, key: part[key], place[:-1], changed)
        above[place[-1]] = value
        try:
            dry_run(asked(domain=changed))
        except DpqrError:
            refused += 1
    assert 0.5 * len(places) < refused <= len(places)


def test_bounds_are_learned_with_the_cuts_that_the_field_asks_for(table):
    quantiles = PAY | {"dpqr": {"bounds": "learn", "bins": 4, "grid": 1, "cuts": "quantiles"}}
    finished = made(asked(quantiles, queries=[{"marginal": ["pay"]}], delta=None), SeededNoise(2))
    cuts = [float(edge) for edge in finished.plan.problem.domain.attributes[0].axis.edges[1:]]
    assert cuts == pytest.approx([250, 500, 750, 1000], rel=0.25)  # a cell's width on the grid
    assert finished.plan.problem.domain.learned.budget.delta == 0
    integral = {"name": "pay", "type": "integer", "dpqr": {"bounds": "learn", "outside": "drop", "null": "drop"}}
    finished = made(asked(integral, queries=[{"mean": "pay"}], delta=None), SeededNoise(2))
    stated = finished.plan.problem.domain.attributes[0]
    assert stated.axis.edges[0] <= 2
    assert stated.own_cells == ()


def test_record_plan_and_receipt_state_the_price_of_both(table):
    made(asked(out="out"))
    record = read_release("out").record
    plan = record["plan"]
    assert [plan[name]["epsilon"]["exact"] for name in ("budget", "whole")] == ["320", "400"]
    assert [plan[name]["delta"]["exact"] for name in ("budget", "whole")] == ["1/1250000", "1/1000000"]
    assert plan["domain"]["learned"]["columns"] == ["region"]
    assert plan["domain"]["learned"]["budget"]["epsilon"]["exact"] == "80"
    in_all = "epsilon 400 and delta 1e-6"
    assert record["guarantee"].endswith(f"with epsilon 80 and delta 2e-7 more: {in_all} in all.")
    assert record["receipt"][0] == ["In all", f"{in_all}: epsilon 80 and delta 2e-7 of it to learn the domain (region)"]
    learned = json.loads(Path("out/domain.json").read_text())
    assert plan["request"]["domain"] == learned
    whom = "one row of the table added or removed (the number of rows is private)"
    assert learned["learned"] == {"columns": ["region"], "epsilon": "80", "delta": "2e-7", "unit": whom}


def test_a_person_may_count_in_several_labels_of_a_column_at_the_same_price(table):
    """Each label then costs that share of what its column has."""
    unit = {"unit": "id", "max_rows": 4}
    several = REGION | {"name": "sex", "dpqr": {"labels": "learn", "max_labels": 3}}
    learning = plan_both(asked(REGION, several, queries=[{"marginal": ["sex"]}], **unit)).learning
    assert [each.selection.labels for each in learning.labels] == [1, 3]
    assert [each.selection.epsilon for each in learning.labels] == [40, Fraction(40, 3)]
    assert summed_cost(learning.events) == Cost(Fraction(80), Fraction(2, 10**7))
    assert learning.lines[2].endswith("; a person counts in at most 3 labels")
    finished = made(asked(several, queries=[{"marginal": ["sex"]}], out="out", **unit), SeededNoise(3))
    assert [round(value) for value in finished.answers[0].estimate][:2] == [500, 500]
    assert "max_labels" not in Path("out/domain.json").read_text()


def test_the_plan_of_what_is_learned_names_the_bits_that_its_exit_code_tells(table):
    both = plan_both(replace(asked(), limits=Limits(records=5000)))
    assert sum("one bit that the guarantee" in line for line in both.learning.lines) == 1
    assert not any("one bit" in line for line in plan_both(asked()).learning.lines)


def test_a_table_without_the_columns_is_refused_before_anything_is_paid(table):
    payer = budget()
    Path("t.csv").write_text("id,sex,pay\n1,f,3\n")
    with pytest.raises(DataError, match="region"):
        made(asked(payer=payer))
    assert entries() == []
    assert not spent()


@pytest.mark.slow
def test_anybody_can_repeat_the_release_and_ask_over_what_was_learned(table):
    made(asked(SEX, REGION, PAY, out="out", queries=[{"marginal": ["sex", "region"]}, {"mean": "pay"}]))
    require_verified(verify(VerifyRequest(release="out")))
    later = replace(
        asked(out="later", epsilon="10"), plan=replace(asked().plan, epsilon="10", domain="out/domain.json")
    )
    record = made(later).plan.problem.domain.learned
    assert record.columns == ("region", "pay")
    require_verified(verify(VerifyRequest(release="later")))


def test_a_release_over_what_was_learned_gives_way_to_another(table):
    """Its domain.json is one of its files."""
    made(asked(out="out"), SeededNoise(1))
    again = asked(out="out")
    made(replace(again, output=replace(again.output, if_exists="replace")), SeededNoise(2))
    assert Path("out/domain.json").exists()


def test_a_plan_over_what_was_learned_is_one_file_whatever_lies_beside_it(table):
    made(asked(out="out"), SeededNoise(1))
    Path("domain.json").write_text("mine")
    plan = dpqr.plan(queries={"queries": [{"marginal": ["region"]}]}, domain="out/domain.json", eps=1)
    plan.save("plan.json")
    again = dpqr.release("t.csv", plan="plan.json", out="again")
    assert Path("domain.json").read_text() == "mine"
    assert again.record["plan"]["request"]["domain"]["learned"]["columns"] == ["region"]
    assert Path("again/domain.json").exists()


@pytest.mark.slow
def test_a_domain_learned_for_others_adds_up_with_nothing(table):
    made(asked(out="out"), SeededNoise(1))
    persons = replace(asked().plan, domain="out/domain.json", unit="id", max_rows=1)
    finished = made(replace(asked(), plan=persons), SeededNoise(1))
    words = guarantee(finished.plan)
    assert "for one row of the table added or removed (the number of rows is private), which adds to that." in words
    assert "in all" not in words


@pytest.mark.parametrize(
    "unit",
    thinned([{"unit": "id", "max_rows": 2}, {"neighbours": "replace", "n": 1000}], 2),
    ids=["persons", "replace"],
)
def test_both_parts_protect_the_same_units(table, unit):
    both = plan_both(asked(REGION, PAY, queries=[{"marginal": ["region", "pay"]}], **unit))
    assert both.learning.unit.whom == both.assumed.problem.unit.whom
    assert both.learning.unit.rows == both.assumed.problem.unit.rows
    made(asked(REGION, PAY, queries=[{"marginal": ["region", "pay"]}], **unit))


# What is paid.


@pytest.mark.parametrize("share", thinned([None, "0.5", "0.123456789"], 3))
@pytest.mark.parametrize("fields", [(REGION,), (REGION, PAY), (PAY,)], ids=["labels", "both", "bounds"])
def test_the_two_budgets_add_up_to_the_whole(table, share, fields):
    names = [{"marginal": [field["name"]]} for field in fields]
    both = plan_both(asked(*fields, queries=names, epsilon="0.7", learn_share=share))
    part, rest = both.learning.budget, both.rest
    assert part.epsilon + rest.epsilon == Fraction(7, 10)
    assert part.delta + rest.delta == Fraction(1, 10**6)
    assert part.epsilon == Fraction(share or "0.2") * Fraction(7, 10)
    assert part.delta == (Fraction(share or "0.2") / 10**6 if REGION in fields else 0)
    assert both.assumed.budget == rest
    whole = both.plan.problem.domain.learned.budget
    assert (whole.epsilon + rest.epsilon, whole.delta + rest.delta) == (Fraction(7, 10), Fraction(1, 10**6))


def test_a_ledger_pays_for_both_runs_and_each_is_settled(table):
    finished = made(asked(payer=budget(), out="out"))
    assert entries()[0] == "reserve"
    assert entries().count("reserve") == entries().count("settle") == 2
    assert spent() <= Cost(Fraction(400), Fraction(1, 10**6))
    assert spent().amount >= 80 + finished.plan.epsilon * Fraction(9, 10)
    require_verified(verify(VerifyRequest(release="out", ledger=LEDGER, anchor="none")))


def test_the_entry_that_paid_for_the_domain_is_named_wherever_its_price_is_stated(table):
    made(asked(payer=budget(), out="out"))
    record = json.loads(Path("out/release.json").read_text())
    reserved = [one for one in configured_ledger(LEDGER, "none").entries() if one.kind == "reserve"]
    paid, own = reserved[0], {"epsilon": "80", "delta": "2e-7"}
    named = {"dataset": "s", "entry": paid.number, "seal": paid.hash}
    assert json.loads(Path("out/domain.json").read_text())["learned"]["ledger"] == [named | own]
    (stated,) = record["plan"]["domain"]["learned"]["ledger"]
    assert {name: stated[name] for name in named} == named
    assert record["ledger"]["entry"] == reserved[1].number
    words = f"by entry {paid.number} of dataset 's'"
    assert f"its domain was learned (paid {words}), with epsilon 80" in record["guarantee"]
    assert record["receipt"][0][1].endswith(f"to learn the domain (region), paid {words}")
    later = asked(epsilon="10", domain=json.loads(Path("out/domain.json").read_text()))
    assert words in guarantee(dry_run(later)[0])


def test_the_entry_that_paid_for_the_domain_is_looked_for_before_a_release_is_paid_and_by_verify(table, monkeypatch):
    """Of another ledger, which may have paid, nothing is refused."""
    payer = budget()
    made(asked(payer=payer, out="out"))
    for number, (change, words) in enumerate(
        [
            ({"entry": 3}, "not the one whose seal"),
            ({"dataset": "t"}, "not the one whose seal"),
            ({"epsilon": "79"}, "paid more than the domain states"),
            ({"delta": "1e-7"}, "paid more than the domain states"),
            ({"seal": "0" * 64}, None),
        ]
    ):
        domain, before = json.loads(Path("out/domain.json").read_text()), spent()
        domain["learned"]["ledger"][0] |= change
        later = asked(payer=payer, out=f"later {number}", epsilon="1", domain=domain)
        with monkeypatch.context() as patch:
            if words is not None:
                no_table = replace(later, source=TableSource(paths=("there is none.csv",)))
                for run in (dry_run, made):
                    with pytest.raises(DocumentError, match=words):
                        run(no_table)
                assert spent() == before
                patch.setattr("dpqr.ledger.record.require_learned", lambda *_: "")  # as versions before 0.12
            made(later)
        request = VerifyRequest(release=f"later {number}", ledger=LEDGER, anchor="none")
        (found,) = [one for one in verify(request).checks if one.name == "ledger"]
        text = words or "which paid for what was learned, is of another ledger"
        assert (found.state, text in found.text) == ("FAILED" if words else "ok", True), (change, found)


def test_what_was_learned_before_is_looked_for_before_more_is_learned(table):
    payer = budget()
    made(asked(payer=payer, out="out"))
    domain, before = json.loads(Path("out/domain.json").read_text()), spent()
    domain["learned"]["ledger"][0]["epsilon"] = "79"
    more = domain | {"fields": [*domain["fields"], PAY]}
    with pytest.raises(DocumentError, match="paid more than the domain states"):
        made(asked(payer=payer, domain=more, out="more"))
    assert spent() == before


def test_entries_that_paid_more_than_the_whole_are_refused(table):
    made(asked(payer=budget(), out="out"))
    domain = json.loads(Path("out/domain.json").read_text())
    domain["learned"]["ledger"][0]["epsilon"] = "81"
    with pytest.raises(DocumentError, match="paid more than what was learned has cost"):
        dry_run(asked(epsilon="10", domain=domain))


@pytest.mark.parametrize(("epsilon", "words"), [("300", "asked"), ("399", "would not pay for both"), ("70", "asked")])
def test_nothing_is_opened_unless_the_budget_pays_for_both(table, epsilon, words, monkeypatch):
    monkeypatch.setattr(learned_release, "draw_domain", lambda *_, **__: pytest.fail("rows were read"))
    payer = budget(epsilon)
    for door in (made, dry_run):
        with pytest.raises(BudgetRefused, match=words):
            door(asked(payer=payer, out="out"))
    assert not spent()
    assert entries() == []
    assert not Path("out-domain.json").exists()


def test_what_the_owner_forbids_or_the_budget_cannot_count_is_refused(table):
    payer = budget(policy=Policy())
    with pytest.raises(BudgetRefused, match="--allow-learning"):
        made(asked(payer=payer))
    assert entries() == []


def test_a_ledger_pays_for_private_noise_only(table):
    with pytest.raises(UsageFault, match="private noise"):
        made(asked(payer=budget()), SeededNoise(1))
    assert entries() == []


@pytest.mark.slow
def test_others_who_spend_the_rest_meanwhile_leave_what_was_learned(table, monkeypatch):
    """The second run is refused, as any is that comes too late; the first stays paid, and --resume goes on with it."""
    payer = budget("430")
    drawn = learned_release.draw_domain

    def raced(*given, **more):
        document = drawn(*given, **more)
        other = over(asked(payer=payer, out="other"), document.document, plan_both(asked(epsilon="100")).rest)
        release_alone(other, SILENT)
        return document

    with monkeypatch.context() as patched:
        patched.setattr(learned_release, "draw_domain", raced)
        with pytest.raises(BudgetRefused) as ended:
            made(asked(payer=payer, out="out"))
    assert ended.value.__notes__ == [LEARNED]
    assert not Path("out").exists()
    kept = json.loads(Path("out-domain.json").read_text())
    assert kept["learned"]["epsilon"] == "80"
    with pytest.raises(AlreadyThere, match="--resume goes on with it"):
        made(asked(payer=payer, out="out"))
    # Less is asked of what is left: 430 - 80 - 80.
    again = asked(payer=replace(payer, resume=True), out="out", epsilon="330")
    before = spent()
    finished = made(again)
    assert finished.plan.budget.epsilon == 250
    assert spent().amount - before.amount <= 250
    assert json.loads(Path("out/domain.json").read_text()) == kept
    assert not Path("out-domain.json").exists()


KILLED = """
import os, signal, sys
from releases.test_learned_release import *
from dpqr.releases import release
from dpqr.releases.learned import learned_release
payer = LedgerRequest(dataset="s", ledger=LEDGER, anchor="none")
def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "between":
    learned_release.release = dies
else:
    release.construct = dies
made(asked(payer=payer, out="out"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["between", "later"])
def test_what_wconsistent_with_draws_before_a_kill_is_paid_and_gone_on_with(table, where):
    payer = budget()
    tests = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": tests}
    ended = subprocess.run([sys.executable, "-c", KILLED, where], env=environment, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert spent().amount >= 80
    assert entries() == ["reserve", "settle"] if where == "between" else ["reserve", "settle", "reserve"]
    kept = Path("out-domain.json").read_text()
    with pytest.raises(AlreadyThere, match="was not finished"):
        made(asked(payer=payer, out="out"))
    made(asked(payer=replace(payer, resume=True), out="out"))
    assert Path("out/domain.json").read_text() == kept
    assert spent() <= Cost(Fraction(400), Fraction(1, 10**6))
    require_verified(verify(VerifyRequest(release="out", ledger=LEDGER, anchor="none")))


def test_a_run_that_nobody_pays_for_keeps_what_was_learned_too(table, monkeypatch):
    def fails(*_, **__):
        raise DataError("the table is gone")

    for out, note in (("out", LEARNED_UNPAID), (None, STAYS_SPENT)):
        with monkeypatch.context() as patched:
            patched.setattr(learned_release, "release", fails)
            with pytest.raises(DataError) as ended:
                made(asked(out=out), SeededNoise(1))
        assert ended.value.__notes__ == [note]
    go_on = replace(asked().plan, domain="out-domain.json", epsilon="320", delta="8e-7")
    assert made(replace(asked(), plan=go_on), SeededNoise(1)).plan.problem.domain.learned


def test_a_column_of_which_no_label_is_kept_ends_the_run(table):
    with pytest.raises(InfeasiblePlan, match="no label of 'id' was kept") as ended:
        made(
            asked(
                {"name": "id", "type": "string", "dpqr": {"labels": "learn"}},
                SEX,
                out="out",
                queries=[{"marginal": ["id"]}],
                epsilon="1",
            ),
            SeededNoise(3),
        )
    assert ended.value.__notes__ == [LEARNED_UNPAID]


def test_resuming_needs_what_was_learned_for_a_part_of_the_budget(table):
    payer = replace(budget(), resume=True)
    with pytest.raises(UsageFault, match="does not lie beside --out"):
        made(asked(payer=payer, out="out"))
    with pytest.raises(UsageFault, match="add --out DIR"):
        made(asked(payer=payer))
    learned = {"columns": ["region"], "epsilon": "500", "delta": "0", "unit": "one row"}
    for document in ({"fields": [SEX], "learned": learned}, {"fields": [SEX]}):
        Path("out-domain.json").write_text(json.dumps(document))
        with pytest.raises(UsageFault, match="not learned for a part"):
            made(asked(payer=payer, out="out"))
    assert entries() == []


@pytest.mark.parametrize("share", ["0.2", "0.5"])
def test_the_joint_law_of_both_runs_is_within_the_whole_price(table, share):
    """Labels of n records and of one more, whose cell counts them where it is kept, and else that of all others.

    Outcomes are (kept, count): p_n f(y - n), or (1 - p_n) f(y - m - n) with m records of other labels; f is discrete
    Laplace noise. Beyond all counts P and Q fall as one geometric sequence, so that the tail is its first term's share.
    """
    both = plan_both(
        asked(epsilon="2", delta="0.01", check="laplace", accountant="basic", count_dropped=None, learn_share=share)
    )
    law, whole = both.learning.labels[0].selection.law, whole_budget(both.plan)
    (noise,) = (event for event, _ in both.assumed.events if isinstance(event, DiscreteLaplaceEvent))
    falls, growth, most = exp(-1 / real(noise.scale)), exp(real(whole.epsilon)), 0
    scale = (1 - falls) / (1 + falls)

    def joint(count, value):
        kept = real(law.probability(count))
        return kept * scale * falls ** abs(value - count), (1 - kept) * scale * falls ** abs(value - count - 3)

    for count in range(law.certain + 1):
        for one, other in ((count, count + 1), (count + 1, count)):
            found = real(0)
            for value in range(-3, count + 6):
                weight = 1 / (1 - falls) if value in (-3, count + 5) else 1
                pairs = zip(joint(one, value), joint(other, value), strict=True)
                found += weight * sum(max(p - growth * q, 0) for p, q in pairs)
            most = max(most, found)
    assert most <= real(whole.delta) + LEAST
    # What is learned by itself spends its delta, so that the sum is no loose claim.
    assert most >= real(both.learning.budget.delta) / 100


# What is planned, and what is refused.


def test_nothing_but_what_was_released_steers_the_second_plan(table):
    """The plan of the release is that of anybody who asks over the learned domain, without the table."""
    finished = made(asked(SEX, REGION, PAY, queries=[{"marginal": ["sex", "region"]}, {"mean": "pay"}], out="out"))
    domain = json.loads(Path("out/domain.json").read_text())
    queries = [{"marginal": ["sex", "region"]}, {"mean": "pay"}]
    Path("t.csv").write_text("id,sex,region,pay\n")
    plan, _ = dry_run(asked(domain=domain, queries=queries, epsilon="320", delta="8e-7"))
    assert plan.events == finished.plan.events
    assert plan.problem.domain == finished.plan.problem.domain


def test_a_dry_run_reads_nothing_and_says_what_it_assumes(table, monkeypatch):
    monkeypatch.setattr(learned_release, "draw_domain", lambda *_, **__: pytest.fail("rows were read"))
    plan, taken = dry_run(asked(REGION, PAY, queries=[{"marginal": ["region", "pay"]}], payer=budget(), epsilon="1"))
    assert plan.budget.epsilon == Fraction(4, 5)
    assert plan.problem.domain.learned.budget.epsilon == Fraction(1, 5)
    assert taken.memory > 0
    first, labels, bounds, assumed, *_ = plan.notes
    assert first.startswith("learned first: epsilon 0.2, delta 2e-7 for one row")
    assert labels.startswith("learned first: labels of 'region': kept with probability 1/2 from 125 rows on")
    assert bounds.startswith("learned first: bounds of 'pay'")
    assert "this plan assumes 20 labels of 'region', bounds 0 and 100 of 'pay'; `dpqr plan` forecasts" in assumed
    assert plan.inputs is None
    assert entries() == []


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({"rehearse": True}, UsageFault, "without --rehearse"),
        ({"period": "2024-01"}, UsageFault, "without --period"),
        ({"cumulative": 4}, UsageFault, "without --cumulative"),
        ({"start": b"{}"}, UsageFault, "without --start"),
        ({"source": TableSource(paths=("-",))}, UsageFault, "without standard input"),
        ({"learn_share": "1"}, UsageFault, "--learn-share 1: must be at least 1e-12 and below 1"),
        ({"learn_share": "0.2", "domain": {"fields": [SEX]}}, UsageFault, "leaves nothing open"),
        ({"delta": None}, UsageFault, "learned labels need a delta"),
        ({"queries": [{"where": "region = 'north'"}]}, DocumentError, "compares 'region' with 'north'"),
        (
            {"queries": {"sql": "SELECT COUNT(*) FROM t WHERE region = 'north'"}},
            DocumentError,
            "compares 'region' with",
        ),
        ({"queries": [{"marginal": ["nowhere"]}]}, DocumentError, "nowhere"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_is_refused_before_a_row_is_read(table, changed, kind, words, monkeypatch):
    monkeypatch.setattr(learned_release, "draw_domain", lambda *_, **__: pytest.fail("rows were read"))
    queries = changed.pop("queries", [{"marginal": ["sex"]}])
    request = asked(**({"out": "out"} | changed))
    stated = queries if isinstance(queries, dict) else {"queries": queries}
    with pytest.raises(kind, match=words):
        made(replace(request, plan=replace(request.plan, queries=stated)))
    assert os.listdir() == ["t.csv"]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (REGION | {"constraints": {"enum": ["north"]}}, "'enum' states them"),
        (REGION | {"type": "integer"}, "labels of columns of type string are learned"),
        (PAY | {"type": "date"}, "bounds of columns of type integer or number are learned"),
        (PAY | {"constraints": {"minimum": 0}}, "'minimum' states them"),
        (PAY | {"dpqr": {"bounds": "learn", "edges": [0, 1]}}, "'edges' states them"),
        (REGION | {"dpqr": {"labels": "learn", "aliases": {"north": ["N"]}}}, "'aliases' states them"),
        (REGION | {"parent": {"north": "all"}}, "'parent' states them"),
        (PAY | {"dpqr": {"bounds": "learn", "bins": 2000}}, "--bins 2000"),
        (PAY | {"dpqr": {"bounds": "learn", "grid": 0}}, "--grid 0"),
        (SEX | {"dpqr": {"cuts": "quantiles"}}, "these are stated"),
        (SEX | {"dpqr": {"max_labels": 2}}, "how labels are learned, and these are stated"),
        (PAY | {"dpqr": {"bounds": "learn", "max_labels": 2}}, "'max_labels' states them, or needs them"),
        (REGION | {"dpqr": {"labels": "learn", "max_labels": 2}}, "a row has one label"),
    ],
)
def test_a_field_leaves_open_or_states_and_not_both(table, field, words):
    with pytest.raises((DocumentError, UsageFault), match=words):
        made(asked(REGION | {"name": "other"}, field, queries=[{"marginal": [field["name"]]}]))


def test_check_reads_all_that_needs_no_label(table):
    queries = {"queries": [{"marginal": ["region", "sex"]}, {"mean": "pay", "by": ["sex"]}, {"where": "sex = 'f'"}]}
    found = check_documents(queries, {"fields": [REGION, PAY, SEX], "malformed": "drop"})
    assert [column["name"] for column in found["columns"]] == ["region", "pay", "sex"]
    assert found["blocks"] == 3
    assert found["notes"][0].endswith("sizes here assume 20 labels of 'region', bounds 0 and 100 of 'pay'")
    assert "labels need --delta" in found["notes"][1]
    assert "--accounting basic --allow-learning" in found["notes"][1]
    assert check_documents(queries, {"fields": [SEX | {"name": "region"}, PAY | {"dpqr": {"edges": [0, 1, 2]}}, SEX]})[
        "notes"
    ]
    assert os.listdir() == ["t.csv"]


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ({"marginal": ["nowhere"]}, REGION, "nowhere"),
        ({"where": "sex = 'x'"}, REGION, "'x'"),
        ({"where": "region = 'north'"}, REGION, "compares 'region' with 'north', but its labels are to be learned"),
        ({"marginal": ["region"]}, REGION | {"type": "integer"}, "labels of columns of type string are learned"),
        ({"marginal": ["pay"]}, PAY | {"constraints": {"minimum": 0}}, "'minimum' states them"),
        ({"marginal": ["sex"]}, SEX | {"name": "other", "constraints": {"enum": [], "m": 1}}, "enum"),
    ],
    ids=lambda value: "",
)
def test_check_refuses_what_a_release_that_learns_would(table, query, field, words, monkeypatch):
    monkeypatch.setattr(learned_release, "draw_domain", lambda *_, **__: pytest.fail("rows were read"))
    open_one = PAY if field["name"] == "region" else REGION
    domain, queries = {"fields": [field, open_one, SEX], "malformed": "drop"}, [query]
    for door in (
        lambda: check_documents({"queries": queries}, domain),
        lambda: dry_run(asked(domain=domain, queries=queries)),
    ):
        with pytest.raises(DocumentError, match=words):
            door()


def test_other_doors_ask_for_a_domain_that_was_learned_before(table):
    with pytest.raises(DocumentError, match="nobody knows the labels of 'region' yet"):
        release_alone(asked(), SILENT)
    with pytest.raises(DocumentError, match="what was learned costs epsilon and delta"):
        made(
            asked(domain={"fields": [SEX], "learned": {"columns": ["sex"], "epsilon": "x", "delta": "0", "unit": "u"}})
        )
