"""Fingerprints of a run's plan and blocks, so that a run is continued as it began or not at all.

A plan has a canonical form: plain JSON whose keys and kinds are written down here, one by one. It names no class and no
field of the source, so moving or renaming these changes no digest. Whoever changes the form, or how a plan of the same
form is followed, raises FORM: runs that were begun under another form are refused by name.

Public: so are domain, queries and everything else that a plan holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import is_dataclass
from enum import Enum
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from msgspec import Struct, structs

from dpqr import __version__
from dpqr.domain.attribute import PLAIN, Attribute, Axis, Bins, Labels, Rule
from dpqr.domain.domain import Domain, PublicFacts, Region
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.budget import Price
from dpqr.kernel.values import field_names
from dpqr.ledger.codec import canonical, encode_events
from dpqr.releases.record.parts import option_parts
from dpqr.strategies.plan import Plan
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.strategy_matrices import PIdentity
from dpqr.workload.trees import NestedTree, Tree

FORM = 2
"""Version of the canonical form. Form 1, which runs begun by dpqr 0.1.0 have, hashed names of classes and fields."""

_NOTE = "release, plan "


def release_note() -> str:
    """What a ledger remembers of a release beside its plan: by which rules the plan is followed."""
    return f"{_NOTE}form {FORM} of {__version__}"


def has_another_form(note: str) -> bool:
    """Whether a ledger's note is that of a release that another version of dpqr, or one of another form, has begun.

    The version counts, for it stands for all constants by which a plan is followed.
    """
    return note.startswith(_NOTE) and note != release_note()


def plan_digest(plan: Plan) -> str:
    """64 hexadecimal digits of the plan's canonical form."""
    return _digest([plan_form(plan)])


def blocks_digest(blocks: tuple[QueryBlock, ...]) -> str:
    """The same of the sums that blocks ask for, whatever these are called."""
    return _digest(_sums(block) for block in blocks)


def plan_form(plan: Plan) -> dict[str, object]:
    """The canonical form: all that the draws of a run and the meaning of its release depend on.

    Sentences, forecasts and memory are left out: they follow from the rest and change nothing that is drawn.
    """
    problem, roles = plan.problem, plan.roles
    unit, level = problem.unit, problem.level
    return {
        "form": FORM,
        "domain": _digest([_domain(problem.domain)]),
        "queries": _digest(_query(block) for block in problem.workload.blocks),
        **({"persons": _digest(_query(block) for block in plan.persons)} if plan.persons else {}),
        "unit": {
            "neighbours": unit.neighbours.value,
            # As plans have it from before a unit had several columns.
            **({"column": next(iter(unit.columns), None)} if len(unit.columns) < 2 else {"columns": [*unit.columns]}),
            **({"per": unit.per} if unit.per else {}),
            "rows": unit.rows,
            **({} if unit.cell_rows is None else {"cell_rows": unit.cell_rows}),
            "counts": unit.counted,
            "drops": unit.drops,
        },
        "records": {"n": problem.n, "most": problem.most, "persons": problem.persons},
        **({"period": _period(problem.period)} if problem.period else {}),
        "accuracy": {
            "alpha": _exact(problem.alpha),
            "beta": _exact(problem.beta),
            "level": _exact(level.value if level else None),
            "variant": level.variant if level else None,
            "threshold": _exact(plan.stop.threshold if plan.stop else None),
            **({"stages": [_exact(alpha) for alpha in plan.stop.stages]} if plan.stop and plan.stop.stages else {}),
        },
        "seed": problem.seed,
        "budget": {"epsilon": _exact(plan.budget.epsilon), "delta": _exact(plan.budget.delta)},
        "accountant": roles.accountant.name,
        "schedule": _strategy(plan.schedule),
        "distinguisher": _strategy(roles.distinguisher),
        "check": _strategy(roles.check),
        "update": _strategy(roles.update),
        "opening": _digest([_query(block) for block in blocks] for blocks in plan.opening),
        "rounds": plan.rounds,
        "phases": [[phase.noun, phase.count, _price(phase.price)] for phase in plan.phases],
        "events": encode_events(plan.events),
    }


def _period(rows: PeriodRows) -> list[str]:
    return [rows.column, rows.name, *([rows.first.name] if rows.first else [])]


def _digest(parts: Iterable[Any]) -> str:
    """Of a sequence of plain JSON values, each framed by its length."""
    hashed = hashlib.sha256()
    for part in parts:
        text = canonical(part).encode()
        hashed.update(len(text).to_bytes(8, "big"))
        hashed.update(text)
    return hashed.hexdigest()


def _domain(domain: Domain) -> dict[str, object]:
    return {
        "columns": [_column(attribute) for attribute in domain.attributes],
        "facts": _facts(domain.facts),
        "malformed": _rule(domain.malformed),
    }


def _column(attribute: Attribute) -> dict[str, object]:
    return {
        "name": attribute.name,
        "cells": _cells(attribute.axis),
        "rules": {fault: _rule(rule) for fault, rule in attribute.rules.items()},
        "missing": list(attribute.missing),
        **({} if attribute.spelling == PLAIN else {"spelling": structs.asdict(attribute.spelling)}),
    }


