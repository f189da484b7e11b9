"""Roles: from the names that the user gave to strategies, third parties' among them.

No data is open while third parties' code is loaded, so what it prints when it fails is public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.plugins import HOUSE, Registry
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.guard import Wishes
from dpqr.strategies.known import ACCOUNTANTS, CHECKS, DISTINGUISHERS, SCHEDULES, UPDATES
from dpqr.strategies.plan import Planner
from dpqr.strategies.schedules.auto import Auto, ScheduleChoice
from dpqr.workload.workload import Workload

SCHEDULES_BY_OPTION = {
    "rounds": ("rounds", "queries"),
    "opening": ("rounds",),
    "alpha": ("theory",),
    "beta": ("theory",),
    "variant": ("theory",),
}
"""The schedules that an option belongs to. With another one it is refused: ignored, it would mislead."""

FILTERS = ("basic", "zcdp", "gdp")
"""The accountants under which prices may depend on what was released."""

UNFILTERABLE = ("advanced", "optimal", "pld")
"""The built-in ones that are none."""

FALLBACK_SCHEDULES = {"ordered": "strategy", "marginals": "rounds", "queries": "rounds"}
"""What takes the place of a schedule under the others."""

HOUSE_UPDATE = "multiplicative-weights"

UPDATE_BY_SCHEDULE = {
    "strategy": "least-squares",
    "ordered": "bucket-least-squares",
    "queries": "piecewise-weights",
    "parts": "product",
}
"""The update rules of schedules that do not take the default rule."""


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
    if found.name in FALLBACK_SCHEDULES and request.accountant not in (None, *FILTERS):
        fixed = FALLBACK_SCHEDULES[found.name]
        found = ScheduleChoice(fixed, f"--schedule auto: {fixed}, for --accountant {request.accountant} is no filter")
    name = "rounds" if request.update and found.name in UPDATE_BY_SCHEDULE else found.name
    return replace(request, schedule=name), (found.reason,) if found.reason and name == found.name else ()


def is_rivalled(request: PlanRequest, workload: Workload) -> bool:
    """Whether marginals may take the place of what `auto` names: nothing that is stated asks for it."""
    free = request.schedule == "auto" and not _states_rounds(request)
    return free and request.accountant in (None, *FILTERS) and Auto().choose(workload).rivalled


def _states_rounds(request: PlanRequest) -> bool:
    """Whether options of `rounds` are stated, or strategies that other schedules do not go with."""
    stated = any(
        getattr(request, option) is not None for option, owners in SCHEDULES_BY_OPTION.items() if "rounds" in owners
    )
    return stated or request.update not in (None, HOUSE_UPDATE) or request.replay is False


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
    fixed = request.schedule == "theory" and request.accountant in UNFILTERABLE
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
        if value is not None and name != HOUSE_UPDATE:
            raise UsageFault(f"--{option} goes with --update {HOUSE_UPDATE}, not with {name}; leave it out")
    rule = UPDATES.load(name) if UPDATES.entry(name).origin == HOUSE else None
    known = {field.name for field in fields(rule)} if is_dataclass(rule) else set()
    options = {"replay": request.replay, "cells": request.cells, "model_size": request.max_model_size}
    stated = {name: value for name, value in options.items() if value is not None and name in known}
    return _make_strategy(UPDATES, name, request, **stated)


def _update_name(request: PlanRequest) -> str:
    """The rule that the user named, or the one that goes with the schedule."""
    return request.update or UPDATE_BY_SCHEDULE.get(request.schedule, HOUSE_UPDATE)


def _make_strategy(registry: Registry, name: str, request: PlanRequest, **options: Any) -> Any:
    """The strategy `name` with options. Raises: as `Registry.made`."""
    return registry.made(name, trusted=name in request.trust, **options)


# The strategies that options can name, and what each is for.

SUMMARIES = {
    "auto": "names the schedule that suits what is asked; the default",
    "marginals": (
        "one table of all columns where it is small; else one-way marginals, and a search for the blocks "
        "that they do not explain"
    ),
    "rounds": "a fixed number of block rounds after a first, non-adaptive measurement",
    "queries": "a number of rounds of one query each, the practical form of the source's loop, without its stop test",
    "theory": "the source's loop on single queries, as printed, with its constants from the accountant",
    "strategy": "measures, once and with the whole budget, what the workload can be told from best",
    "ordered": "the strategy where records are many, buckets of neighbouring cells where they are few",
    "parts": "ordered for ordered columns that no query joins with others, marginals for the rest",
    "exponential": "the source's distinguisher of choice, the exponential mechanism",
    "permute-and-flip": "never worse than the exponential mechanism at the same pure epsilon",
    "laplace": "the source's check, a noisy answer that is pure eps-DP",
    "gaussian": "a check with lighter tails, for accountants that count in rho",
    "multiplicative-weights": "a distribution over the universe, moved by exponential steps (Dwork and Roth 2014, 4.2)",
    "piecewise-weights": "multiplicative weights with replay of all single queries, on the pieces that they leave",
    "maximum-entropy": "the maximum-entropy fit to all measurements, on a junction tree, as under marginals",
    "median": "halving over a net of small databases (Dwork and Roth 2014, section 5.2; Gupta, Roth and Ullman 2012)",
    "perceptron": "a real vector on the universe, moved along the query (Dwork and Roth 2014, section 5.2; re-derived)",
    "least-squares": "the unbiased linear estimate that fits all measurements best",
    "bucket-least-squares": "where buckets of cells were measured, their counts, shrunk and spread evenly",
    "product": "a fit of the columns that queries join, times a histogram for each ordered column apart",
    "basic": "epsilons add up",
    "advanced": "epsilons of a fixed schedule add up like random steps, at the price of a delta",
    "optimal": "the exact privacy curve of equal pure draws",
    "zcdp": "rhos add up, and one conversion at the end gives epsilon at delta",
    "gdp": "squares of mu add up, and the exact curve of Gaussian noise gives epsilon at delta",
    "pld": "the losses of a fixed schedule added up as random variables, nearly without slack",
}
"""What each of the house's strategies is."""

