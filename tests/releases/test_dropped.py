"""The count of what was left out: one draw, paid for, at the price that the plan set aside."""

from fractions import Fraction

import numpy as np
from support.fakes import OpenFilter
from support.handmade_release import make_plan
from support.plan_phases import first

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.budget import Price
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.draws import Draws, DroppedCount, count_dropped
from dpqr.strategies.checks import Laplace
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.split import DROPPED
from dpqr.workload.workload import Measurement

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


def test_an_estimate_is_what_was_drawn_below_0_too() -> None:
    """A bound at 0 would make few left-out records look like more, on average."""
    drawn = Measurement(blocks=(DROPPED,), values=(np.array([-7]),), law=DiscreteLaplace(Fraction(9)))
    assert DroppedCount(measurement=drawn, charge=4).estimate == -7
