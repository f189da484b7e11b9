"""Every name that a user can pick leads to a strategy that plays its role under that name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module

from support.cases import in_one_test

from dpqr.kernel.plugins import lacking
from dpqr.strategies.known import ROLES

EVERY = [(registry, name) for registry in ROLES for name in registry.builtins]


@in_one_test(("registry", "name"), EVERY)
def test_strategy_plays_its_role(registry, name):
    """`auto` names the schedule that runs its plans, and so only plans."""
    module, _, protocol = registry.protocol.partition(":")
    protocol = "Planner" if name == "auto" else protocol
    assert lacking(getattr(import_module(module), protocol), registry.load(name)(), name) is None


@in_one_test(("registry", "name"), EVERY)
def test_strategy_is_a_frozen_value(registry, name):
    made = registry.load(name)
    kind = type(made())
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in fields(kind))
    assert made() == made()
