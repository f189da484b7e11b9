"""The examples in docstrings are run, and every public noun has one."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "dpqr"
MODULES = sorted(
    ".".join(("dpqr", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text()
)
NOUNS = (
    "dpqr.data.attribute:Attribute",
    "dpqr.data.domain:Domain",
    "dpqr.data.facts:PublicFacts",
    "dpqr.data.histogram:DenseHistogram",
    "dpqr.data.histogram:SparseHistogram",
    "dpqr.data.unit:PrivacyUnit",
    "dpqr.hypotheses.dense:DenseDistribution",
    "dpqr.hypotheses.dense:SignedVector",
    "dpqr.hypotheses.factored.distribution:FactoredDistribution",
    "dpqr.hypotheses.factored.junction_tree:JunctionTree",
    "dpqr.hypotheses.linear_estimate:LinearEstimate",
    "dpqr.hypotheses.piecewise:PiecewiseDistribution",
    "dpqr.hypotheses.small_databases:Net",
    "dpqr.hypotheses.small_databases:PolytopeSample",
    "dpqr.mechanisms.noisy_answers:GaussianAnswers",
    "dpqr.mechanisms.noisy_answers:LaplaceAnswers",
    "dpqr.mechanisms.selection:ExponentialChoice",
    "dpqr.mechanisms.selection:PermuteAndFlipChoice",
    "dpqr.noise.discrete_gaussian:DiscreteGaussian",
    "dpqr.noise.discrete_laplace:DiscreteLaplace",
    "dpqr.noise.rounded_gaussian:RoundedGaussian",
    "dpqr.privacy.accountants.analytic:Analytic",
    "dpqr.privacy.accountants.advanced:Advanced",
    "dpqr.privacy.accountants.basic:Basic",
    "dpqr.privacy.accountants.optimal:Optimal",
    "dpqr.privacy.accountants.pld:PrivacyLossDistribution",
    "dpqr.privacy.accountants.zcdp:ZeroConcentrated",
    "dpqr.privacy.budget:Cost",
    "dpqr.privacy.budget:Price",
    "dpqr.privacy.budget:PrivacyBudget",
    "dpqr.privacy.events:DiscreteGaussianEvent",
    "dpqr.privacy.events:DiscreteLaplaceEvent",
    "dpqr.privacy.events:ExponentialEvent",
    "dpqr.privacy.events:LeftOutEvent",
    "dpqr.privacy.events:PermuteAndFlipEvent",
    "dpqr.privacy.events:PureSumEvent",
    "dpqr.privacy.events:RhoSumEvent",
    "dpqr.privacy.events:RoundedGaussianEvent",
    "dpqr.privacy.sealed:Private",
    "dpqr.privacy.sealed:Released",
    "dpqr.workload.block:QueryBlock",
    "dpqr.workload.workload:Measurement",
    "dpqr.workload.workload:Workload",
)
"""The nouns that a reader meets first, as module:name; a new public noun belongs here."""


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_hold(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("noun", NOUNS)
def test_a_public_noun_has_an_example(noun):
    module, _, name = noun.partition(":")
    shown = doctest.DocTestFinder(recurse=False).find(getattr(importlib.import_module(module), name), name)
    assert any(one.examples for one in shown)
