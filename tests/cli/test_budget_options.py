"""Options of `dpqr budget`: names that the Python interface has too."""

from dataclasses import fields

from dpqr.cli.budget import ReadingOptions
from dpqr.python.ledger import PolicyOptions


def test_a_policy_has_the_same_options_at_both_doors():
    assert {each.name for each in fields(ReadingOptions)} == set(PolicyOptions.__annotations__)
