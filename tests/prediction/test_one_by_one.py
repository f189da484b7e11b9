"""Points one after the other: each draw is the plan's, the values are those of the whole batch, learned once."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, slowly
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.exact_kernel import ExactKernel
from dpqr.prediction.learners.features import CellFeatures, Kernel
from dpqr.prediction.planner import FitCache, OnePoint, PlannerInput, least_spread, one_by_one
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe

RECORDS, CODES = 60, np.array([[0], [2], [1], [2]])
FEATURES = CellFeatures(domain=domain(3))
LABELS = domain(3, 2)
NUMBERS = Domain((LABELS.attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(5), Fraction(9))))))
ONE, OTHER = (np.array([[19, 1], [1, 19], [10, 10]]), np.array([[1, 19], [19, 1], [10, 10]]))
ALWAYS = PrivacyBudget(epsilon=Fraction(1000))
"""So much that noise cannot change a label, nor a value by more than a twentieth."""


def planned(recipe, table=LABELS, budget=ALWAYS, **problem):
    target = Target(attribute=table.attributes[1], axis=1, positive=1 if table is LABELS else None)
    asked = PredictionProblem(
        domain=table, target=target, **{"unit": PrivacyUnit(), "records": RECORDS, "points": 4, **problem}
    )
    accountants = [ZeroConcentrated() if budget.delta else Basic()]
    return least_spread(PlannerInput(problem=asked, budget=budget, recipe=recipe, accountants=accountants))


def aggregate(**given):
    return Aggregate(features=FEATURES, base=RidgeBase(), parts=3, **given)


def table(counts, plan):
    """With every record in the first part, where there are parts."""
    return DenseHistogram(counts if plan.parts is None else np.stack([counts, counts, counts], axis=-1))


PLANS = {
    "logistic": lambda: planned(StableRecipe(name="logistic", features=FEATURES, penalty=Fraction(1, 100))),
    "gaussian noise": lambda: planned(
        StableRecipe(name="logistic", features=FEATURES, penalty=Fraction(1, 100)),
        budget=PrivacyBudget(epsilon=Fraction(1000), delta=Fraction(1, 10**6)),
    ),
    "numbers": lambda: planned(StableRecipe(name="least-squares", features=FEATURES, penalty=Fraction(1, 9)), NUMBERS),
    "votes": lambda: planned(aggregate()),
    "randomised": lambda: planned(aggregate(vote="randomised")),
    "averages": lambda: planned(aggregate(), NUMBERS),
}


def whole(plan, codes):
    """The batch that `dpqr predict` draws from."""
    if isinstance(plan.recipe, Aggregate):
        return plan.votes(FEATURES.of(codes))
    return plan.predictions(plan.learner(RECORDS), codes)


class Panel:
    """An ensemble, some of whose parts one unit changes."""

    parts, predictions, touched = 5, 4, 3


def test_a_unit_in_several_parts_changes_that_many_at_every_point():
    for name in ("votes", "randomised", "averages"):
        plan, points = PLANS[name](), [OnePoint(ensemble=Panel(), shared=FitCache(), place=place) for place in range(4)]
        for point in points:
            assert (point.parts, point.touched, point.predictions) == (5, 3, 1)
            ((event, count),) = plan.voted(point).events
            assert (event, count) == (plan.voted(Panel()).events[0][0], 1)


def test_numbers_are_clipped_point_by_point_as_together():
    for name, limit in (("numbers", 1), ("logistic", None)):
        plan = PLANS[name]()
        alone = list(one_by_one(plan, RECORDS, CODES))
        together = whole(plan, CODES)
        assert together.at_points.limit == limit
        assert [(each.at_points.limit, each.at_points.bound) for each in alone] == [
            (limit, together.at_points.bound)
        ] * 4
    wild = plan.learner(1)
    assert wild.bound > 2


@in_one_test("make", PLANS.values())
def test_each_draw_is_one_of_the_plan_and_of_its_own_point(make):
    plan = make()
    counts = table(ONE, plan)
    batches = list(one_by_one(plan, RECORDS, CODES))
    ((event, number),) = plan.events
    assert [batch.events for batch in batches] == number * [((event, 1),)]
    together = whole(plan, CODES).sample(counts, SeededNoise(1))
    alone = np.concatenate([batch.sample(counts, SeededNoise(2)) for batch in batches])
    assert alone == pytest.approx(together, abs=2**17)
    assert (alone == together).all() or np.abs(together).max() > 1


@pytest.mark.parametrize(
    "make", [PLANS["votes"], *slowly(*(PLANS[name] for name in ("logistic", "numbers", "averages")))]
)
def test_another_table_is_learned_anew(make):
    plan = make()
    first = next(iter(one_by_one(plan, RECORDS, CODES)))
    one, two = (first.sample(table(counts, plan), SeededNoise(3))[0] for counts in (ONE, OTHER))
    again = first.sample(table(ONE, plan), SeededNoise(3))[0]
    assert one == again != two


def test_every_point_has_noise_of_its_own():
    plan = planned(
        StableRecipe(name="logistic", features=FEATURES, penalty=Fraction(1)),
        budget=PrivacyBudget(epsilon=Fraction(1)),
        points=30,
    )
    same = np.zeros((30, 1), dtype=np.int64)
    noise, counts = SeededNoise(4), table(ONE, plan)
    assert len({int(batch.sample(counts, noise)[0]) for batch in one_by_one(plan, RECORDS, same)}) == 30


def test_a_learner_is_fitted_once_for_all_points(monkeypatch):
    plan, fitted = PLANS["logistic"](), []
    learner = type(plan.learner(RECORDS))
    true = learner.fit
    monkeypatch.setattr(learner, "fit", lambda self, counts: fitted.append(1) or true(self, counts))
    counts = table(ONE, plan)
    for batch in one_by_one(plan, RECORDS, CODES):
        batch.sample(counts, SeededNoise(5))
    assert len(fitted) == 1


def test_an_exact_kernel_serves_its_points():
    kernel, wide = Kernel(name="gaussian"), domain(30, 40, 50, 2)
    recipe = StableRecipe(name="logistic", features=kernel.of(domain(30, 40, 50)), kernel=kernel)
    target = Target(attribute=wide.attributes[3], axis=3, positive=1)
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    problem = PredictionProblem(domain=wide, target=target, unit=unit, records=4, points=2)
    wanted = PlannerInput(problem=problem, budget=ALWAYS, recipe=recipe, accountants=[Basic()])
    plan = least_spread(wanted)
    assert isinstance(plan.learner(4), ExactKernel)
    cells = np.zeros((30, 40, 50, 2), dtype=np.int64)
    cells[0, 0, 0, 1] = cells[1, 1, 1, 0] = 2
    codes, counts = np.array([[0, 0, 0], [1, 1, 1]]), DenseHistogram(cells)
    found = [batch.sample(counts, SeededNoise(6))[0] for batch in one_by_one(plan, 4, codes)]
    assert found[0] > 0 > found[1]


def test_what_is_shared_shows_no_value():
    shared = FitCache()
    shared.of(DenseHistogram(ONE), lambda: np.array([12345]))
    assert "12345" not in repr(shared)
