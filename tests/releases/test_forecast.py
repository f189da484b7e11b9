"""Forecasts as the use case makes them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from support.cases import in_one_test, slowly
from support.command_desk import DOMAIN, QUERIES

from dpqr.kernel.errors import BudgetRefused, DataError, DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.forecast.by_epsilon import (
    ForecastRequest,
    Goal,
    GoalRequest,
    epsilons,
    forecast_releases,
    forecasts_document,
    smallest_epsilon,
)
from dpqr.releases.forecast.simulation import ErrorDistribution, ExpectedBlockError, PlanForecast, PublicTable
from dpqr.releases.requests import LedgerRequest, PlanRequest, ReleaseRequest
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource

PROXY = TableSource(paths=("table.csv",))


def asked(**more):
    plan = PlanRequest(queries="q.json", epsilon="1", **more.pop("plan", {}))
    release = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=plan)
    return ForecastRequest(release=release, **{"epsilons": ("1",), "runs": 1} | more)


def found(**more):
    return forecast_releases(asked(**more))


@pytest.mark.slow
def test_without_a_public_table_and_a_number_of_records_both_are_assumed_and_said(desk):
    outlook = found()
    assert outlook.points[0].forecast.records == 10_000
    assert outlook.notes[0] == "10,000 records are assumed; --n N forecasts for another number"
    assert "made-up tables" in outlook.notes[1]
    stated = found(n=500)
    assert (stated.points[0].forecast.records, len(stated.notes)) == (500, 1)


def test_a_proxy_is_counted_exactly_and_said_to_be_public(desk):
    outlook = found(proxy=PROXY)
    assert outlook.points[0].forecast.records == 4
    assert outlook.points[0].forecast.tables == ("table.csv",)
    (note,) = outlook.notes
    assert note.startswith("table.csv was declared public: its rows are looked at as they are")
    assert found(proxy=PROXY, n=50).points[0].forecast.records == 50


@pytest.mark.slow
def test_an_earlier_release_is_simulated_on_by_its_synthetic_rows(desk):
    assert desk.release("--out", "earlier", "--synthetic", "rows", eps="50").code == 0
    outlook = found(like="earlier", n=300)
    assert outlook.points[0].forecast.tables == ("earlier",)
    assert outlook.points[0].forecast.records == 300
    assert desk.release("--out", "bare").code == 0
    with pytest.raises(UsageFault, match="--like: bare holds no synthetic rows"):
        found(like="bare")
    other = {**DOMAIN, "fields": DOMAIN["fields"][:2]}
    desk.write(q__json={**QUERIES, "domain": other, "queries": [{"marginal": ["sex"]}]})
    with pytest.raises(DocumentError, match="--like earlier: was released over another domain"):
        found(like="earlier")


PERSONS = {1: 300, 3: 400, 7: 50}
"""How many persons have so many rows: 1,850 rows, of which 2 of each person are 1,200, and 3 of each 1,650."""


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A public table of these persons, one row of nobody and one that a rule drops; what is asked of tables like it."""
    monkeypatch.chdir(tmp_path)
    sizes = [rows for rows, persons in PERSONS.items() for _ in range(persons)]
    rows = [f"p{person},{'fm'[row % 2]},{row}" for person, count in enumerate(sizes) for row in range(count)]
    Path("p.csv").write_text("\n".join(["id,sex,age", *rows, ",f,1", "p1,x,1", ""]))
    Path("bare.csv").write_text("\n".join(["sex,age", *(row.partition(",")[2] for row in rows), ""]))
    fields = [
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"bins": 10}},
    ]
    queries = [{"marginal": ["sex", "age"]}, {"prefix": "age"}]
    plan = {"queries": {"queries": queries}, "domain": {"fields": fields, "malformed": "drop"}, "schedule": "strategy"}

    def compared(*rows, learned=None, proxy="p.csv", **more):
        stated = plan | {"unit": "id", "epsilon": "1"} | more
        if learned is not None:
            stated["domain"] = stated["domain"] | {"learned": learned}
        release = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=PlanRequest(**stated))
        table = None if proxy is None else TableSource(paths=(proxy,))
        return forecast_releases(
            ForecastRequest(release=release, epsilons=("1",), runs=1, proxy=table, max_rows=rows, n=1850)
        )

    return compared


