"""The kit finds each fault that is planted in a rule, and finds none in sound ones."""

import ast
from dataclasses import dataclass

import numpy as np
import pytest
from support.cases import thinned
from support.guide_rule import RULE, readme_rule

from dpqr.extension import DenseDistribution, Footprint, InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.strategies.known import UPDATES
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.testing import check_update_rule

Hedge = readme_rule()


def broken(**members):
    """The rule of the guide with other members."""
    return dataclass(frozen=True, kw_only=True)(type("Broken", (Hedge,), members))()


def uniform(problem, total=60.0):
    return DenseDistribution.uniform(problem.domain.shape, total)


def update(change):
    """An `update` that changes what the sound one returns."""
    return lambda self, problem, hypothesis, history: change(Hedge.update(self, problem, hypothesis, history))


class Odd:
    """A hypothesis that answers as it is told, and has a total."""

    def __init__(self, total=1.0, answer=lambda block: np.zeros(block.rows)):
        self.total, self._answer = total, answer

    def answer(self, block):
        return self._answer(block)


class Counted:
    """A rule's memory beside its arguments."""

    calls = 0

    @classmethod
    def next(cls):
        cls.calls += 1
        return cls.calls


def writing(self, problem, hypothesis, history):
    history[-1].values[0][:] = 0
    return hypothesis


def moving(self, problem, hypothesis, history):
    hypothesis.probabilities.flags.writeable = True
    hypothesis.probabilities.flat[0] += 0.25
    hypothesis._cache.clear()
    return uniform(problem)


def writable(self, problem):
    return DenseDistribution(probabilities=np.full(problem.domain.shape, 1 / problem.domain.size), total=0.0)


def without(member):
    kind = type("Broken", (), {name: value for name, value in vars(Hedge).items() if name in MEMBERS - {member}})
    return dataclass(frozen=True)(kind)()


MEMBERS = {"name", "trust", "cumulative", "start", "update", "mistakes", "footprint", "fits"}

BROKEN = {
    **{f"without {each}": (without(each), f"protocol: the rule lacks {each}") for each in sorted(MEMBERS)},
    "takes too little": (broken(start=lambda self: None), "protocol: the rule has a method start that does not take"),
    "trust is a text": (broken(trust="trust me"), "trust: it is no tuple of sentences"),
    "no name": (broken(name=""), "name: it is no text"),
    "cumulative is a number": (broken(cumulative=0), "cumulative: it is neither True nor False"),
    "falsely cumulative": (broken(cumulative=True), "cumulative: one update after all measurements ends"),
    "no footprint": (broken(footprint=lambda self, problem: 8), "footprint: it returns no Footprint"),
    "less than no bytes": (broken(footprint=lambda self, problem: Footprint(bytes=-1)), "footprint: bytes must be"),
    "refuses": (
        broken(footprint=lambda self, problem: Footprint(bytes=0, refusal="no")),
        "footprint: the rule refuses every tiny universe",
    ),
    "start by chance": (
        broken(start=lambda self, problem: uniform(problem, float(Counted.next()))),
        "purity: start gives another hypothesis the second time",
    ),
    "update by chance": (
        broken(update=update(lambda found: replace(found, total=found.total + Counted.next(), _cache={}))),
        "purity: update gives another hypothesis the second time",
    ),
    "now and then exhausted": (
        broken(update=update(lambda found: found if Counted.next() % 2 else None)),
        "purity: update is exhausted at one time and not at another",
    ),
    "writes into answers": (broken(update=writing), "purity: update writes into a measurement"),
    "changes its input": (
        broken(start=writable, update=moving),
        "purity: update changes the hypothesis that it was given",
    ),
    "fits by chance": (
        broken(fits=lambda self, problem, measured, candidate: Counted.next() % 2 == 0),
        "purity: fits says another thing",
    ),
    "fits says 1": (broken(fits=lambda self, problem, measured, candidate: 1), "fits: it returns neither"),
    "not a number": (
        broken(update=update(lambda found: replace(found, probabilities=found.probabilities * np.nan, _cache={}))),
        "answer: not finite numbers",
    ),
    "infinite total": (broken(start=lambda self, problem: uniform(problem, np.inf)), "total: inf after start"),
    "negative cells": (
        broken(update=update(lambda found: replace(found, probabilities=-found.probabilities, total=60.0, _cache={}))),
        "weights: not one number of at least 0 a cell",
    ),
    "cells that do not sum up": (
        broken(
            update=update(lambda found: replace(found, probabilities=found.probabilities / 2, total=60.0, _cache={}))
        ),
        "weights: they sum to 30",
    ),
    "one answer too few": (
        broken(update=lambda *_: Odd(answer=lambda block: np.zeros(block.rows + 1))),
        "answer: shape (2,) for total",
    ),
    "answers with texts": (
        broken(update=lambda *_: Odd(answer=lambda block: np.full(block.rows, "x"))),
        "answer: not finite numbers",
    ),
    "breaks on wild answers": (
        broken(update=update(lambda found: found if found.total < 10_000 else 1 / 0)),
        "errors: ZeroDivisionError",
    ),
    "refuses late": (
        broken(update=update(lambda found: (_ for _ in ()).throw(InfeasiblePlan("not this one")))),
        "errors: InfeasiblePlan: not this one",
    ),
    "half a mistake": (broken(mistakes=lambda *_: 2.5), "mistakes: neither None nor a whole number"),
    "fewer mistakes at a harder level": (
        broken(mistakes=lambda self, problem, level: int(100 * level.value)),
        "mistakes: more at level 3/10 (30) than at 1/10 (10)",
    ),
    "promises one mistake": (broken(mistakes=lambda *_: 1), "mistakes: 1 are promised at level 3/10"),
}


