"""Options of `dpqr budget`: names that the Python interface has too."""

from dataclasses import fields

from dpqr.api.policy_options import PolicyOptions
from dpqr.cli.parameters.budget_options import Reading


def test_a_policy_has_the_same_options_at_both_doors():
    assert {each.name for each in fields(Reading)} == set(PolicyOptions.__annotations__)