def test_a_proxy_says_how_many_rows_a_bound_leaves_out_and_what_that_adds(people):
    """A row left out moves a marginal by 1 and the ten prefixes by 10 at most: L1 errors by 5.5 on average."""
    outlook = people(1, 2, 3, 7)
    cuts = [point.forecast.left_out for point in outlook.points]
    assert [cut.share for cut in cuts] == pytest.approx([1 - used / 1850 for used in (750, 1200, 1650, 1850)])
    assert [cut.deviation for cut in cuts] == [0] * 4
    assert cuts[1].over_n == pytest.approx(5.5 * 650 / 1850)
    assert cuts[1].error == pytest.approx((650 / 20 + 650) / 2)
    both = [point.forecast.over_n.mean + point.forecast.left_out.over_n for point in outlook.points]
    best = (1, 2, 3, 7)[both.index(min(both))]
    assert "how many follows from the proxy" in outlook.notes[0]
    assert f"both together are least at --max-rows {best}: L1 / n {min(both):.3g}" in outlook.notes[0]
    document = forecasts_document(outlook)["forecasts"][1]["left_out"]
    assert set(document) == {"share", "deviation", "error", "l1_over_n"}
    assert people(2).points[0].forecast.left_out == cuts[1]


def test_noisy_counts_of_a_domain_say_it_where_they_are_of_the_same_units(people):
    counts = {"numbers": [1, 2, 3, 4, 5, 6, 7], "persons": [300, 0, 400, 0, 0, 0, 50], "scale": "2"}
    whom = "one person (column 'id') with all their rows added or removed (the number of persons is private)"
    learned = {"columns": [], "epsilon": "0.5", "delta": "0", "unit": whom, "max_rows": counts}
    outlook = people(2, 7, learned=learned, proxy=None)
    cut = outlook.points[0].forecast.left_out
    assert cut.share == pytest.approx(650 / 1850, abs=0.02)
    assert 0 < cut.deviation < 0.02
    assert outlook.points[1].forecast.left_out.share == 0
    assert "the noisy counts of the domain file, which count at most 7 rows of a person" in outlook.notes[0]
    others = people(2, 7, learned=learned | {"unit": "one household"}, proxy=None)
    assert others.points[0].forecast.left_out is None


@pytest.mark.parametrize(
    "stated", [{"proxy": None}, *slowly({"proxy": "bare.csv"}, {"max_rows_per_cell": 1, "delta": "1e-6"})]
)
def test_where_nothing_public_says_what_is_left_out_no_figure_does(people, stated):
    outlook = people(2, 3, **stated)
    assert [point.forecast.left_out for point in outlook.points] == [None, None]
    assert outlook.notes[0].endswith("is not public, and no error here counts it")
    assert "left_out" not in forecasts_document(outlook)["forecasts"][0]


ROUNDS = {"schedule": "rounds", "rounds": 1}


@pytest.fixture
def earlier(desk):
    """The record of a release that has left out two of three pairs, and has bought their errors."""
    desk.write(q__json={**QUERIES, "queries": [{"marginals": [["sex", "age"], ["sex", "income"], ["age", "income"]]}]})
    rounds = ("--schedule", "rounds", "--rounds", "1")
    assert desk.release(*rounds, "--out", "earlier", "--synthetic", "rows", eps="50").code == 0
    return Path("earlier/release.json")


@pytest.mark.slow
def test_what_the_rows_of_an_earlier_release_leave_out_counts(earlier):
    record = json.loads(earlier.read_text())
    (draw,) = record["errors"]["draws"]
    draw["values"] = [value + record["errors"]["fineness"] * 10_000 for value in draw["values"]]
    earlier.write_text(json.dumps(record))
    said = []
    outlook = forecast_releases(asked(like="earlier", plan=ROUNDS), said.append)
    assert outlook.points[0].forecast.over_n.mean > 100
    assert "earlier had an L1 error of " in outlook.notes[-1]
    assert said[0] == "comparing earlier with its own rows, epsilon 50: 1 simulated release, about 1 s of one processor"


@pytest.mark.slow
def test_the_rows_of_an_earlier_release_are_drawn_again(earlier, monkeypatch):
    drawn = []
    resampled = PublicTable.resampled
    monkeypatch.setattr(PublicTable, "resampled", lambda *given: drawn.append(given[4]) or resampled(*given))
    found(like="earlier")
    found(proxy=PROXY)
    assert None not in drawn[:-1]
    assert drawn[-1] is None


