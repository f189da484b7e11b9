"""Releases of tables of persons: what they cost and say, at both doors, and who must refuse them before it is paid."""

import json
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.cases import in_one_test, slow_but

import dpqr
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.events import DiscreteLaplaceEvent
from dpqr.kernel.noise.source import SeededNoise, SystemNoise
from dpqr.kernel.wording import amount
from dpqr.published.show import show_figure
from dpqr.releases import sentences
from dpqr.releases.draws import Draws, RecordedDraw
from dpqr.releases.forecast.simulation import forecast, simulate_tables
from dpqr.releases.loop import SILENT
from dpqr.releases.planning import plan_release
from dpqr.releases.receipt import plan_facts
from dpqr.releases.record.plan_document import plan_document
from dpqr.releases.record.release_document import draw_parts
from dpqr.releases.rehearsal import rehearsed_table
from dpqr.releases.release import construct, price_schedule
from dpqr.releases.requests import PlanRequest
from dpqr.report.forecast import PERSONS
from dpqr.strategies.guard import make_filter
from dpqr.tables.limits import Limits

DOMAIN = {
    "fields": [
        {"name": "department", "type": "string", "categories": ["surgery", "medicine", "eyes"]},
        {"name": "month", "type": "integer", "constraints": {"minimum": 1, "maximum": 4}, "dpqr": {"bins": 4}},
    ]
}
STATED = [field | {"dpqr": field.get("dpqr", {}) | {"otherwise": "drop"}} for field in DOMAIN["fields"]]
REPLACEABLE = {"fields": STATED, "malformed": "drop"}
DAY = {
    "name": "day",
    "type": "date",
    "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"},
    "dpqr": {"every": "month"},
}
BY_DEPARTMENT, BY_MONTH = {"persons": {"by": ["department"], "max_cells": 3}}, {"persons": {"by": ["month"]}}
NUMBER, ROWS = {"persons": {}}, {"marginal": ["department"]}
SQL = """
SELECT department, COUNT(DISTINCT insurance_id) AS patients FROM visits GROUP BY department;
SELECT month, COUNT(DISTINCT insurance_id) FROM visits GROUP BY month;
"""
VISITS = [
    (f"p{person}", ["surgery", "medicine", "eyes"][(person + visit) % 3 if person % 4 else 0], 1 + visit % 4)
    for person in range(400)
    for visit in range(1 + person % 5)
]
TABLE = pd.DataFrame(VISITS, columns=["insurance_id", "department", "month"])


def patients(column: str) -> dict[str, int]:
    return {str(cell): len(set(rows)) for cell, rows in TABLE.groupby(column)["insurance_id"]}


def asked(*queries, **more) -> PlanRequest:
    stated = {"domain": DOMAIN, "epsilon": "1", "delta": "1e-6", "unit": "insurance_id", "max_rows": 2}
    return PlanRequest(queries={"queries": list(queries)}, **stated | more)


def test_every_person_counts_once_a_cell_where_noise_is_nothing() -> None:
    """However few rows are used; and by another bound each counts in fewer cells."""
    queries = {"queries": [BY_DEPARTMENT, {"persons": {"by": ["month"], "max_cells": 1}, "name": "patients"}, NUMBER]}
    made = dpqr.release(TABLE, queries=queries, domain=DOMAIN, eps=1000, unit="insurance_id", max_rows=1)
    assert made.queries == ("total", "persons by department", "patients (persons)", "persons")
    found = {name: made.answers[made.answers["query"] == name] for name in made.queries}
    departments = found["persons by department"]
    assert dict(zip(departments["department"], departments["estimate"], strict=True)) == patients("department")
    assert found["patients (persons)"]["estimate"].sum() == found["persons"]["estimate"].sum() == 400
    assert set(made.answers["basis"]) == {"measured"}


