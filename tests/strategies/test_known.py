"""Every name that a user can pick leads to a strategy that plays its role under that name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from dpqr.strategies.known import ACCOUNTANTS, CHECKS, DISTINGUISHERS, EXPOSED, ROLES, SCHEDULES, UPDATES

EVERY = [(registry, name) for registry in ROLES for name in registry.builtins]
METHODS = {
    "schedule": ("plan", "next", "distinguisher"),
    "distinguisher": ("mechanism", "event", "shortfall"),
    "check": ("mechanism", "law", "event", "satisfied", "pure"),
    "update": ("start", "update", "mistakes", "footprint", "trust", "cumulative"),
    "accountant": ("cut", "epsilon", "guard", "refusal", "homogeneous", "concentrated"),
}


def by_name(value):
    return value.role if hasattr(value, "role") else value


@pytest.mark.parametrize(("registry", "name"), EVERY, ids=by_name)
def test_strategy_plays_its_role(registry, name):
    strategy = registry.load(name)()
    assert strategy.name == name
    for method in METHODS[registry.role]:
        assert hasattr(strategy, method), method


@pytest.mark.parametrize(("registry", "name"), EVERY, ids=by_name)
def test_strategy_is_a_frozen_value(registry, name):
    kind = registry.load(name)
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in fields(kind))
    assert kind() == kind()


def test_groups_and_roles_are_distinct():
    assert len({registry.group for registry in ROLES}) == len(ROLES)
    assert [registry.role for registry in ROLES] == ["schedule", "distinguisher", "check", "update", "accountant"]
    assert all(registry.group.startswith("dpqr.") for registry in ROLES)


def test_only_update_rules_are_not_exposed_to_private_data():
    assert set(map(id, ROLES)) - set(map(id, EXPOSED)) == {id(UPDATES)}
    assert {id(each) for each in EXPOSED} == set(map(id, (DISTINGUISHERS, CHECKS, ACCOUNTANTS, SCHEDULES)))