@pytest.mark.slow
def test_an_earlier_release_by_another_plan_cannot_say_what_its_rows_leave_out(earlier):
    said = []
    outlook = forecast_releases(asked(like="earlier", plan={**ROUNDS, "rounds": 2}), said.append)
    assert "the forecast may be too low" in outlook.notes[-1]
    assert len(said) == 1
    fixed = found(like="earlier", plan={"schedule": "strategy"})
    assert fixed.notes == ("simulated on the synthetic rows of earlier",)


@pytest.mark.slow
def test_a_number_of_records_serves_the_forecast_alone_where_a_release_has_no_use_for_it(desk):
    assert found(n=500).points[0].plan.problem.n is None
    assert found(n=500, plan={"neighbours": "replace", "schedule": "rounds"}).points[0].plan.problem.most == 500


@pytest.mark.slow
def test_a_goal_ends_with_one_epsilon_that_keeps_it(desk):
    outlook = found(epsilons=(), goal=GoalRequest(relative="50%"), n=2000, plan={"schedule": "strategy"})
    assert outlook.goal.most == 0.5
    (point,) = outlook.points
    assert outlook.goal.kept(point.forecast)
    assert point.plan.budget.epsilon == point.forecast.epsilon


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"epsilons": ()},
            "state either --eps, for the errors at these epsilons, or --within, --mean-error or --relative",
        ),
        ({"goal": GoalRequest(error="5")}, "state either --eps"),
        ({"epsilons": (), "goal": GoalRequest(error="5", relative="1%")}, "leave all but one of them out"),
        ({"epsilons": (), "goal": GoalRequest(error="5", within="5")}, "--within and --mean-error each state a goal"),
        ({"epsilons": (), "goal": GoalRequest(within="0")}, "--within must be above 0"),
        ({"epsilons": ("1", "2"), "max_rows": (1, 2)}, "--eps and --max-rows each have several values"),
        ({"max_rows": (2, 2)}, "--max-rows 2,2: names one number twice"),
        (
            {"epsilons": (), "goal": GoalRequest(names=("x",))},
            "--confidence and --for go with --within, --mean-error or",
        ),
        ({"epsilons": (), "goal": GoalRequest(error="0")}, "must be above 0"),
        ({"epsilons": (), "goal": GoalRequest(error="x")}, "--mean-error 'x': give a plain decimal number"),
        (
            {"epsilons": (), "goal": GoalRequest(error="1", confidence="1")},
            "must be at least 1e-12 and below 1, for example 0.95",
        ),
        ({"proxy": PROXY, "like": "earlier"}, "--proxy and --like each name a public table"),
        ({"epsilons": (), "goal": GoalRequest(error="1"), "proxy": PROXY}, "--runs 1: one simulated release shows no"),
        ({"like": "nowhere"}, "nowhere: is no release directory"),
    ],
)
def test_refusals(desk, more, says):
    with pytest.raises(UsageFault, match=says):
        found(**more)


def test_a_proxy_without_the_columns_or_without_rows_is_refused(desk):
    desk.write(other__csv="sex,day\nF,1\n", empty__csv="sex,age,income\n")
    with pytest.raises(DataError, match="age"):
        found(proxy=TableSource(paths=("other.csv",)))
    with pytest.raises(UsageFault, match=r"empty.csv: holds no row that the domain keeps"):
        found(proxy=TableSource(paths=("empty.csv",)))


def test_a_budget_that_could_not_pay_refuses(desk):

    assert desk.run("budget", "init", "survey", "--eps", "1", "--ledger", "l.sqlite").code == 0
    request = asked(epsilons=("2",), proxy=PROXY)
    payer = LedgerRequest(dataset="survey", ledger="l.sqlite")

    with pytest.raises(BudgetRefused):
        forecast_releases(replace(request, release=replace(request.release, payer=payer)))


@in_one_test(("text", "says"), [("1,1.0", "names one epsilon twice"), ("1,", "--eps"), ("0", "--eps 0")])
def test_a_list_of_epsilons(text, says):
    assert epsilons(" 0.5 ,2") == ("0.5", "2")
    with pytest.raises(UsageFault, match=says):
        epsilons(text)