def _cells(axis: Axis) -> dict[str, object]:
    """What came with a later version is left out where it is not used, so that older fingerprints hold."""
    if isinstance(axis, Labels):
        texts = {"texts": [list(each) for each in axis.texts]} if axis.texts else {}
        return {"labels": list(axis.values), "folded": axis.folded, **texts}
    if isinstance(axis, Bins):
        edges = [_exact(edge) for edge in axis.edges]
        return {
            "edges": edges,
            "closed": axis.closed,
            "integral": axis.integral,
            "kind": axis.kind,
            "titles": list(axis.edge_titles),
        }
    return {"codes": axis.size}


def _facts(facts: PublicFacts) -> dict[str, object]:
    return {
        "impossible": [_region(region) for region in facts.impossible],
        "totals": [[_region(total.region), total.count] for total in facts.totals],
        "least": facts.least,
        "most": facts.most,
    }


def _region(region: Region) -> dict[str, object]:
    return {"text": region.text, "axes": list(region.axes), "cells": _array(region.cells)}


def _query(block: QueryBlock) -> dict[str, object]:
    return {
        "name": block.name,
        "sums": _sums(block),
        "labels": [list(factor.labels) for factor in block.factors],
        "weight": _exact(block.weight),
        "scale": _exact(block.scale),
    }


def _sums(block: QueryBlock) -> dict[str, object]:
    persons: dict[str, object] = {} if block.most_cells is None else {"most_cells": block.most_cells}
    if block.within is not None:
        persons["within"] = list(block.within)
    if block.where:
        persons["where"] = [_region(region) for region in block.where]
    if block.times != 1:
        persons["times"] = block.times
    factors = [
        {"axes": list(factor.axes), "sizes": list(factor.sizes), "rows": _matrix(factor.matrix)}
        for factor in block.factors
    ]
    return {"factors": factors, "rowwise": block.rowwise, **persons}


@singledispatch
def _matrix(matrix: Any) -> dict[str, object]:
    """A third party's matrix, by its class and its fields."""
    return _foreign(matrix)


@_matrix.register
def _(matrix: Identity) -> dict[str, object]:
    return {"identity": matrix.size}


@_matrix.register
def _(matrix: Prefix) -> dict[str, object]:
    return {"prefixes": matrix.size, "others": matrix.others}


@_matrix.register
def _(matrix: Dense) -> dict[str, object]:
    return {"dense": _array(matrix.coefficients)}


@_matrix.register
def _(matrix: Sparse) -> dict[str, object]:
    entries = matrix.csr.tocoo()
    places = [_array(each) for each in entries.coords]
    return {"sparse": list(entries.shape), "places": places, "values": _array(entries.data)}


@_matrix.register
def _(matrix: Ranges) -> dict[str, object]:
    return {"ranges": matrix.cells, "starts": _array(matrix.starts), "stops": _array(matrix.stops)}


@_matrix.register
def _(matrix: Tree) -> dict[str, object]:
    return {"tree": matrix.size, "widths": list(matrix.widths), "weights": list(matrix.weights)}


@_matrix.register
def _(matrix: NestedTree) -> dict[str, object]:
    parents = [_array(each) for each in matrix.nesting.parents]
    return {"nested": matrix.cells, "parents": parents, "weights": list(matrix.weights)}


@_matrix.register
def _(matrix: PIdentity) -> dict[str, object]:
    parts = (matrix.widths, matrix.diagonal, matrix.sums)
    return {"p-identity": [_array(part) for part in parts]}


@_matrix.register
def _(matrix: BucketMatrix) -> dict[str, object]:
    return {"merged": _matrix(matrix.inner), "buckets": _array(matrix.buckets)}


def _strategy(strategy: object) -> dict[str, object]:
    """By name, with the options that it was given, and a third party's with all its fields."""
    theirs = not type(strategy).__module__.startswith("dpqr.")
    return {**option_parts(strategy)} | ({"fields": _foreign(strategy)} if theirs else {})


def _foreign(thing: object) -> dict[str, Any]:
    """An object of a third party's class: the class by name, and the public fields of a value."""
    found = {"class": f"{type(thing).__module__}.{type(thing).__qualname__}"}
    if not isinstance(thing, Struct) and not is_dataclass(thing):
        return found
    names = [name for name in field_names(thing) if not name.startswith("_")]
    return found | {"fields": {name: _value(getattr(thing, name)) for name in names}}


def _value(value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float() | Fraction() | Enum():
            return repr(value)
        case tuple() | list():
            return [_value(each) for each in value]
        case np.ndarray():
            return {"dtype": value.dtype.str, "shape": list(value.shape), "sha256": _sha256(value)}
    return _foreign(value)


def _sha256(array: AnyArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _array(array: AnyArray) -> dict[str, Any]:
    """Shape and hash of whole numbers, as 64-bit little-endian integers in C order."""
    whole = np.ascontiguousarray(array, dtype="<i8")
    return {"shape": list(whole.shape), "sha256": _sha256(whole)}


def _price(price: Price | None) -> dict[str, Any] | None:
    if price is None:
        return None
    return {"epsilon": _exact(price.epsilon), "rho": _exact(price.rho), price.currency: _exact(price.figure)}


def _rule(rule: Rule | None) -> str | None:
    return None if rule is None else rule.value


def _exact(value: Fraction | None) -> str | None:
    return None if value is None else str(value)
