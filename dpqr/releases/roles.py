"""Roles: from the names that the user gave to strategies, third parties' among them.

No data is open while third parties' code is loaded, so what it prints when it fails is public.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.plugins import HOUSE, Registry
from dpqr.kernel.values import field_names, replace
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.guard import Wishes
from dpqr.strategies.known import (
    ACCOUNTANT_ROWS,
    ACCOUNTANTS,
    CHECKS,
    DEFAULT_UPDATE,
    DISTINGUISHERS,
    SCHEDULE_ROWS,
    SCHEDULES,
    THIRD_PARTYS_SCHEDULE,
    UPDATES,
    ScheduleRow,
)
from dpqr.strategies.plan import Planner
from dpqr.strategies.schedules.planner import Auto, ScheduleChoice
from dpqr.workload.workload import Workload

SCHEDULES_BY_OPTION = {
    option: tuple(name for name, each in SCHEDULE_ROWS.items() if option in each.options)
    for row in SCHEDULE_ROWS.values()
    for option in row.options
}
"""The schedules that an option belongs to."""


def schedule_row(name: str) -> ScheduleRow:
    """The row of a schedule; of a third party's the defaults."""
    return SCHEDULE_ROWS.get(name, THIRD_PARTYS_SCHEDULE)


def resolve_auto_schedule(
    request: PlanRequest, workload: Workload | None = None
) -> tuple[PlanRequest, tuple[str, ...]]:
    """The request with a schedule of its own in place of `auto`, and sentences that say which and why.

    Options of `rounds`, and strategies that other schedules do not go with, choose `rounds`; so does an unread
    workload, for a look at the options alone. Whether marginals take the place of either, `plan_release` decides.
    """
    if request.schedule != "auto":
        return request, ()
    if workload is None or _states_rounds(request):
        return replace(request, schedule="rounds"), ()
    found = Auto().choose(workload)
    fixed = schedule_row(found.name).needs_filter_or
    if fixed and not _may_be_filter(request.accountant):
        found = ScheduleChoice(fixed, f"--schedule auto: {fixed}, for --accountant {request.accountant} is no filter")
    name = "rounds" if request.update and schedule_row(found.name).update != DEFAULT_UPDATE else found.name
    return replace(request, schedule=name), (found.reason,) if found.reason and name == found.name else ()


def is_rivalled(request: PlanRequest, workload: Workload) -> bool:
    """Whether marginals may take the place of what `auto` names: nothing that is stated asks for it."""
    free = request.schedule == "auto" and not _states_rounds(request)
    return free and _may_be_filter(request.accountant) and Auto().choose(workload).rivalled


def _may_be_filter(accountant: str | None) -> bool:
    """Whether prices may depend on releases under the named accountant; None: any may be chosen."""
    return accountant is None or (accountant in ACCOUNTANT_ROWS and ACCOUNTANT_ROWS[accountant].filter)


def _states_rounds(request: PlanRequest) -> bool:
    """Whether options of `rounds` are stated, or strategies that other schedules do not go with."""
    stated = any(
        getattr(request, option) is not None for option, owners in SCHEDULES_BY_OPTION.items() if "rounds" in owners
    )
    return stated or request.update not in (None, DEFAULT_UPDATE) or request.replay is False


def allowed_strategies(request: PlanRequest) -> Wishes:
    """What may be used: the named strategy of a role, or every built-in one."""
    prices = {"concentrated": True} if (request.accountant, request.check) == ("pld", "gaussian") else {}
    return Wishes(
        accountants=_candidate_strategies(ACCOUNTANTS, request.accountant, request, **prices),
        distinguishers=_candidate_strategies(DISTINGUISHERS, request.distinguisher, request),
        checks=_candidate_strategies(CHECKS, request.check, request),
        update=_update(request),
    )


def refuse_unused_options(request: PlanRequest) -> None:
    """UsageFault for an option of another schedule than the one named; `auto` takes those of rounds."""
    for option, owners in SCHEDULES_BY_OPTION.items():
        schedules = (*owners, "auto") if "rounds" in owners else owners
        idle = request.schedule not in schedules and not (option == "beta" and request.certify is not None)
        if getattr(request, option) is not None and idle:
            words = " or ".join((*owners, "--certify") if option == "beta" else owners)
            raise UsageFault(f"--{option} goes with --schedule {words}, not with {request.schedule}; leave it out")


