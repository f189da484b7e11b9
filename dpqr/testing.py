"""Testing: the conformance kit for those who write strategies of their own, to be called from their tests.

from dpqr.testing import check_update_rule

def test_hedge():
    check_update_rule(Hedge())
"""

from __future__ import annotations

from typing import Any

from dpqr.conformance.update_rules import update_rule_faults


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
    faults = list(dict.fromkeys(update_rule_faults(rule)))
    if faults:
        raise AssertionError("\n".join(faults))