def test_persons_with_a_row_that_fulfils_a_condition(tmp_path) -> None:
    """By a column that it names, by another, and in all; in SQL too, and of totals. A rehearsal keeps to it."""
    spring, asked = "month <= 2 or department = 'eyes'", {"eps": 1000, "unit": "insurance_id", "max_rows": 1}
    queries = dpqr.queries().persons(["department"], where=spring, max_cells=3).persons(where="month = 4", name="late")
    made = dpqr.release(TABLE, queries=queries, domain=DOMAIN, out=str(tmp_path / "made"), **asked)
    rows = TABLE[(TABLE["month"] <= 2) | (TABLE["department"] == "eyes")]
    expected = rows.groupby("department")["insurance_id"].nunique()
    name = f"persons where {spring} by department"
    found = made.answers[made.answers["query"] == name]
    assert dict(zip(found["department"], found["estimate"], strict=True)) == expected.to_dict()
    late = made.answers[made.answers["query"] == "late (persons)"]["estimate"].tolist()
    assert late == [TABLE[TABLE["month"] == 4]["insurance_id"].nunique()]
    record = json.loads((tmp_path / "made" / "release.json").read_text("utf-8"))
    assert [table["where"] for table in record["plan"]["person_tables"]] == [spring, "month = 4"]
    assert dpqr.verify(str(tmp_path / "made")).passed
    made = dpqr.release(TABLE, queries=queries, domain=DOMAIN, rehearse=True, **asked)
    (late,) = made.answers[made.answers["query"] == "late (persons)"]["estimate"]
    assert abs(late - 2500) < 300  # 10,000 uniform rows: a deviation of 43, seven of them
    totals = dpqr.sql(
        "SELECT department, AVG(LEAST(GREATEST(t, 10), 120)) FROM (SELECT department, insurance_id, SUM(cost) AS t "
        "FROM visits WHERE cost >= 20 GROUP BY department, insurance_id) GROUP BY department"
    )
    made = dpqr.release(BILLS, queries=totals, domain=COSTS, **asked | {"max_rows": 3})
    assert made.figures["estimate"].tolist() == pytest.approx(clipped_means(BILLS[BILLS["cost"] >= 20]), abs=0.01)


@pytest.mark.parametrize(
    ("queries", "declared"), slow_but({0}, [([NUMBER], 400), ([BY_DEPARTMENT], None), ([NUMBER], None)])
)
def test_a_warning_heads_a_release_that_counted_hardly_any_person(tmp_path, queries, declared) -> None:
    """Noise of 1000 epsilon is nothing. All labels are misspelt, so that every row is left out; then none is."""
    given = {"queries": {"queries": queries}, "domain": DOMAIN, "eps": 1000, "unit": "insurance_id", "max_rows": 1}
    if declared:
        given |= {"neighbours": "replace", "n": declared, "domain": REPLACEABLE}

    def warning(table: pd.DataFrame, name: str) -> str | None:
        dpqr.release(table, out=str(tmp_path / name), **given)
        return json.loads((tmp_path / name / "release.json").read_text()).get("warning")

    said = warning(TABLE.assign(department=TABLE["department"].str.upper()), "misspelt")
    assert said.startswith("hardly any persons were counted, or none: about 0 in 'persons")
    assert ("400 were declared" in said) == bool(declared)
    assert warning(TABLE, "spelt") is None
    given["queries"] = {"queries": [*queries, {"persons": {}, "where": "month = 4", "name": "spring"}]}
    assert warning(TABLE.assign(month=1), "condition") is None


@pytest.mark.slow
def test_both_doors_and_both_languages_give_a_release_that_is_repeated_bit_for_bit(desk) -> None:
    TABLE.to_csv(desk.path / "visits.csv", index=False)
    desk.put("domain.json", DOMAIN)
    desk.put("queries.json", {"queries": [BY_DEPARTMENT, BY_MONTH, ROWS]})
    (desk.path / "queries.sql").write_text(SQL, "utf-8")
    for name, tables in (("json", ["persons by department", "persons by month"]), ("sql", ["patients (persons)"])):
        given = (
            "--domain",
            "domain.json",
            "--eps",
            "1",
            "--delta",
            "1e-6",
            "--unit",
            "insurance_id",
            "--max-rows",
            "3",
        )
        ended = desk.run("release", "visits.csv", "--queries", f"queries.{name}", *given, "--out", name)
        assert ended.code == 0, ended.err
        assert [table for table in tables if table not in ended.err + ended.out] == []
        ended = desk.run("verify", name)
        assert ended.code == 0, ended.err
        assert "repeated bit for bit" in ended.out
        shown = desk.run("show", name)
        assert [table for table in tables if table not in shown.out] == []
        record = json.loads((desk.path / name / "release.json").read_text("utf-8"))
        assert [each["max_cells"] for each in record["plan"]["person_tables"]] == [3, 3]
        desk.run("report", name, "--html", f"{name}.html")
        assert tables[0] in (desk.path / f"{name}.html").read_text("utf-8")