def make_schedule(request: PlanRequest) -> Planner:
    """The schedule with its own options."""
    # Of theory: one fixed plan where the stated accountant is no filter, and no variant is stated.
    fixed = request.schedule == "theory" and request.accountant in ACCOUNTANT_ROWS
    fixed = fixed and not _may_be_filter(request.accountant)
    settings = {
        "rounds": request.rounds,
        "opening": request.opening,
        "variant": request.variant or ("sharp" if fixed else None),
    }
    stated_settings = {option: value for option, value in settings.items() if value is not None}
    schedule: Planner = _make_strategy(SCHEDULES, request.schedule, request, **stated_settings)
    return schedule


def roles_named_by_user(request: PlanRequest) -> frozenset[str]:
    """The roles without a default of their own for which the user named a strategy."""
    free = (ACCOUNTANTS, CHECKS, DISTINGUISHERS)
    return frozenset(registry.role for registry, _ in _named(request) if registry in free)


def foreign_notes(request: PlanRequest) -> tuple[str, ...]:
    """What plan and record say of third parties' strategies. UsageFault: trust in a name that is not used."""
    notes, trusted = [], set()
    for registry, name in _named(request):
        origin = registry.entry(name).origin
        if origin == HOUSE:
            continue
        trusted.add(name)
        vouched = f"{registry.role} {name!r} comes from {origin} and was vouched for by --trust {name}"
        if registry is UPDATES:
            notes.append(
                f"{vouched}: it is handed released values only, but runs where the private data is; the guarantee "
                "holds only if its code keeps to them"
            )
        else:
            notes.append(f"{vouched}: the guarantee holds only if its code is right")
        if registry is UPDATES and request.schedule == "theory":
            notes.append(
                f"the mistake bound of {name!r} is as stated by {origin}, not proved here: rounds, alpha and the "
                "promise on the largest error rest on it"
            )
    idle = [name for name in request.trust if name not in trusted]
    if idle:
        meant = next((f"did you mean --trust {name}?" for name in trusted if name not in request.trust), "leave it out")
        raise UsageFault(f"--trust {idle[0]}: no third party's code of that name is used here; {meant}")
    return tuple(notes)


def _named(request: PlanRequest) -> Iterator[tuple[Registry, str]]:
    named = (
        (SCHEDULES, request.schedule),
        (DISTINGUISHERS, request.distinguisher),
        (CHECKS, request.check),
        (UPDATES, _update_name(request)),
        (ACCOUNTANTS, request.accountant),
    )
    return ((registry, name) for registry, name in named if name is not None)


def _candidate_strategies(
    registry: Registry, name: str | None, request: PlanRequest, **options: Any
) -> tuple[Any, ...]:
    names = registry.offered if name is None else (name,)
    return tuple(_make_strategy(registry, one, request, **options) for one in names)


def _update(request: PlanRequest) -> Any:
    name = _update_name(request)
    for option, value in (("replay", request.replay), ("max-model-size", request.max_model_size)):
        if value is not None and name != DEFAULT_UPDATE:
            raise UsageFault(f"--{option} goes with --update {DEFAULT_UPDATE}, not with {name}; leave it out")
    rule = UPDATES.load(name) if UPDATES.entry(name).origin == HOUSE else None
    known = field_names(rule)
    options = {"replay": request.replay, "cells": request.cells, "model_size": request.max_model_size}
    stated = {name: value for name, value in options.items() if value is not None and name in known}
    return _make_strategy(UPDATES, name, request, **stated)


def _update_name(request: PlanRequest) -> str:
    """The rule that the user named, or the one that goes with the schedule."""
    return request.update or schedule_row(request.schedule).update


def _make_strategy(registry: Registry, name: str, request: PlanRequest, **options: Any) -> Any:
    """The strategy `name` with options. Raises: as `Registry.made`."""
    return registry.made(name, trusted=name in request.trust, **options)
