"""Extension: the names that a third party's strategies are written with. They stay when the rest moves.

A package registers a class by an entry point (`dpqr guide extending`), tests it with `dpqr.testing`, and imports
nothing else of dpqr.
"""

from __future__ import annotations

from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.dense import DenseDistribution
from dpqr.hypotheses.hypothesis import Hypothesis, Sampleable
from dpqr.privacy.accountant import Accountant
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.plan import Phase, Plan, Roles, Schedule, StopTest
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.schedules.states import Progress, Released
from dpqr.strategies.transcript import Round, Step
from dpqr.strategies.updates.dense_members import (
    any_block,
    dense_footprint,
    exponential_step,
    no_bound,
    uniform_start,
)
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.strategies.updates.single_query import on_domain
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

__all__ = [
    "Accountant",
    "Check",
    "DenseDistribution",
    "Distinguisher",
    "Footprint",
    "Hypothesis",
    "InfeasiblePlan",
    "Level",
    "Measurement",
    "Phase",
    "Plan",
    "Problem",
    "Progress",
    "QueryBlock",
    "Released",
    "Roles",
    "Round",
    "Sampleable",
    "Schedule",
    "Step",
    "StopTest",
    "UpdateRule",
    "any_block",
    "dense_footprint",
    "exponential_step",
    "no_bound",
    "on_domain",
    "uniform_start",
]