def test_a_changed_count_of_persons_is_found(desk) -> None:
    TABLE.to_csv(desk.path / "visits.csv", index=False)
    desk.put("domain.json", DOMAIN)
    desk.put("queries.json", {"queries": [BY_DEPARTMENT]})
    given = ("--domain", "domain.json", "--eps", "1", "--unit", "insurance_id", "--max-rows", "3", "--out", "made")
    desk.run("release", "visits.csv", "--queries", "queries.json", *given)
    path = desk.path / "made" / "release.json"
    record = json.loads(path.read_text("utf-8"))
    record["person_tables"]["measured"][0]["values"][0] += 5
    path.write_text(json.dumps(record), "utf-8")
    assert desk.run("verify", "made").code != 0


def test_the_tables_cost_what_their_sensitivity_says_and_the_whole_plan_its_budget() -> None:
    plan = plan_release(asked(BY_DEPARTMENT, BY_MONTH, NUMBER, ROWS, delta="0"))
    (phase,) = plan.named("persons")
    ((event, count),) = phase.events
    assert (type(event), event.sensitivity, count) == (DiscreteLaplaceEvent, 3 + 2 + 1, 1)
    assert phase.price.epsilon == Fraction(3, 4)  # three of the four tables
    assert plan.epsilon == 1
    assert [block.most_cells for block in plan.persons] == [3, 2, 1]
    counted = plan_release(asked(BY_MONTH, ROWS, delta="0", count_dropped="0.1"))
    assert counted.epsilon == 1
    assert [phase.noun for phase in counted.phases][:2] == ["left out", "persons"]


def test_alone_they_leave_the_number_of_rows_a_tenth() -> None:
    plan = plan_release(asked(BY_MONTH, delta="0"))
    assert [block.name for block in plan.problem.workload.blocks] == ["total"]
    assert plan.price("persons").epsilon == Fraction(9, 10)
    assert any("only persons are asked for" in note for note in plan.notes)


def test_no_plan_without_them_says_anything_of_them() -> None:
    document = plan_document(plan_release(asked(ROWS)))
    assert "person_tables" not in document
    assert "persons" not in document["price"]


