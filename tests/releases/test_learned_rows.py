"""A release that chooses how many rows of each person it uses: what is drawn, chosen, paid and stated, and refused."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned

from dpqr.domain.domain import LearnedRows
from dpqr.domain.domain_file import decode_domain
from dpqr.domain.text.decoding import Location
from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused, DataError, DocumentError, DpqrError, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import BudgetRequest, configured_ledger, open_budget, restrict
from dpqr.mechanisms.learning import RowsOfPersons, row_numbers
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import require_verified, verify
from dpqr.releases.any_release import dry_run, release
from dpqr.releases.documents import DomainRequest
from dpqr.releases.files.read_release import read_release
from dpqr.releases.forecast.by_epsilon import ForecastRequest, forecast_releases
from dpqr.releases.learned import learned_release
from dpqr.releases.learned.learned_domain import LearnRequest, learn_domain, plan_learning
from dpqr.releases.learned.learned_release import plan_both
from dpqr.releases.learned.learning import LearningPlan
from dpqr.releases.learned.person_rows import ForecastErrors, RowChoice, chosen_words
from dpqr.releases.loop import SILENT
from dpqr.releases.requests import LedgerRequest, OutputRequest, PlanRequest, ReleaseRequest
from dpqr.releases.sentences import guarantee, whole_budget
from dpqr.tables.policy import Policy, PolicyChange
from dpqr.tables.source import TableSource

SEX = {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
PAY = {"name": "pay", "type": "number", "dpqr": {"bounds": "learn", "bins": 4}}
REGION = {"name": "region", "type": "string", "dpqr": {"labels": "learn"}}
LEDGER = "l.sqlite"
ROWS = {1: 300, 3: 400, 7: 50}
"""How many persons have so many rows."""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The persons of ROWS, and one row of nobody and one that a rule drops for each of the first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPQR_LEDGER", raising=False)
    sizes = [rows for rows, persons in ROWS.items() for _ in range(persons)]
    lines = [
        f"p{person},{'fm'[row % 2]},{row % 10},{'north' if person % 3 else 'south'},{row + 1}"
        for person, rows in enumerate(sizes)
        for row in range(rows)
    ]
    lines += [line for person in range(40) for line in (",f,1,north,1", f"p{person},other,1,north,1")]
    Path("t.csv").write_text("\n".join(["id,sex,age,region,pay", *lines, ""]))
    return "t.csv"


def asked(*fields, queries=({"marginal": ["sex", "age"]},), payer=None, out=None, domain=None, **plan):
    """A release of an epsilon at which hardly anything is left to chance, unless it is said otherwise."""
    domain = domain or {"fields": list(fields or (SEX, AGE)), "malformed": "drop"}
    more = {name: plan.pop(name) for name in ("learn_share", "rehearse", "source") if name in plan}
    more["learn_max_rows"] = plan.pop("share", "0.25")
    documents = {"queries": {"queries": list(queries)}, "domain": domain, "epsilon": "400", "unit": "id"}
    return ReleaseRequest(
        **({"source": TableSource(paths=("t.csv",)), "payer": payer} | more),
        plan=PlanRequest(**(documents | plan)),
        output=OutputRequest(directory=out),
    )


def made(request, noise=None):
    return release(request, SILENT, noise=noise)


def budget(epsilon="1000", accountant="basic", learning=True):
    terms = {"epsilon": epsilon, "delta": "1e-5", "accountant": accountant, "policy": Policy(learning=learning)}
    open_budget(configured_ledger(LEDGER, "none"), BudgetRequest(dataset="s", unit="id", **terms))
    return LedgerRequest(dataset="s", ledger=LEDGER, anchor="none")


# What is drawn and chosen.


@pytest.mark.parametrize(
    "relation", thinned([{}, {"neighbours": "replace", "n": 750}], 2), ids=["add-remove", "replace"]
)
def test_counts_of_persons_are_drawn_and_the_bound_that_they_show_is_used(table, relation):
    """At this epsilon noise costs less than any row: all are used. Rows of nobody and dropped ones count nowhere."""
    strict = {"fields": [each | {"dpqr": {"otherwise": "drop"}} for each in (SEX, AGE)], "malformed": "drop"}
    finished = made(asked(domain=strict, **relation), SeededNoise(1))
    learned = finished.plan.problem.domain.learned
    assert dict(zip(learned.rows.numbers, learned.rows.persons, strict=True)) == {
        number: ROWS.get(number, 0) for number in row_numbers(64)
    }
    assert finished.plan.problem.unit.rows == 7
    assert sum(finished.answers[0].estimate) == pytest.approx(300 + 3 * 400 + 7 * 50, abs=1)
    assert learned.rows.scale == Fraction(2 if relation else 1, 100)


@pytest.mark.slow
def test_at_a_small_epsilon_rows_are_left_out_and_the_release_says_how_many(table):
    finished = made(asked(epsilon="0.1", share="0.5"), SeededNoise(3))
    assert finished.plan.problem.unit.rows < 7
    words = chosen_words(finished.plan.problem.domain.learned.rows, finished.plan.problem.unit.rows)
    assert words in finished.plan.notes
    assert "of the rows are used" in words


@pytest.mark.slow
def test_whoever_has_the_release_can_choose_again(table):
    """The bound is a function of released counts and of forecasts for each number, which are public."""
    request = asked(epsilon="2", out="out", queries=[{"marginal": ["sex", "age"]}, {"prefix": "age"}])
    made(request, SeededNoise(5))
    record = read_release("out").record["plan"]["domain"]["learned"]["max_rows"]
    numbers, persons = tuple(record["numbers"]), tuple(record["persons"])
    choice = plan_both(replace(request, output=OutputRequest())).learning.choice
    rows = LearnedRows(numbers=numbers, persons=persons, scale=Fraction(record["scale"]["exact"]))
    assert json.loads(Path("out/domain.json").read_text())["unit"]["max_rows"] == choice.best(rows)


def test_noise_and_kept_rows_follow_what_was_chosen_and_prices_do_not(table):
    both = plan_both(asked(SEX, PAY, queries=[{"mean": "pay"}], epsilon="3", delta="1e-6"))
    for rows in (1, 5, 64):
        later = both.learning.with_rows(rows)
        assert later.unit.rows == rows
        (column,) = later.numbers
        draw = column.draw(0)
        assert draw.unit.rows == rows
        assert draw.event.sensitivity == rows
        assert draw.event.sensitivity / draw.scale == column.epsilon == both.learning.numbers[0].epsilon
        assert later.events[0] == both.learning.events[0]
    (first, _), *_ = both.learning.events
    assert first.sensitivity / first.scale == both.learning.choice.epsilon == Fraction(3, 4)


@pytest.mark.slow
def test_the_bounds_of_a_column_are_drawn_with_the_noise_of_the_rows_that_were_chosen(table, monkeypatch):
    drawn, sound = [], LearningPlan.with_rows

    def with_rows(plan, rows):
        drawn.append(sound(plan, rows))
        return drawn[-1]

    monkeypatch.setattr(LearningPlan, "with_rows", with_rows)
    finished = made(asked(SEX, PAY, queries=[{"marginal": ["sex"]}, {"mean": "pay"}]), SeededNoise(2))
    assert finished.plan.problem.unit.rows == drawn[0].unit.rows == drawn[0].numbers[0].unit.rows == 7
    assert finished.plan.problem.domain.learned.columns == ("pay",)


@pytest.mark.slow
def test_labels_bounds_and_rows_are_learned_in_one_run(table):
    request = asked(
        *(SEX, REGION, PAY), queries=[{"marginal": ["sex", "region"]}, {"mean": "pay"}], delta="1e-6", out="out"
    )
    finished = made(request, SeededNoise(2))
    learned = finished.plan.problem.domain.learned
    assert (learned.columns, learned.budget.epsilon) == (("region", "pay"), 180)
    assert finished.plan.budget.epsilon == 220
    assert whole_budget(finished.plan).epsilon == 400
    require_verified(verify(VerifyRequest(release="out")))


# What is paid and stated.


def test_domain_record_and_receipt_state_counts_bound_and_the_price_of_both(table):
    made(asked(out="out"))
    record, domain = read_release("out").record, json.loads(Path("out/domain.json").read_text())
    assert domain["unit"] == {"column": "id", "max_rows": 7}
    learned = record["plan"]["domain"]["learned"]
    assert domain["learned"]["max_rows"]["persons"] == learned["max_rows"]["persons"]
    price = {"columns": [], "epsilon": "100", "delta": "0", "unit": learned["unit"]}
    assert domain["learned"] == price | {"max_rows": domain["learned"]["max_rows"]}
    assert record["receipt"][0] == [
        "In all",
        "epsilon 400: epsilon 100 of it to learn how many rows of each person are used",
    ]
    said = "the number of rows of each person was learned, with epsilon 100 more: epsilon 400 in all."
    assert record["guarantee"].endswith(said)
    require_verified(verify(VerifyRequest(release="out")))


@pytest.mark.slow
def test_a_later_release_over_the_domain_uses_the_same_bound(table):
    made(asked(out="out"), SeededNoise(1))
    later = asked(domain="out/domain.json", share=None, unit=None, out="later")
    finished = made(later, SeededNoise(1))
    assert finished.plan.problem.unit.rows == 7
    assert finished.plan.problem.domain.learned.rows.numbers[-1] == 64
    assert "epsilon 500 in all" in guarantee(finished.plan)
    require_verified(verify(VerifyRequest(release="later")))


@pytest.mark.parametrize(
    ("accountant", "first"), slow_but({0}, [("basic", Fraction(7, 10)), ("zcdp", Fraction(29, 200))])
)
def test_a_ledger_charges_the_draw_by_its_own_sum(table, accountant, first):
    payer = budget(accountant=accountant)
    request = asked(SEX, PAY, queries=[{"mean": "pay"}], epsilon="1", delta="1e-6", share="0.5", payer=payer)
    made(request)
    reserved, settled = configured_ledger(LEDGER, "none").entries()[-4:-2]
    assert reserved.note == "learned: pay, rows of each person"
    assert reserved.cost.amount == settled.cost.amount == first


def test_a_budget_that_may_not_learn_pays_for_nothing(table):
    payer = budget(learning=False)
    with pytest.raises(BudgetRefused, match=r"allows nothing to be learned(.|\n)*--accounting basic --allow-learning"):
        made(asked(payer=payer))
    assert configured_ledger(LEDGER, "none").account("s").spent == Cost(Fraction(0))


@pytest.mark.slow
def test_a_run_that_fails_after_the_choice_goes_on_with_it(table, monkeypatch):
    payer, sound = budget(), learned_release.release

    def failing(*_, **__):
        raise DataError("ended")

    monkeypatch.setattr(learned_release, "release", failing)
    with pytest.raises(DataError):
        made(asked(payer=payer, out="out", max_rows_per_cell=3))
    kept = json.loads(Path("out-domain.json").read_text())
    monkeypatch.setattr(learned_release, "release", sound)
    again = LedgerRequest(dataset="s", ledger=LEDGER, anchor="none", resume=True)
    finished = made(asked(payer=again, out="out", max_rows_per_cell=3))
    assert finished.plan.problem.unit.rows == kept["unit"]["max_rows"] == 7
    assert configured_ledger(LEDGER, "none").account("s").spent.amount == 400


# The plan, which knows no bound, and what is refused.


def test_the_plan_shows_the_price_and_the_noise_of_every_number(table):
    plan, _ = dry_run(asked(epsilon="1", max_rows=4))
    lines = [note for note in plan.notes if note.startswith("learned first")]
    assert "chosen among 1 to 4 by counts of persons with an error of 5.66 each" in lines[1]
    assert lines[2].count(":") == 2 + 4
    assert "this plan assumes 3 rows of each person" in " ".join(plan.notes)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["option", "domain"])
def test_a_forecast_is_of_what_the_choice_leaves_at_every_doubling(table, where):
    stated = {"unit": {"column": "id", "max_rows": 5}} if where == "domain" else {}
    domain = {"fields": [SEX, AGE], "malformed": "drop"} | stated
    plain = asked(domain=domain, epsilon="1", schedule="strategy", max_rows=None if stated else 5)
    found = forecast_releases(ForecastRequest(release=plain, epsilons=("1",), runs=1))
    assert [point.forecast.max_rows for point in found.points] == [1, 2, 4, 5]
    at_rest = replace(plain, learn_max_rows=None)
    same = forecast_releases(ForecastRequest(release=at_rest, epsilons=("0.75",), runs=1, max_rows=(1, 2, 4, 5)))
    assert [point.forecast for point in found.points] == [point.forecast for point in same.points]
    assert found.notes[0].startswith("epsilon 0.25 of 1 chooses among 1 to 5 rows")
    with pytest.raises(UsageFault, match="at one --eps"):
        forecast_releases(ForecastRequest(release=plain, epsilons=("1", "2")))


@pytest.mark.slow
def test_a_stated_bound_is_the_largest_number(table):
    stated = {"unit": {"column": "id", "max_rows": 5, "max_rows_per_cell": 4}}
    domain = {"fields": [SEX, AGE], "malformed": "drop"} | stated
    finished = made(asked(domain=domain, unit=None, max_rows=2, delta="1e-6"), SeededNoise(1))
    assert finished.plan.problem.domain.learned.rows.numbers == (1, 2)
    assert (finished.plan.problem.unit.rows, finished.plan.problem.unit.cell_rows) == (2, 2)
    finished = made(asked(domain=domain, delta="1e-6", max_rows_per_cell=3), SeededNoise(1))
    assert finished.plan.problem.domain.learned.rows.numbers == (1, 2, 3, 4, 5)
    assert (finished.plan.problem.unit.rows, finished.plan.problem.unit.cell_rows) == (5, 3)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"unit": None}, UsageFault, "add --unit COLUMN"),
        ({"max_rows": 1}, UsageFault, "chooses among 1 to 1 rows"),
        ({"max_rows": 5000}, UsageFault, "that may be 2 to 4096"),
        ({"share": "1"}, UsageFault, "--learn-max-rows 1: must be at least 1e-12 and below 1"),
        ({"share": "0.9", "fields": (SEX, PAY), "queries": [{"mean": "pay"}]}, UsageFault, "together they are below 1"),
        ({"domain": {"sex": 2, "age": 10}}, UsageFault, 'needs a domain file with "fields"'),
        ({"rehearse": True}, UsageFault, "goes without --rehearse"),
        ({"cumulative": 4, "period": "2024-01"}, UsageFault, "goes without --cumulative"),
    ],
)
def test_what_cannot_be_chosen_is_refused_before_the_table_is_opened(table, options, kind, words):
    fields = options.pop("fields", ())
    with pytest.raises(kind) as refused:
        made(asked(*fields, **{"source": TableSource(paths=("absent.csv",))} | options))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "part",
    [
        {"numbers": [2, 1]},
        {"numbers": [1, 2, 3]},
        {"persons": [1]},
        {"scale": "0"},
        {"scale": "x"},
        {"more": 1},
    ],
)
def test_counts_that_are_none_are_refused(table, part):
    counts = {"numbers": [1, 2], "persons": [5, -1], "scale": "20"}
    learned = {"columns": [], "epsilon": "1", "delta": "0", "unit": "one person"}
    domain = {"fields": [SEX, AGE], "unit": {"column": "id", "max_rows": 2}, "malformed": "drop"}
    sound = asked(domain=domain | {"learned": learned | {"max_rows": counts}}, share=None, unit=None)
    assert dry_run(sound)[0].problem.domain.learned.rows.persons == (5, -1)
    with pytest.raises(DocumentError):
        dry_run(asked(domain=domain | {"learned": learned | {"max_rows": counts | part}}, share=None, unit=None))
    with pytest.raises(DpqrError, match="must name what was learned"):
        dry_run(asked(domain=domain | {"learned": learned}, share=None, unit=None))


# `dpqr domain --learn-max-rows`: the choice by itself, or beside columns.


def learning(*columns, **more):
    """A run at an epsilon that leaves hardly anything to chance; of `sex` the labels are known, of `age` the bounds."""
    types = ("id=string", "sex=string:f|m", "age=integer:0..9")
    described = {"data": "t.csv", "types": types, "unit": "id"} | {
        name: more.pop(name) for name in ("types", "unit", "max_rows", "payer", "codebooks") if name in more
    }
    stated = {"epsilon": "400", "learn_max_rows": "0.5" if columns else "1"} | more
    return LearnRequest(described=DomainRequest(**described), columns=columns, **stated)


def test_the_choice_by_itself_is_the_least_number_that_uses_most_rows(table):
    """Of 1,850 kept rows (300 + 1,200 + 350) 5 of each person use 1,750, or 94.6%, and 7 all of them."""
    found = learn_domain(learning(), noise=SeededNoise(1))
    assert found.document["unit"] == {"column": "id", "max_rows": 7}
    assert [form["name"] for form in found.document["fields"]] == ["sex", "age"]
    learned = found.document["learned"]
    assert (learned["columns"], learned["epsilon"], learned["delta"]) == ([], "400", "0")
    held = dict(zip(learned["max_rows"]["numbers"], learned["max_rows"]["persons"], strict=True))
    assert {number: count for number, count in held.items() if count} == ROWS
    again = plan_learning(learning()).choice.best(decode_domain(found.document, Location("d")).learned.rows)
    assert again == 7  # by whoever has the file
    remarks = " ".join(found.remarks)
    assert "the bound of 7 was chosen among 1 to 64 rows by noisy counts: about 100% of the rows are used" in remarks
    assert "rows used, by --max-rows: 1: 41%, 2: 65%, 4: 92%, 8: 100%," in remarks


@in_one_test(("persons", "best"), [((0, 0, 0), 1), ((-9, -4, -1), 1), ((950, 0, 10), 1), ((950, 0, 40), 2)])
def test_without_forecasts_the_least_number_is_chosen_that_uses_enough(persons, best):
    """Where no count shows rows, the first. One row of each uses 960 of 980, and 990 of 1,070; two of each 1,030."""
    choice = RowChoice(epsilon=Fraction(1), unit=PrivacyUnit(columns=("id",), rows=3), numbers=(1, 2, 3), counted=())
    assert choice.best(LearnedRows(numbers=(1, 2, 3), persons=persons, scale=Fraction(1, 10**6))) == best


def test_a_rule_that_lets_the_exit_code_tell_a_bit_is_named_and_under_a_ledger_refused(table):
    Path("d.json").write_text(json.dumps({"fields": [SEX, AGE | {"dpqr": {"null": "fail"}}]}))
    request = learning(codebooks=("d.json",), types=())
    assert any(line.startswith("warning: column 'age' has a rule `fail`") for line in plan_learning(request).lines)
    with pytest.raises(BudgetRefused, match="fail"):
        plan_learning(learning(codebooks=("d.json",), types=(), payer=budget()))


def test_later_runs_may_use_the_chosen_number_or_fewer(table):
    domain = learn_domain(learning(), noise=SeededNoise(1)).document
    plans = [
        dry_run(asked(domain=domain, share=None, unit=None, max_rows=most))[0].problem.unit.rows for most in (None, 2)
    ]
    assert plans == [7, 2]
    with pytest.raises(DocumentError, match="at most 7"):
        dry_run(asked(domain=domain, share=None, unit=None, max_rows=8))


def test_columns_are_learned_beside_it_for_the_rest_with_the_noise_of_the_chosen_rows(table):
    plan = plan_learning(learning("region", "pay", types=("id=string", "pay=number"), delta="1e-6"))
    assert plan.choice.epsilon == 200
    assert [column.events[0][0].epsilon for column in plan.labels] == [100]
    assert [column.epsilon for column in plan.numbers] == [100]
    found = learn_domain(
        learning("region", "pay", types=("id=string", "pay=number"), delta="1e-6"), noise=SeededNoise(1)
    )
    assert found.document["learned"]["columns"] == ["region", "pay"]
    assert found.document["unit"]["max_rows"] == 7


def test_a_ledger_pays_once_and_by_its_price(table):
    payer = budget()
    learn_domain(learning(epsilon="1", payer=payer))
    assert configured_ledger(LEDGER, "none").account("s").spent == Cost(Fraction(1))
    restrict(configured_ledger(LEDGER, "none"), "s", PolicyChange(learning=False))
    with pytest.raises(BudgetRefused, match="--allow-learning"):
        learn_domain(learning(epsilon="1", payer=payer))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": None}, "add --unit COLUMN"),
        ({"max_rows": 1}, "chooses among 1 to 1 rows"),
        ({"learn_max_rows": "0.5"}, "state 1, the whole of --eps"),
        ({"learn_max_rows": "x"}, "--learn-max-rows"),
        ({"types": ("age=string",)}, "no column is described"),
    ],
)
def test_what_cannot_be_chosen_by_itself_is_refused_before_a_row_is_read(table, options, words, monkeypatch):
    monkeypatch.setattr(
        "dpqr.releases.learned.learned_domain.draw_domain", lambda *_, **__: pytest.fail("rows were read")
    )
    with pytest.raises(UsageFault, match=words):
        learn_domain(learning(**options))
    with pytest.raises(UsageFault, match="below 1"):
        learn_domain(learning("pay", types=("pay=number",), learn_max_rows="1"))


# The estimates.


def test_without_noise_used_rows_are_exact_where_cells_hold_one_number():
    rows = RowsOfPersons(numbers=(1, 2, 3, 4), counts=np.array([4000, 3000, 2000, 1000]), scale=1e-6)
    assert [round(rows.used(most)) for most in (1, 2, 3, 4)] == [10_000, 16_000, 19_000, 20_000]
    assert rows.share(2) == (pytest.approx(0.8), pytest.approx(0, abs=1e-6))


@pytest.mark.slow
def test_the_deviation_of_the_share_is_that_of_repeated_draws():
    """Of 4,000 draws: their deviation lies within 7% of its mean, six times sqrt(5 / 4 / 4000), as of Laplace draws."""
    counts, scale, noise = np.array([5000, 4000, 3000, 2000]), 50.0, np.random.default_rng(1)
    found = [
        RowsOfPersons(numbers=(1, 2, 3, 4), counts=counts + np.rint(noise.laplace(0, scale, 4)), scale=scale).share(2)
        for _ in range(4000)
    ]
    assert np.std([share for share, _ in found]) == pytest.approx(np.mean([error for _, error in found]), rel=0.1)


def test_the_choice_weighs_noise_against_what_is_left_out():
    forecasts = {rows: ForecastErrors(noise=(100.0 * rows,) * 9, cut=1.0) for rows in (1, 2, 3, 4)}
    choice = RowChoice(
        epsilon=Fraction(1),
        unit=PrivacyUnit(columns=("id",), rows=64),
        numbers=(*forecasts,),
        counted=(),
        forecasts=forecasts,
    )
    for persons, best in [((500, 0, 0, 0), 1), ((500, 99, 0, 0), 1), ((500, 300, 0, 0), 2), ((0, 0, 0, 500), 4)]:
        assert choice.best(LearnedRows(numbers=(1, 2, 3, 4), persons=persons, scale=Fraction(1, 1000))) == best