def test_epsilons_are_sorted_announced_and_documented(desk):
    said = []
    outlook = forecast_releases(asked(epsilons=("2", "0.5"), proxy=PROXY), said.append)
    words = "1 simulated release, about 1 s of one processor"
    assert said == [f"forecasting epsilon {epsilon}: {words}" for epsilon in ("2", "0.5")]
    assert [float(point.forecast.epsilon) for point in outlook.points] == [0.5, 2.0]
    assert [float(point.plan.budget.epsilon) for point in outlook.points] == [0.5, 2.0]
    told, point = forecasts_document(outlook), outlook.points[0]
    assert (told["dpqr"], told["goal"], len(told["forecasts"])) == ("forecast/1", None, 2)
    one = told["forecasts"][0]
    assert (one["epsilon"], one["records"], one["basis"], one["runs"]) == (0.5, 4, "simulated", 1)
    assert one["error"]["mean"] == point.forecast.error.mean
    assert [block["name"] for block in one["blocks"]] == [block.name for block in point.forecast.blocks]
    assert one["plan"]["dpqr"] == "plan/1"


# The smallest epsilon that keeps a goal.


class Forecaster:
    """Two blocks whose errors are 10 and 20 over a power of epsilon, never below `floor`."""

    def __init__(self, power=1.0, floor=0.0, deviation=0.0):
        self.power, self.floor, self.deviation, self.tried = power, floor, deviation, []

    def __call__(self, epsilon):
        self.tried.append(epsilon)
        error = max(10 / float(epsilon) ** self.power, self.floor)
        blocks = tuple(
            ExpectedBlockError(name=name, answers=4, reach=1.0, error=self.law(times * error))
            for name, times in (("one", 1), ("two", 2))
        )
        return PlanForecast(
            epsilon=epsilon,
            schedule="rounds",
            records=100,
            blocks=blocks,
            error=self.law(1.5 * error),
            over_n=self.law(0.06 * error),
            tables=("table",),
            runs=3,
            closed=False,
        )

    def law(self, mean):
        return ErrorDistribution(mean=mean, deviation=mean * self.deviation)


@in_one_test("power", [0.2, 1.0, 2.0])
@pytest.mark.parametrize(
    ("goal", "error"),
    [
        (Goal(most=3.0), 2.0),
        (Goal(most=3.0, names=("two",)), 1.5),
        (Goal(most=3.0, names=("one", "two")), 1.5),
        (Goal(most=0.3, relative=True), 5.0),
        (Goal(most=0.3, relative=True, names=("one",)), 7.5),
        (Goal(most=4000.0), 4000 / 1.5),
    ],
)
def test_it_is_found_to_three_percent(power, goal, error):
    found, forecaster = (10 / error) ** (1 / power), Forecaster(power)
    if not 1e-6 < found < 1000:
        return
    kept = smallest_epsilon(forecaster, goal)
    assert goal.kept(kept)
    assert found * (1 - 1e-9) <= float(kept.epsilon) <= 1.04 * found
    assert len(forecaster.tried) < 20
    assert all(len(str(float(epsilon)).replace(".", "").strip("0")) <= 3 for epsilon in forecaster.tried)


def test_the_mean_is_below_the_goal_by_the_margin_of_its_confidence():
    goal = Goal(most=3.0, names=("one", "two"))
    found = smallest_epsilon(Forecaster(deviation=0.5), goal)
    assert goal.typical(found) == found.blocks[1].error.mean
    assert goal.typical(found) < goal.reached(found) <= 3.0
    half, most, nearly_all = (
        smallest_epsilon(Forecaster(deviation=0.5), Goal(most=3.0, confidence=Fraction(part))).epsilon
        for part in ("0.5", "0.9", "0.99")
    )
    assert half < most < nearly_all


def test_a_goal_that_nothing_keeps_is_refused_and_one_that_all_keep_ends_at_the_smallest_epsilon():
    with pytest.raises(InfeasiblePlan, match="no epsilon up to 1000 keeps the goal, the queries' mean error"):
        smallest_epsilon(Forecaster(floor=5.0), Goal(most=3.0))
    assert smallest_epsilon(Forecaster(), Goal(most=1e12)).epsilon <= Fraction(1, 10**6)


def test_an_unknown_query_is_named_with_the_known_ones():
    with pytest.raises(UsageFault, match="--for three: no query has this name; known: one, two"):
        smallest_epsilon(Forecaster(), Goal(most=1.0, names=("three",)))


def test_words():
    assert Goal(most=0.02, relative=True, names=("a", "b")).words == (
        "the mean error of 'a', 'b' is at most 0.02 n in L1 in 95% of the releases"
    )
