"""Extension: the names that a third party's strategies are written with. They stay when the rest moves.

A package registers a class by an entry point (`dpqr guide extending`) and tests it with `dpqr.testing`. Update rules,
losses, learners and engines need nothing else of dpqr; distinguishers, checks and accountants need events and noise.
"""

from __future__ import annotations

from dpqr.kernel.accountants.accountant import Accountant
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.hypothesis import DenseDistribution, Hypothesis, Sampleable
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.plan import Phase, Plan, Roles, Schedule, StopTest
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.schedules.drafts import Progress, Released
from dpqr.strategies.transcript import Round, Step
from dpqr.strategies.updates.interface import (
    UpdateRule,
    any_block,
    dense_footprint,
    exponential_step,
    no_bound,
    on_domain,
    uniform_start,
)
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