USES = {
    "auto": "for any workload: it takes the schedule that suits; the default",
    "marginals": "for marginals of any number of columns; under an accountant whose prices may follow releases",
    "rounds": "for workloads of marginals, predicates and ranges, at any n",
    "queries": "for many single queries (ranges, conjunctions, rows of coefficients) of which few need measuring",
    "theory": "for a proved bound on every answer, where n is public or declared and very large",
    "strategy": "for prefixes, ranges, rectangles and marginals of ordered columns, where n is large beside the cells",
    "ordered": "for prefixes, ranges and rectangles at any n: buckets of cells or a strategy, whichever errs less",
    "parts": "for prefixes and ranges of some columns beside queries that join others",
    "exponential": "for accountants that count rho (it is bounded in range), and for theory",
    "permute-and-flip": "for accountants that add up epsilons",
    "laplace": "for pure privacy, and for few queries at a time",
    "gaussian": "for many rounds or wide blocks with a delta; needs an accountant that counts rho",
    "multiplicative-weights": "for any workload over up to some million cells, and for synthetic data; the default",
    "piecewise-weights": "for single queries over large ordered universes; the default under queries",
    "maximum-entropy": "for small certificates under theory, and for domains of any size there",
    "median": "for a universe of a dozen cells, under theory",
    "perceptron": "for comparison; under theory its bound is the smallest of the step rules up to 8 cells (sharp: 3)",
    "least-squares": "for unbiased answers with a known deviation; the default under strategy",
    "bucket-least-squares": "for cells that were measured in buckets; the default under ordered",
    "product": "for measurements in parts; the default under parts",
    "basic": "for pure privacy, and for few draws",
    "advanced": "for many draws with a delta, unequal ones too",
    "optimal": "for many equal, pure draws with a delta",
    "zcdp": "for many draws with a delta, Gaussian ones too",
    "gdp": "for Gaussian noise with a delta, where choices take little of the budget",
    "pld": "for a schedule fixed in advance, with a delta: the tightest sum of unlike draws",
}
"""What each built-in strategy is for."""
