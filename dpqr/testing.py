"""Testing: the conformance kit for those who write strategies of their own, to be called from their tests.

from dpqr.testing import check_update_rule

def test_hedge():
    check_update_rule(Hedge())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dpqr.audit.conformance.engines import engine_faults
from dpqr.audit.conformance.learners import learner_faults, loss_faults
from dpqr.audit.conformance.mechanisms import check_faults, distinguisher_faults
from dpqr.audit.conformance.schedules import schedule_faults
from dpqr.audit.conformance.update_rules import update_rule_faults


def check_update_rule(rule: Any) -> None:
    """Try an update rule on tiny universes, under add-remove and replace.

    It has every method of the protocol and is a frozen value; start, update, mistakes and fits are functions of their
    arguments and change none of them; answers are finite and of the right shape, whatever the noise; records are
    records; `cumulative` is true where it is claimed; and no adversary gets more updates than `mistakes` promises.
    A search can refute a bound, not prove it. Nothing here looks for malice.

    Args:
        rule: an instance, with the options that it shall be used with.

    Raises:
        AssertionError: one line for each fault, with the first universe that shows it.
    """
    _require_none(update_rule_faults(rule))


def check_distinguisher(distinguisher: Any) -> None:
    """Attack a distinguisher on tiny neighbouring tables, some thousand draws each, with the system's noise.

    It has every method of the protocol; a draw is charged what was planned, and no more than its price; what two
    neighbours show apart is within the event's claim; and draws fall behind by the shortfall that it states. A sound
    one fails with a probability below 1e-8.

    Raises:
        AssertionError: one line for each fault.
    """
    _require_none(distinguisher_faults(distinguisher))


def check_check(check: Any) -> None:
    """The same for a check: charge, price, privacy, the tail of the law that it states, and its stop test.

    Raises:
        AssertionError: one line for each fault.
    """
    _require_none(check_faults(check))


def check_schedule(schedule: Any) -> None:
    """Plan and run a schedule on tiny universes, under add-remove and replace.

    It has every method of the protocol and is a frozen value; the same inputs give the same plan, within the budget;
    start, next and after are functions, so the same rounds lead to the same steps; a run charges no more than its plan,
    whether draws are lost or not, and ends.

    Args:
        schedule: an instance, with the options that it shall be used with.

    Raises:
        AssertionError: one line for each fault, with the first universe that shows it.
    """
    _require_none(schedule_faults(schedule))


def check_loss(loss: Any) -> None:
    """Try a loss of predictions on a grid of predictions and targets.

    It has every member of the protocol and is a frozen value; its functions are functions; it is never below 0, convex,
    and keeps the Lipschitz constant, the smoothness and the start that it states. A plan that names it makes the same
    trial. A trial can refute a constant, not prove it.

    Args:
        loss: an instance.

    Raises:
        AssertionError: one line for each fault.
    """
    _require_none(loss_faults(loss))


def check_learner(learner: Any) -> None:
    """Try a stable learner on tiny neighbouring tables, under add-remove, replace, and for persons of two rows.

    It has every member of the protocol and is a frozen value; a fit is a function of its table, one finite weight for
    each feature; and no neighbours' weights are further apart than the bound that it states. A search can refute a
    bound, not prove it.

    Args:
        learner: an instance.

    Raises:
        AssertionError: one line for each fault, with the unit that shows it.
    """
    _require_none(learner_faults(learner))


def check_engine(made: Callable[[Any], Any], *, rows: int = 1000) -> None:
    """Compare an engine's counts with the core's on an awkward table: equal integers, or a fault.

    Nulls, NaN, infinities, -0.0, values at bin edges and one step beside them, decimals, Unicode normal forms, time
    zones, leap seconds, texts that are no numbers or dates, own cells and every other rule, counts of records, persons
    and the rows that are kept of each; of no row, of one, and of `rows`. That nothing is executed before `count` is not
    tested.

    Args:
        made: given an Arrow table, loads it where the engine counts, and returns the engine.
        rows: of the table.

    Raises:
        AssertionError: one line for each fault.
    """
    _require_none(engine_faults(made, rows))


def _require_none(faults: Iterable[str]) -> None:
    lines = list(dict.fromkeys(faults))
    if lines:
        raise AssertionError("\n".join(lines))