@in_one_test(
    ("queries", "more", "error", "words"),
    [
        ([BY_MONTH], {"unit": None, "max_rows": None}, UsageFault, "add --unit COLUMN"),
        ([{"persons": {"of": "doctor"}}], {}, UsageFault, "by column 'doctor'"),
        ([BY_MONTH, ROWS], {"accountant": "optimal"}, InfeasiblePlan, "equal draws only"),
        ([{**BY_MONTH, "weight": 2}], {}, DocumentError, "no weight"),
        ([{**BY_MONTH, "where": "month = 1 and month = 2"}], {}, DocumentError, "true for no cell"),
        ([{"persons": {"by": ["month"], "max_cells": 0}}], {}, DocumentError, "max_cells"),
        ([BY_MONTH, BY_MONTH], {}, DocumentError, "also the name of"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(queries, more, error, words) -> None:
    with pytest.raises(error, match=words):
        plan_release(asked(*queries, **more))


def test_a_counter_refuses_them_and_a_release_of_one_period_counts_its_own_rows() -> None:
    domain = {"fields": [*DOMAIN["fields"], DAY], "period": {"column": "day", "every": "month"}}
    with pytest.raises(UsageFault, match="period by period"):
        plan_release(asked(BY_MONTH, ROWS, domain=domain, period="2024-01", cumulative=12, first="2024-01"))
    table = TABLE.assign(day=["2024-01-05" if month < 3 else "2024-02-05" for month in TABLE["month"]])
    given = {"eps": 1000, "unit": "insurance_id", "max_rows": 9, "period": "2024-01"}
    made = dpqr.release(table, queries={"queries": [BY_MONTH]}, domain=domain, **given)
    found = made.answers[made.answers["query"] == "persons by month"]["estimate"].tolist()
    assert found == [patients("month")["1"], patients("month")["2"], 0, 0]


def test_a_model_of_rows_answers_no_question_of_persons(tmp_path) -> None:
    queries = {"queries": [ROWS]}
    directory = tmp_path / "made"
    dpqr.release(TABLE, queries=queries, domain=DOMAIN, eps=1, unit="insurance_id", max_rows=2, out=str(directory))
    with pytest.raises(UsageFault, match="from its rows alone"):
        dpqr.answer(str(directory), queries={"queries": [BY_DEPARTMENT]})


@dataclass
class LostPersons:
    """A journal in which the draw of the tables of persons was begun, and nothing else."""

    asked: list[tuple[str, ...]] = field(default_factory=list)

    def past(self, event, blocks):
        self.asked.append(tuple(block.name for block in blocks))
        return RecordedDraw(value=None) if blocks and blocks[0].most_cells else None

    def begin(self, event, blocks) -> None: ...

    def record(self, value) -> None: ...


def test_a_draw_that_a_crash_has_lost_stays_paid_and_is_not_drawn_again() -> None:
    plan = plan_release(asked(BY_MONTH, ROWS, delta="0"))
    journal, guard = LostPersons(), EveryFilter(filters=(make_filter(plan),))
    table = rehearsed_table(plan.problem, Limits(), plan.persons)
    draws = Draws(data=table.counts, accountant=guard, noise=SystemNoise(), journal=journal)
    made = construct(plan, draws, table.dropped, table.persons, guard, SILENT, price_schedule(plan), None)
    assert journal.asked[0] == ("persons by month",)
    assert plan.named("persons")[0].events[0][0] in {event for event, _ in made.events}
    assert sum(count for _, count in made.events) == sum(count for _, count in plan.events)
    assert [each.block.name for each in made.answers] == ["marginal(department)"]
    assert any("the tables of persons stay paid" in sentence for sentence in made.trust)


def test_a_killed_release_goes_on_with_the_counts_that_it_hconsistent_with_draws() -> None:
    plan = plan_release(asked(BY_MONTH, NUMBER, ROWS, delta="0"))
    table, kept = rehearsed_table(plan.problem, Limits(), plan.persons), [[7, 0, -3, 1], [9]]

    class Kept(LostPersons):
        def past(self, event, blocks):
            return RecordedDraw(value=kept) if blocks and blocks[0].most_cells else None

    guard = EveryFilter(filters=(make_filter(plan),))
    draws = Draws(data=table.counts, accountant=guard, noise=SystemNoise(), journal=Kept())
    made = construct(plan, draws, table.dropped, table.persons, guard, SILENT, price_schedule(plan), None)
    by_month, number = made.answers[-2:]
    assert by_month.noisy.values.tolist() == [7, 0, -3, 1]
    assert by_month.estimate.tolist() == [7, 0, 0, 1]
    assert number.estimate.tolist() == [9]
    assert draw_parts(made)["person_tables"]["measured"][0]["values"] == [7, 0, -3, 1]


def test_a_rehearsal_counts_its_rows_as_persons() -> None:
    queries = {"queries": [NUMBER, ROWS]}
    made = dpqr.release(TABLE, queries=queries, domain=DOMAIN, eps=1000, unit="insurance_id", max_rows=2, rehearse=True)
    (number,) = made.answers[made.answers["query"] == "persons"]["estimate"]
    assert number == 10_000


def test_a_check_and_an_explanation_name_them(desk) -> None:
    desk.write(q__json={"domain": DOMAIN, "queries": [ROWS, BY_DEPARTMENT]})
    assert "  tables of persons: persons by department\n" in desk.run("check", "--queries", "q.json").out
    said = desk.run("explain", "--queries", "q.json", "--unit", "who", "--max-rows", "2", "--eps", "1", "--n", "600")
    document = {"domain": DOMAIN, "queries": [ROWS, BY_DEPARTMENT]}
    plan = plan_release(PlanRequest(queries=document, domain=None, epsilon="1", unit="who", max_rows=2))
    assert f"standard deviation {amount(plan.person_forecast[0].deviation)} on each answer" in said.out
    assert 'noise is in proportion to 3, the cells in which a person counts; "max_cells" can state fewer' in said.out


COST = {"name": "cost", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "dpqr": {"bins": 100}}
COSTS = {"fields": [DOMAIN["fields"][0], COST]}
BILLS = TABLE.assign(
    cost=[(7 * int(who[1:]) + 13 * month) % 100 for who, month in TABLE[["insurance_id", "month"]].values]
)
MEAN_COST = {"persons": {"by": ["department"], "max_cells": 3, "mean": {"sum": "cost", "within": [10, 120]}}}


def clipped_means(bills: pd.DataFrame = BILLS) -> list[float]:
    totals = bills.groupby(["department", "insurance_id"])["cost"].sum().clip(10, 120).groupby("department").mean()
    return [totals[name] for name in DOMAIN["fields"][0]["categories"]]


def test_a_mean_per_person_is_that_of_their_clipped_totals_and_is_repeated(tmp_path) -> None:
    """Of all rows of a person, however few are used for counts of rows; beside a table of numbers in the same draw. It
    is shown by the name that the queries give it, in the place of the sums that it rests on."""
    queries, directory = {"queries": [{**MEAN_COST, "name": "cost"}, BY_DEPARTMENT]}, str(tmp_path / "made")
    given = {"eps": 1000, "unit": "insurance_id", "max_rows": 1}
    made = dpqr.release(BILLS, queries=queries, domain=COSTS, out=directory, **given)
    assert made.figures["estimate"].tolist() == pytest.approx(clipped_means(), abs=0.01)
    numbers = made.answers[made.answers["query"] == "persons by department"]
    known = patients("department")
    assert numbers["estimate"].tolist() == pytest.approx([known[name] for name in numbers["department"]], abs=1)
    assert "figures: 3 rows equal bit for bit" in str(dpqr.verify(directory))
    assert [row["estimate"] for row in show_figure(directory, "cost")] == made.figures["estimate"].tolist()
    assert show_figure(directory, "persons by department") == ()


@pytest.mark.slow
def test_the_interval_of_a_mean_per_person_holds_the_mean() -> None:
    """In each of 40 releases all three miss with probability 0.15 at most: 27 misses of 40 have probability 1e-13."""
    given = {"queries": {"queries": [MEAN_COST]}, "domain": COSTS, "eps": 4, "unit": "insurance_id", "max_rows": 1}
    inside = 0
    for _ in range(40):
        found = dpqr.release(BILLS, **given).figures
        inside += bool(((found["lower"] <= clipped_means()) & (clipped_means() <= found["upper"])).all())
    assert inside > 13


EDGES = list(range(0, 301, 10))
MEDIAN_COST = {"persons": {"by": ["department"], "max_cells": 3, "quantiles": {"sum": "cost", "edges": EDGES}}}


def totals_of(department: str) -> list[int]:
    own = BILLS[BILLS["department"] == department]
    return sorted(own.groupby("insurance_id")["cost"].sum())


def test_the_median_over_persons_is_that_of_their_totals_and_is_repeated(tmp_path) -> None:
    """Within the bin that it lies in, where noise is nothing; a mean and numbers of persons share its draw."""
    directory = str(tmp_path / "made")
    ninth = {"persons": {"quantiles": {"sum": "cost", "edges": [0, 50, 100, 400], "at": [0.1, 0.9]}}, "name": "spread"}
    made = dpqr.release(
        BILLS,
        queries={"queries": [MEDIAN_COST, MEAN_COST, BY_DEPARTMENT, ninth]},
        domain=COSTS,
        out=directory,
        eps=1000,
        unit="insurance_id",
        max_rows=1,
    )
    found = made.figures[made.figures["figure"] == "median total cost per person by department"]
    assert set(found["kind"]) == {"median"}
    for department, estimate, lower, upper in found[["department", "estimate", "lower", "upper"]].values:
        own = totals_of(department)
        assert abs(estimate - own[len(own) // 2]) <= 10
        assert lower <= own[len(own) // 2] <= upper
    assert (made.figures["kind"] == "quantiles").sum() == 2
    by_bin = made.answers[made.answers["query"] == "median total cost per person by department"]["estimate"]
    assert by_bin.sum() == pytest.approx(sum(patients("department").values()), abs=1)
    assert "figures: 8 rows equal bit for bit" in str(dpqr.verify(directory))


def test_what_a_bin_s_midpoint_can_do_to_a_total_is_said_for_each_of_its_rows() -> None:
    wide = {"fields": [DOMAIN["fields"][0], COST | {"dpqr": {"bins": 10}}]}
    note = "an error of at most 4.5 for each row of a person's total"
    assert [note in " ".join(plan_release(asked(each, domain=wide)).notes) for each in (MEAN_COST, ROWS)] == [
        True,
        False,
    ]
    said = " ".join(sentences.reader_notes([f"mean: counts each row with its bin's midpoint: {note}"], [], 0, "rounds"))
    assert "at most 4.5 away; a person's total may be off by as much for each of their rows" in said


@pytest.mark.slow
def test_the_interval_of_a_median_over_persons_holds_it() -> None:
    """In each of 40 releases all three miss with probability 0.15 at most: 27 misses of 40 have probability 1e-13."""
    given = {"queries": {"queries": [MEDIAN_COST]}, "domain": COSTS, "eps": 4, "unit": "insurance_id", "max_rows": 1}
    inside = 0
    for _ in range(40):
        found = dpqr.release(BILLS, **given).figures
        true = [totals_of(department) for department in found["department"]]
        middle = np.array([own[len(own) // 2] for own in true])
        inside += bool(((found["lower"] <= middle) & (middle <= found["upper"])).all())
    assert inside > 13


def test_counts_by_bins_of_totals_cost_what_numbers_of_persons_cost() -> None:
    plan = plan_release(asked(MEDIAN_COST, BY_DEPARTMENT, ROWS, domain=COSTS, delta="0"))
    ((event, _),) = plan.named("persons")[0].events
    assert [block.person_step for block in plan.persons] == [1, 1]
    assert event.sensitivity == 3 + 3
    assert plan_document(plan)["person_tables"][0]["total"] == {"column": "cost", "bins": 30}


@in_one_test(
    ("asks", "words"),
    [
        ({"quantiles": {"sum": "department", "edges": [0, 1, 2]}}, "holds labels"),
        ({"quantiles": {"sum": "cost", "edges": [0, 9, 9]}}, "must rise from one to the next"),
        ({"quantiles": {"sum": "cost", "edges": [0, 9]}}, "edges"),
        ({"quantiles": {"sum": "cost", "edges": [10**30, 10**30 + 1, 10**30 + 2]}}, "share no grid"),
        ({"quantiles": {"sum": "cost", "edges": [0, 5, 9], "at": [1.5]}}, "above 0 and below 1"),
        (
            {"quantiles": {"sum": "cost", "edges": [0, 5, 9]}, "mean": {"sum": "cost", "within": [0, 9]}},
            "entries of their own",
        ),
    ],
)
def test_quantiles_over_persons_without_bins_or_numbers_are_refused(asks, words) -> None:
    with pytest.raises(DocumentError, match=words):
        plan_release(asked({"persons": asks}, domain=COSTS))


def test_numbers_and_totals_share_one_draw_with_the_budget_of_a_table_each() -> None:
    """A person moves every table by about as much; noise in persons is what two tables of numbers would have."""
    plan = plan_release(asked(MEAN_COST, BY_DEPARTMENT, ROWS, domain=COSTS, delta="0"))
    ((event, _),) = plan.named("persons")[0].events
    assert [block.person_step for block in plan.persons] == [110, 110]
    assert event.sensitivity == 110 * (3 + 3)
    two = plan_release(
        asked(BY_DEPARTMENT, {"persons": {"by": ["cost"], "max_cells": 3}}, ROWS, domain=COSTS, delta="0")
    )
    assert plan.person_forecast[1].deviation == pytest.approx(two.person_forecast[0].deviation, rel=0.01)
    assert plan.person_forecast[0].deviation == pytest.approx(110 * two.person_forecast[0].deviation, rel=0.01)
    part = plan_document(plan)["person_tables"][0]
    assert part["total"] == {"column": "cost", "least": 10, "most": 120, "step": "1"}


@in_one_test(
    ("mean", "words"),
    [
        ({"sum": "department", "within": [0, 1]}, "holds labels"),
        ({"sum": "cost", "within": [9, 9]}, "first bound must lie below"),
        ({"sum": "cost", "within": [0, 0.0000001]}, "share no grid"),
        ({"sum": "cost", "within": [10**30, 10**30 + 9]}, "share no grid"),
        ({"sum": "cost"}, "within"),
        ({"sum": "nothing", "within": [0, 1]}, "nothing"),
    ],
)
def test_a_mean_per_person_that_has_no_bounds_or_numbers_is_refused(mean, words) -> None:
    with pytest.raises(DocumentError, match=words):
        plan_release(asked({"persons": {"mean": mean}}, domain=COSTS))
    with pytest.raises(DocumentError, match="is in 'by', too"):
        plan_release(asked({"persons": {"by": ["cost"], "mean": {"sum": "cost", "within": [0, 9]}}}, domain=COSTS))


# What is forecast of them, and what they count for where Laplace or Gaussian noise is chosen.


def test_the_error_that_is_forecast_is_that_of_their_noise() -> None:
    """Over 20,000 draws of three answers: six standard errors of their mean, and of the spread (of a kurtosis below 9,
    as that of |noise| is)."""
    plan, draws = plan_release(asked(BY_DEPARTMENT, ROWS)), 20_000
    law = plan.roles.check.law(plan.persons, plan.problem.unit, plan.price("persons"))
    errors = np.abs(law.sample(3 * draws, SeededNoise(1))).reshape(draws, 3).mean(axis=1)
    (found,) = forecast(plan, simulate_tables(plan.problem.domain, 1000, 0)[:1], 1).persons
    assert (found.name, found.answers) == ("persons by department", 3)
    assert found.error.mean == pytest.approx(errors.mean(), abs=6 * found.error.deviation / draws**0.5)
    assert found.error.deviation == pytest.approx(errors.std(), rel=6 * (8 / (4 * draws)) ** 0.5)


def test_noise_and_error_of_a_mean_are_said_of_the_sums_behind_it() -> None:
    """Where its unit stands: the mean itself has a hundredth of that among a hundred persons."""
    plan = plan_release(asked(MEAN_COST, BY_DEPARTMENT, ROWS, domain=COSTS, delta="0"))
    (said,) = (text for name, text in plan_facts(plan) if name == "Persons")
    sums, persons = (amount(one.deviation) for one in plan.person_forecast)
    assert f"in 3 cells at most): +-{sums} in its sums; persons by" in said
    assert f"at most): +-{persons} persons (noise, standard deviation)" in said
    assert "over a group's number of persons it is about the most that the mean errs" in PERSONS


@pytest.mark.slow
def test_a_forecast_lists_them_at_both_doors_and_is_silent_without_them(desk) -> None:
    desk.write(
        q__json={"domain": DOMAIN, "queries": [ROWS, BY_DEPARTMENT]}, r__json={"domain": DOMAIN, "queries": [ROWS]}
    )
    options = ("--unit", "who", "--max-rows", "2", "--n", "600", "--runs", "1")
    said = desk.run("plan", "--queries", "q.json", "--eps", "1,2", *options).out
    rows = [line.split() for line in said.splitlines()]
    assert ["table", "of", "persons", "answers", "eps", "1", "eps", "2"] in rows
    document = json.loads(desk.run("plan", "--queries", "q.json", "--eps", "1,2", *options, "--json").out)
    means = [one["persons"][0]["error"]["mean"] for one in document["forecasts"]]
    assert ["persons", "by", "department", "3", *map(amount, means)] in rows
    single = desk.run("plan", "--queries", "q.json", "--eps", "1", *options).out
    assert "Persons  of a table of persons the error is that of its noise" in single
    without = desk.run("plan", "--queries", "r.json", "--eps", "1", *options)
    assert "table of persons" not in without.out
    given = {"domain": DOMAIN, "queries": {"queries": [ROWS, BY_DEPARTMENT]}, "unit": "who", "max_rows": 2, "eps": 1}
    last = dpqr.forecast(**given, n=600, runs=1).frame.iloc[-1]
    assert (last["query"], last["error"]) == ("persons by department", pytest.approx(means[0]))
    assert np.isnan(last["l1_over_n"])
    planned = dpqr.plan(**given).forecast.iloc[-1]
    assert (planned["query"], planned["error"]) == ("persons by department", pytest.approx(means[0]))


def test_laplace_or_gaussian_noise_is_chosen_for_persons_too() -> None:
    """A person moves five tables in up to four cells each: by 20 in L1, and by the root of 20 in L2. One table of one
    cell a person gives Gaussian noise nothing to gain, and rows alone are as they were."""
    row, many = {"max_rows": 1}, [{"persons": {"by": ["month"], "max_cells": 4}, "name": f"{n}"} for n in range(5)]
    one = {"persons": {"by": ["month"], "max_cells": 1}}
    pure = [plan_release(asked(ROWS, *more, **row)).roles.check.pure for more in ([], [one], many)]
    assert pure == [True, True, False]
    chosen, laplace = (plan_release(asked(ROWS, *many, **row, delta=delta)) for delta in ("1e-6", "0"))
    assert laplace.roles.check.pure
    assert chosen.person_forecast[0].error < laplace.person_forecast[0].error
