"""`replace` where rules leave out half of the rows: every schedule answers about the other half."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.cases import thinned
from support.fakes import OpenFilter
from support.handmade_release import make_plan
from support.plan_phases import first

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import DataError
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.draws import Draws, DroppedCount, count_dropped
from dpqr.releases.loop import SILENT
from dpqr.releases.release import release
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.strategies.checks import Laplace
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.split import DROPPED
from dpqr.tables.source import TableSource
from dpqr.workload.workload import Measurement

ROWS = 4_000
KEPT = ROWS // 2
BUDGET = 400
DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 15},
            "dpqr": {"otherwise": "drop"},
        },
    ],
}
MARGINALS = [{"marginal": ["sex", "age"]}, {"marginal": ["age"]}]
PREDICATES = [{"where": "sex = 'F'"}, {"where": "age < 4 and sex = 'M'"}, {"where": "age >= 12"}]
ORDERED = [{"prefix": "age", "by": ["sex"]}]
CASES = {
    "marginals": (MARGINALS, {}),
    "rounds": (PREDICATES, {"rounds": 3}),
    "rounds without an opening": (MARGINALS, {"schedule": "rounds", "rounds": 1, "opening": False}),
    "strategy": (ORDERED, {}),
    "ordered": (ORDERED, {}),
    "queries": (PREDICATES, {}),
    "queries of a stated number": (PREDICATES, {"schedule": "queries", "rounds": 12}),
    "theory": (PREDICATES, {}),
    "theory, perceptron": (PREDICATES, {"schedule": "theory", "update": "perceptron", "variant": "sharp"}),
    "auto": (ORDERED, {"schedule": "auto"}),
}


def kept(index: int) -> tuple[str, int]:
    return ("F" if index % 4 else "M"), (index * 7) % 13 if index % 3 else 2


@pytest.fixture
def half(desk):
    """Every second row has a label that the domain does not know."""
    rows = [kept(index) for index in range(KEPT)]
    lines = [line for sex, age in rows for line in (f"{sex},{age}", f"female,{age}")]
    desk.write(half__csv="sex,age\n" + "\n".join(lines) + "\n")
    return desk


def released(desk, queries, *, out=None, synthetic=None, seed=1, n=ROWS, **more):
    desk.put("asked.json", {"dpqr": "queries/1", "domain": DOMAIN, "queries": queries})
    request = PlanRequest(queries="asked.json", epsilon=str(BUDGET), neighbours="replace", n=n, **more)
    source = TableSource(paths=("half.csv",))
    output = OutputRequest(directory=out, synthetic=synthetic)
    return release(ReleaseRequest(source=source, plan=request, output=output), SILENT, noise=SeededNoise(seed))


def by_hand(queries):
    rows = [kept(index) for index in range(KEPT)]
    if queries is PREDICATES:
        holds = (lambda r: r[0] == "F", lambda r: r[1] < 4 and r[0] == "M", lambda r: r[1] >= 12)
        return [[sum(map(each, rows))] for each in holds]
    if queries is ORDERED:
        return [[sum(row[0] == sex and row[1] <= top for row in rows) for sex in "FM" for top in range(16)]]
    pairs = [[sum(row == (sex, age) for row in rows) for sex in "FM" for age in range(16)]]
    return [*pairs, [sum(age == one for _, age in rows) for one in range(16)]]


def right(made, queries) -> float:
    """The largest error over all answers, after the sizes were compared."""
    pairs = zip(made.answers, by_hand(queries), strict=True)
    return max(float(abs(answers.estimate - truth).max()) for answers, truth in pairs)


@pytest.mark.parametrize("case", thinned([case for case in CASES if not case.startswith("theory")], 8))
def test_estimates_and_totals_are_those_of_the_kept_rows(half, case):
    """At this budget noise moves no answer by more than a few records."""
    queries, options = CASES[case]
    made = released(half, queries, **{"schedule": case, **options})
    assert (made.plan.problem.n, made.plan.problem.most) == (None, ROWS)
    assert right(made, queries) <= 5
    assert abs(made.hypothesis.total - KEPT) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("case", ["theory", "theory, perceptron"])
def test_theory_keeps_its_promise_and_its_certificate(half, case):
    queries, options = CASES[case]
    made = released(half, queries, **{"schedule": case, **options})
    alpha, certificate = float(made.plan.promised), made.certificate
    assert made.plan.stop.promise == "proved"
    assert right(made, queries) <= certificate.records <= alpha * ROWS < KEPT / 2
    assert certificate.fraction == certificate.records / ROWS
    assert abs(made.hypothesis.total - KEPT) <= alpha * ROWS / 8
    assert "is measured first" in " ".join(made.trust)


@pytest.mark.slow
def test_as_many_synthetic_rows_as_were_kept(half):
    import pyarrow.parquet as pq

    made = released(half, MARGINALS, out="out", synthetic="rows", schedule="marginals")
    assert pq.read_table("out/synthetic.parquet").num_rows == round(made.hypothesis.total) == KEPT


def test_a_declared_number_that_the_table_does_not_hold_is_refused(half):
    """The declared n is that of all rows, those left out included."""
    with pytest.raises(DataError, match="the declared number of records"):
        released(half, MARGINALS, n=KEPT)


@pytest.mark.slow
def test_the_whole_story_from_the_command_line(half):
    half.put("asked.json", {"dpqr": "queries/1", "domain": DOMAIN, "queries": MARGINALS})
    options = ("--neighbours", "replace", "--n", ROWS, "--count-dropped", "0.2", "--json")
    record = half.release(*options, data="half.csv", queries="asked.json", eps="100").json
    assert abs(record["dropped"]["estimate"] - KEPT) < 20
    assert abs(record["hypothesis"]["total"] - KEPT) < 20
    assert record["warning"].startswith("about ")
    assert not record["dropped"]["parallel"]


# The count of what was left out: one draw, paid for, at the price that the plan set aside.

LOST = Private(DenseHistogram(np.array(12345, dtype=np.int64)))


def counted(price, unit=None):
    plan = make_plan()
    problem = replace(plan.problem, unit=unit or PrivacyUnit())
    plan = replace(plan, problem=problem, roles=replace(plan.roles, check=Laplace()))
    plan = first(plan, Phase(noun="left out", count=1, price=price)) if price else plan
    guard = OpenFilter()
    return count_dropped(Draws(data=LOST, accountant=guard, noise=SeededNoise(3)), plan), guard.charged


def test_one_draw_around_the_count() -> None:
    assert counted(None) == (None, [])
    assert counted(Price(epsilon=Fraction(100)))[0].estimate == 12345
    found, charged = counted(Price(epsilon=Fraction(1, 2)), PrivacyUnit(columns=("pid",), rows=3))
    assert [(event.sensitivity, event.scale) for event in charged] == [(3, 6)]
    assert found.charge == 1
    assert found.deviation == found.measurement.law.deviation
    assert found.estimate != 12345
    assert abs(found.estimate - 12345) < 40 * found.deviation


def test_an_estimate_is_what_wconsistent_with_draws_below_0_too() -> None:
    """A bound at 0 would make few left-out records look like more, on average."""
    drawn = Measurement(blocks=(DROPPED,), values=(np.array([-7]),), law=DiscreteLaplace(Fraction(9)))
    assert DroppedCount(measurement=drawn, charge=4).estimate == -7
