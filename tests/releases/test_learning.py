"""`dpqr domain --learn`: what it costs, what it refuses before anything is opened, and what it writes."""

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.cases import slow_but, thinned

from dpqr.domain.domain_file import decode_domain, learned_part
from dpqr.domain.text.decoding import Location
from dpqr.kernel.accountants.accountant import summed_cost
from dpqr.kernel.accountants.losses import concentrated_rho, squared_mu
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.errors import AlreadyThere, BudgetRefused, DataError, DpqrError, InfeasiblePlan, UsageFault
from dpqr.kernel.events import DiscreteLaplaceEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import BudgetRequest, configured_ledger, open_budget, restrict
from dpqr.releases.documents import DomainRequest
from dpqr.releases.learned import learning
from dpqr.releases.learned.learned_domain import LearnRequest, dry_learning, learn_domain, plan_learning
from dpqr.releases.learned.learning import learned_price
from dpqr.releases.requests import LedgerRequest
from dpqr.tables.policy import Policy, PolicyChange

REGIONS = {"north": 400, "south": 300, "east": 2, "PRIVATEVALUE": 1}
LEDGER = "l.sqlite"
WHOM = "one row of the table added or removed (the number of rows is private)"


@pytest.fixture
def table(tmp_path, monkeypatch):
    """700 rows of 352 persons, of two common regions and two rare ones, in a new working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPQR_LEDGER", raising=False)
    labels = [label for label, count in REGIONS.items() for _ in range(count)]
    draw = np.random.default_rng(1)
    rows = [
        f"{number // 2},{label},{draw.integers(20, 90)},{draw.normal(3000, 500):.2f},2024-01-05"
        for number, label in enumerate(labels)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["person,region,age,pay,day", *rows, ""]))
    return "t.csv"


TYPES = ("person=string", "age=integer", "pay=number", "day=date")


def asked(columns="region,age,pay", epsilon="6", delta="1e-6", described=None, **more):
    known = {"data": "t.csv", "types": TYPES} | (described or {})
    return LearnRequest(
        described=DomainRequest(**known), columns=tuple(columns.split(",")), epsilon=epsilon, delta=delta, **more
    )


def budget(accounting="basic", **more):
    """A ledger with a budget that lets labels be learned, unless it is said otherwise; who pays."""
    terms = {"epsilon": "10", "delta": "1e-5", "accountant": accounting, "policy": Policy(learning=True)}
    open_budget(configured_ledger(LEDGER, "none"), BudgetRequest(dataset="s", **terms | more))
    return {"payer": LedgerRequest(dataset="s", ledger=LEDGER, anchor="none")}


def spent():
    return configured_ledger(LEDGER, "none").account("s").spent


def entries():
    return [each.kind for each in configured_ledger(LEDGER, "none").entries() if each.kind != "open"]


def test_common_labels_and_bounds_are_written_as_a_domain_file_that_a_release_takes(table):
    made = learn_domain(asked(), noise=SeededNoise(1), out="d.json")
    assert json.loads(Path("d.json").read_text()) == made.document
    domain = decode_domain(made.document, Location("d.json"))
    assert domain.names == ("region", "age", "pay")
    region, age, pay = domain.attributes
    assert region.titles() == ("north", "south", "(null)", "(outside)")
    assert age.axis.edges[0] <= 25
    assert 85 <= age.axis.edges[-1] <= 112
    assert pay.axis.edges[0] <= 2500
    assert 3500 <= pay.axis.edges[-1] <= 6144
    assert age.size == pay.size == 11
    price = {"columns": ["region", "age", "pay"], "epsilon": "6", "delta": "1e-6", "unit": WHOM}
    assert made.document["learned"] == price
    text = made.text + "".join(made.remarks)
    assert "PRIVATEVALUE" not in text
    assert "400" not in text


def test_a_domain_that_was_learned_before_states_both_costs_or_is_refused_for_other_units(table):
    first = learn_domain(asked(columns="region"), noise=SeededNoise(1), out="d.json")
    both = learned_price(first.document, ["age"], PrivacyBudget(Fraction(1, 2), Fraction(1, 10**7)), WHOM)
    assert both == {"columns": ["region", "age"], "epsilon": "6.5", "delta": "1.1e-6", "unit": WHOM}
    with pytest.raises(UsageFault, match=r"was learned for one row .* would be for one person"):
        learned_price(first.document, ["age"], PrivacyBudget(Fraction(1)), "one person")


def test_no_rounding_states_less_than_the_entries_have_paid():
    document = {}
    for number, epsilon in enumerate((Fraction("1.00000000001e-9"), Fraction(1, 3))):
        paid = SimpleNamespace(dataset="s", number=number, receipt=f"{number}")
        document = {"learned": learned_price(document, ["age"], PrivacyBudget(epsilon), WHOM, paid=paid)}
    assert len(learned_part(document, Location("domain")).entries) == 2


def test_quantiles_cut_bins_of_like_size(table):
    """Of 0 .. 999, nearly without noise; a cell of the grid is divided as if its records lay evenly."""
    Path(table).write_text("\n".join(["pay", *map(str, range(1000)), ""]))
    request = asked("pay", epsilon="200", delta=None, described={"types": ("pay=number",)}, cuts="quantiles", bins=4)
    made = learn_domain(request, noise=SeededNoise(2))
    edges = decode_domain(made.document, Location("d")).attributes[0].axis.edges
    assert edges[0] < 2
    assert edges[1:] == (250, 500, 750, 1024)


@pytest.mark.parametrize("columns", ["region", "age", "region,age", "region,person,age,pay"])
@pytest.mark.parametrize("unit", [{}, {"unit": "id", "max_rows": 3}], ids=["rows", "persons"])
@pytest.mark.parametrize("neighbours", thinned(["add-remove", "replace"], 2))
@pytest.mark.parametrize("cuts", thinned(["equal", "quantiles"], 2))
def test_what_is_drawn_costs_the_budget_and_no_more(table, columns, unit, neighbours, cuts):
    text = Path(table).read_text().replace("\n", ",1\n").replace("day,1", "day,id")
    Path(table).write_text(text)
    more = {"max_labels": 3} if unit else {}
    plan = plan_learning(asked(columns, described=unit, neighbours=neighbours, cuts=cuts, **more))
    labelled = "region" in columns
    assert summed_cost(plan.events) == Cost(Fraction(6), Fraction(1, 10**6) if labelled else Fraction(0))
    guard = plan.bill.guard()
    for event, count in plan.events:
        for _ in range(count):
            guard.charge(event)
    for event, _ in plan.events:
        with pytest.raises(BudgetRefused):
            guard.charge(event)


def test_a_ledger_reserves_first_and_is_charged_what_wconsistent_with_draws(table):
    payer = budget()
    made = learn_domain(asked(described=payer))
    assert spent() == Cost(Fraction(6), Fraction(1, 10**6))
    assert entries() == ["init", "reserve", "settle"]
    last = configured_ledger(LEDGER, "none").entries()[-2]
    assert last.note == "learned: region, age, pay"
    assert made.remarks[-1].startswith("paid: (epsilon 6, delta 1e-6), entry ")
    with pytest.raises(BudgetRefused):
        learn_domain(asked(described=payer))
    assert spent() == Cost(Fraction(6), Fraction(1, 10**6))


def test_every_run_that_a_ledger_paid_for_is_named_and_the_others_are_a_part(table):
    payer = budget()
    first = learn_domain(asked("region", epsilon="1", described=payer)).document
    reserved = [one for one in configured_ledger(LEDGER, "none").entries() if one.kind == "reserve"]
    (entry,) = first["learned"]["ledger"]
    own = {"epsilon": "1", "delta": "1e-6"}
    assert entry == {"dataset": "s", "entry": reserved[0].number, "seal": reserved[0].hash} | own
    unpaid = learned_price(first, ["age"], PrivacyBudget(Fraction(2)), WHOM)
    assert unpaid["ledger"] == [entry]
    words = [
        decode_domain(first | {"learned": part}, Location("d")).learned.paid_words
        for part in (first["learned"], unpaid)
    ]
    named = f"by entry {reserved[0].number} of dataset 's'"
    assert words == [named, f"in part {named}"]
    assert "ledger" not in learn_domain(asked("region", epsilon="1")).document["learned"]


@pytest.mark.parametrize("accounting", ["zcdp", "gdp"])
def test_a_budget_of_one_figure_pays_for_bounds_and_for_no_labels(table, accounting):
    payer = budget(accounting)
    with pytest.raises(BudgetRefused, match="epsilon and delta alone"):
        learn_domain(asked(described=payer))
    assert not spent()
    learn_domain(asked("age", epsilon="1", described=payer))
    priced = {"zcdp": concentrated_rho, "gdp": squared_mu}[accounting]
    assert spent() == Cost(priced(DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(1))))


def test_an_owner_who_did_not_allow_it_is_asked(table):
    payer = budget(policy=Policy())
    with pytest.raises(BudgetRefused, match="--allow-learning"):
        learn_domain(asked(described=payer))
    assert entries() == ["init"]
    ledger = configured_ledger(LEDGER, "none")
    restrict(ledger, "s", PolicyChange(learning=True))
    learn_domain(asked("age", epsilon="1", described=payer))
    restrict(configured_ledger(LEDGER, "none"), "s", PolicyChange(learning=False))
    with pytest.raises(BudgetRefused, match="--allow-learning"):
        learn_domain(asked("age", epsilon="1", described=payer))


REFUSED = [
    ({"columns": "regio"}, UsageFault, "no column 'regio'"),
    ({"columns": "age,age"}, UsageFault, "twice"),
    ({"columns": "day"}, UsageFault, "of dates"),
    ({"delta": None}, UsageFault, "delta above 0"),
    ({"delta": "0"}, UsageFault, "delta above 0"),
    ({"epsilon": "0"}, UsageFault, "epsilon"),
    ({"max_labels": 2}, UsageFault, "--max-labels"),
    ({"grid": "0"}, UsageFault, "--grid"),
    ({"bins": 0}, UsageFault, "--bins"),
    ({"epsilon": "1e-8", "delta": "1e-9"}, InfeasiblePlan, "too small"),
    ({"described": {"types": ("region=string:a|b",)}, "columns": "region"}, UsageFault, "stated already"),
    ({"described": {"unit": "region", "max_rows": 1}}, UsageFault, "no column 'region'"),
    ({"described": {"unit": "person"}}, UsageFault, "--max-rows"),
    ({"described": {"data": "other.csv"}}, DpqrError, "other.csv"),
]


@pytest.mark.parametrize(("changed", "error", "words"), slow_but({0, 7}, REFUSED))
def test_what_cannot_be_learned_is_refused_before_a_row_is_read_or_anything_is_paid(
    table, monkeypatch, changed, error, words
):
    payer = budget()
    for name in ("count_labels", "load_table"):
        monkeypatch.setattr(learning, name, lambda *_, **__: pytest.fail("rows were read"))
    described = payer | changed.get("described", {})
    with pytest.raises(error, match=words):
        learn_domain(asked(**changed | {"described": described}))
    assert entries() == ["init"]


def test_an_output_that_exists_is_refused_before_anything_is_paid(table):
    payer = budget()
    Path("d.json").touch()
    with pytest.raises(AlreadyThere):
        learn_domain(asked(described=payer), out="d.json")
    assert entries() == ["init"]


def test_a_run_that_fails_once_rows_were_read_stays_paid_in_full(table, monkeypatch):
    payer = budget()

    def fail(*_, **__):
        raise DataError("broken")

    monkeypatch.setattr(learning, "load_table", fail)
    with pytest.raises(DataError, match="broken"):
        learn_domain(asked(described=payer), out="d.json")
    assert spent() == Cost(Fraction(6), Fraction(1, 10**6))
    assert entries() == ["init", "reserve", "settle"]


def test_a_ledger_pays_for_private_noise_only(table):
    with pytest.raises(UsageFault, match="private noise"):
        learn_domain(asked(described=budget()), noise=SeededNoise(1))


def test_a_dry_run_reads_and_pays_nothing_and_says_what_would_be_kept(table, monkeypatch):
    payer = budget()
    for name in ("count_labels", "load_table", "check_table"):
        monkeypatch.setattr(learning, name, lambda *_, **__: pytest.fail("the table was opened"))
    made = dry_learning(asked("region", epsilon="1", described=payer))
    assert made.remarks == (
        "epsilon 1, delta 1e-6 for one row of the table added or removed (the number of rows is private)",
        "labels of 'region': kept with probability 1/2 from 14 rows on, surely from 28 on; all others are one cell",
    )
    assert entries() == ["init"]
    with pytest.raises(BudgetRefused):
        dry_learning(asked(epsilon="11", described=payer))


def test_a_column_without_any_kept_label_is_left_out_and_so_is_one_that_nobody_describes(table):
    made = learn_domain(asked("region,age", epsilon="0.02"), noise=SeededNoise(3))
    assert [field["name"] for field in made.document["fields"]] == ["age"]
    assert "left out, for no label was kept: region; give more --eps, or state the labels" in made.remarks
    assert "left out, for their labels or bounds are not known: person, pay, day" in made.remarks
    assert made.remarks[-1].startswith("no ledger adds this up")


def test_whole_numbers_have_whole_bounds_and_no_more_bins_than_values(table):
    Path(table).write_text("\n".join(["age", *["3"] * 900, ""]))
    made = learn_domain(asked("age", delta=None, described={"types": ("age=integer",)}), noise=SeededNoise(4))
    (field,) = made.document["fields"]
    bounds = field["constraints"]
    assert bounds["minimum"] <= 3 <= bounds["maximum"] <= 4
    assert field["dpqr"]["bins"] == bounds["maximum"] - bounds["minimum"] + 1
    decode_domain(made.document, Location("d"))


@pytest.mark.parametrize(
    "cells", thinned([[], [""] * 50, ["nan", "inf", "x", "1e300"] * 20], 3), ids=["empty", "null", "odd"]
)
def test_columns_of_no_use_end_in_a_sound_domain_file(table, cells):
    Path(table).write_text("\n".join(["pay,region", *(f"{cell},{cell}" for cell in cells), ""]))
    for cuts in ("equal", "quantiles"):
        request = asked("pay,region", described={"types": ("pay=number",)}, cuts=cuts)
        made = learn_domain(request, noise=SeededNoise(5))
        assert decode_domain(made.document, Location("d")).names[0] == "pay"


def test_how_texts_are_written_is_kept(table):
    book = {"fields": [{"name": "region", "type": "string", "dpqr": {"trim": True, "caseSensitive": False}}]}
    Path("book.json").write_text(json.dumps(book))
    lines = Path(table).read_text().replace(",north", ", NORTH").splitlines()
    Path(table).write_text("\n".join([*lines, *["1,north,1,1,2024-01-05"] * 400, ""]))
    request = asked("region", described={"codebooks": ("book.json",), "types": ()})
    made = learn_domain(request, noise=SeededNoise(6))
    field = next(each for each in made.document["fields"] if each["name"] == "region")
    assert field["constraints"]["enum"] == ["north", "south"]
    assert field["dpqr"]["trim"] is True
    assert field["dpqr"]["caseSensitive"] is False


def test_persons_are_protected_and_named(table):
    described = {"unit": "person", "max_rows": 2}
    made = learn_domain(asked("region", described=described, max_labels=2), noise=SeededNoise(7))
    assert made.document["unit"] == {"column": "person", "max_rows": 2}
    assert made.remarks[1].endswith("all others are one cell; a person counts in at most 2 labels")
    assert "one person (column 'person')" in made.document["fields"][0]["description"]


def test_persons_that_a_codebook_names_are_protected_too(table):
    """Whether the unit stands in the domain file or in an option."""
    unit = {"column": "person", "max_rows": 3, "max_rows_per_cell": 2}
    book = {
        "unit": unit,
        "fields": [{"name": "region", "type": "string", "dpqr": {"labels": "learn", "max_labels": 2}}],
    }
    Path("book.json").write_text(json.dumps(book))
    described = {"codebooks": ("book.json",), "types": ()}
    plan = plan_learning(asked("region", described=described))
    assert (plan.unit.columns, plan.unit.rows, plan.labels[0].selection.labels) == (("person",), 3, 2)
    fewer = learn_domain(asked("region", described=described | {"max_rows": 1}), noise=SeededNoise(7))
    assert fewer.document["unit"] == unit | {"max_rows": 1, "max_rows_per_cell": 1}
    assert fewer.document["fields"][0]["constraints"]["enum"] == ["north", "south"]
    assert "labels" not in fewer.document["fields"][0]["dpqr"]
    assert plan_learning(asked("region", described=described, learn_max_rows="0.1")).choice.numbers[-1] == 3


def test_the_table_is_read_as_the_budget_states(table):
    Path(table).write_text(Path(table).read_text().replace(",", ";"))
    payer = budget(policy=Policy(learning=True, delimiter=";"))
    assert plan_learning(asked(described=payer)).names == ("region", "age", "pay")
    with pytest.raises(UsageFault, match="no column"):
        plan_learning(asked())


def test_the_request_is_the_plan(table):
    """Each column has an equal share; a label costs a share of that by how many labels of a person count."""
    plan = plan_learning(asked("region,age", described={"unit": "person", "max_rows": 2}, max_labels=2))
    (labels,), (numbers,) = plan.labels, plan.numbers
    assert (labels.selection.epsilon, labels.selection.labels) == (Fraction(3, 2), 2)
    assert numbers.draw(0).event == DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(2, 3))
    replaced = plan_learning(replace(asked("region"), neighbours="replace"))
    assert replaced.labels[0].selection.labels == 2