@pytest.mark.parametrize("what", thinned(BROKEN, 17))
def test_a_planted_fault_is_found(what):
    rule, says = BROKEN[what]
    with pytest.raises(AssertionError) as raised:
        check_update_rule(rule)
    lines = str(raised.value).splitlines()
    assert any(line.startswith(says) for line in lines), lines
    assert all(len(line) < 300 for line in lines)


@pytest.mark.slow
def test_a_rule_must_be_a_frozen_dataclass():
    plain = type("Plain", (), {name: value for name, value in vars(Hedge).items() if name in MEMBERS})()
    with pytest.raises(AssertionError, match=r"^value: Plain is no frozen dataclass"):
        check_update_rule(plain)


@dataclass(frozen=True, kw_only=True)
class Optimist(Perceptron):
    """A sound rule that promises half of its bound in the sharp variant."""

    def mistakes(self, problem, level):
        whole = Perceptron.mistakes(self, problem, level)
        return whole // 4 if level.variant == "sharp" else whole


@pytest.mark.slow
def test_a_bound_that_is_a_quarter_of_the_truth_is_refuted():
    with pytest.raises(AssertionError, match=r"mistakes: \d+ are promised at level 3/\d+ \(sharp\) on \d cells"):
        check_update_rule(Optimist())


DEAR = ("multiplicative-weights", "product", "perceptron", "maximum-entropy", "median")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DEAR, *(name for name in UPDATES.builtins if name not in DEAR)])
def test_the_rules_of_the_house_conform(name):
    check_update_rule(UPDATES.load(name)())


@pytest.mark.slow
def test_so_does_multiplicative_weights_without_replay():
    check_update_rule(MultiplicativeWeights(replay=False))


@pytest.mark.slow
def test_the_rule_of_the_readme_conforms_and_imports_nothing_internal():
    check_update_rule(Hedge())
    modules = [each.module for each in ast.walk(ast.parse(RULE)) if isinstance(each, ast.ImportFrom)]
    assert [module for module in modules if module.startswith("dpqr")] == ["dpqr.extension"]
    assert len(RULE.splitlines()) <= 20
