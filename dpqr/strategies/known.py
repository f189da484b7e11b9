"""The strategies that a user can name, role by role."""

from __future__ import annotations

from dpqr.kernel.plugins import Registry

UPDATES = Registry(
    role="update",
    group="dpqr.update_rules",
    protocol="dpqr.strategies.updates.interface:UpdateRule",
    builtins={
        "multiplicative-weights": "dpqr.strategies.updates.multiplicative_weights:MultiplicativeWeights",
        "piecewise-weights": "dpqr.strategies.updates.maximum_entropy:PiecewiseWeights",
        "median": "dpqr.strategies.updates.median:Median",
        "maximum-entropy": "dpqr.strategies.updates.maximum_entropy:MaximumEntropy",
        "perceptron": "dpqr.strategies.updates.perceptron:Perceptron",
        "least-squares": "dpqr.strategies.updates.least_squares:LeastSquares",
        "bucket-least-squares": "dpqr.strategies.updates.least_squares:BucketLeastSquares",
        "product": "dpqr.strategies.updates.product:Product",
    },
)
DISTINGUISHERS = Registry(
    role="distinguisher",
    group="dpqr.distinguishers",
    protocol="dpqr.strategies.distinguishers:Distinguisher",
    builtins={
        "exponential": "dpqr.strategies.distinguishers:Exponential",
        "permute-and-flip": "dpqr.strategies.distinguishers:PermuteAndFlip",
    },
)
CHECKS = Registry(
    role="check",
    group="dpqr.checks",
    protocol="dpqr.strategies.checks:Check",
    builtins={
        "laplace": "dpqr.strategies.checks:Laplace",
        "gaussian": "dpqr.strategies.checks:Gaussian",
    },
)
SCHEDULES = Registry(
    role="schedule",
    group="dpqr.schedules",
    protocol="dpqr.strategies.plan:Schedule",
    builtins={
        "auto": "dpqr.strategies.schedules.auto:Auto",
        "marginals": "dpqr.strategies.schedules.marginals.schedule:Marginals",
        "rounds": "dpqr.strategies.schedules.rounds:Rounds",
        "queries": "dpqr.strategies.schedules.rounds:Queries",
        "theory": "dpqr.strategies.schedules.anytime:theory",
        "strategy": "dpqr.strategies.schedules.strategy:Strategy",
        "ordered": "dpqr.strategies.schedules.ordered:Ordered",
        "parts": "dpqr.strategies.schedules.parts:Parts",
    },
)
ACCOUNTANTS = Registry(
    role="accountant",
    group="dpqr.accountants",
    protocol="dpqr.kernel.accountants.accountant:Accountant",
    builtins={
        "basic": "dpqr.kernel.accountants.sums:Basic",
        "advanced": "dpqr.kernel.accountants.fixed_schedules:Advanced",
        "optimal": "dpqr.kernel.accountants.fixed_schedules:Optimal",
        "zcdp": "dpqr.kernel.accountants.sums:ZeroConcentrated",
        "gdp": "dpqr.kernel.accountants.analytic:GaussianDP",
        "pld": "dpqr.kernel.accountants.pld:PrivacyLossDistribution",
    },
    on_request=("pld",),
)
"""Loading the package behind pld takes longer than a whole plan may, and its gain is small: see --accountant pld."""
ROLES = (SCHEDULES, DISTINGUISHERS, CHECKS, UPDATES, ACCOUNTANTS)
