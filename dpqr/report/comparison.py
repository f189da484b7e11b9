"""Compare: two releases, or plans, side by side: what was asked, what it cost, how far their answers lie apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, structs
from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import upward_text
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.wording import optional, plain
from dpqr.releases.answers.answered import AnsweredBlock
from dpqr.releases.files.atomic import read_record
from dpqr.releases.files.read_release import (
    ReleaseFiles,
    block_entries,
    block_entry,
    figure_blocks,
    read_blocks,
    read_release,
)
from dpqr.releases.reading import parse_release_request
from dpqr.releases.record.parts import periods_read, whole_price
from dpqr.releases.record.plan_document import PlanPart
from dpqr.releases.requests import EvaluateRequest
from dpqr.report.answers import plain_table
from dpqr.report.evaluation import evaluate
from dpqr.tables.source import TableSource

FIGURES = ("noise A", "noise B", "error A", "error B", "apart", "ratio", "off A", "off B")
"""The figures of a block, by name."""
PLAN_KIND = "plan/"
"""How the format of a plan begins."""
DIGITS = 6
"""Of epsilon and delta."""


class CompareRequest(Struct, frozen=True, kw_only=True):
    """Two releases or plans. proxy: a public table that both are held against; None: none."""

    first: str
    second: str
    proxy: str | None = None


class ComparedRun(Struct, frozen=True, kw_only=True):
    """A release, or a plan. plan: its document. files: of a release."""

    place: str
    plan: dict[str, Any]
    files: ReleaseFiles | None = None

    @property
    def facts(self) -> dict[str, str]:
        """What was asked and promised, by name."""
        plan, budget = self.plan, whole_price(self.plan) or {}
        paid = self.files.dataset if self.files else None
        return {
            "place": self.place,
            "kind": "release" if self.files else "plan",
            "version": str(plan["version"]),
            "epsilon": _figure(budget["epsilon"]),
            "delta": _figure(budget["delta"]),
            "unit": str(plan["unit"]["words"]),
            "rows of": periods_read(plan) or "the whole table",
            "accountant": str(plan["accountant"]),
            "price": f"epsilon {_figure(plan['proved_epsilon'])}",
            "schedule": str(plan["schedule"]["name"]),
            "update": str(plan["update"]["name"]),
            "queries": f"{sum(self.asked.values()):,} in {len(self.asked):,} blocks",
            "cells": f"{plan['domain']['cells']:,}",
            "dataset": paid or "none",
        }

    @property
    def asked(self) -> dict[str, int]:
        """The number of queries of each block, tables of persons last, by name."""
        blocks = (*self.plan["workload"]["blocks"], *(self.plan.get("person_tables") or ()))
        return {block["name"]: block["queries"] for block in blocks}

    @property
    def forecast(self) -> dict[str, float]:
        """The standard deviation of the noise on each planned measurement, by block."""
        blocks = (*self.plan["forecast"], *(self.plan.get("person_tables") or ()))
        return {block["name"]: float(block["noise_deviation"]) for block in blocks}


def _figure(stated: dict[str, Any]) -> str:
    """As screens and pages write it."""
    return upward_text(Fraction(stated["exact"]), DIGITS)


class BlockComparison(Struct, frozen=True, kw_only=True):
    """One block, or figure, of both. NaN where a side does not say; figures have neither `noise` nor `off`.

    noise: of a planned measurement, standard deviation, of each side. error: root mean square of the stated errors of
    the estimates, of each side. apart: root mean square difference of the estimates. ratio: of that to what the two
    errors together explain: about 1 where they tell the truth, and both are of one table.
    off: mean absolute error against the proxy, of each side.
    """

    name: str
    queries: int
    noise: tuple[float, float]
    error: tuple[float, float]
    apart: float
    ratio: float
    off: tuple[float, float]

    @property
    def figures(self) -> tuple[float, ...]:
        """All of them, in the order of FIGURES."""
        return (*self.noise, *self.error, self.apart, self.ratio, *self.off)


class ReleaseComparison(Struct, frozen=True, kw_only=True):
    """Two sides, their shared blocks, and the names of those that only one of them has."""

    sides: tuple[ComparedRun, ComparedRun]
    blocks: tuple[BlockComparison, ...]
    alone: tuple[tuple[str, ...], tuple[str, ...]]

    def document(self) -> dict[str, object]:
        """Plain JSON values; null where a side does not say."""
        return {
            "sides": [side.facts for side in self.sides],
            "blocks": [_plain(structs.asdict(block)) for block in self.blocks],
            "alone": [list(names) for names in self.alone],
        }


def compare(request: CompareRequest) -> ReleaseComparison:
    """Two sides side by side.

    Raises:
        UsageFault: a place holds neither; a proxy without two releases that hold their documents.
        DocumentError: files are damaged.
        BudgetRefused: a ledger knows the dataset of a release as private, and a proxy is named.

    Privacy:
        Published files only. The proxy is evaluated as `dpqr evaluate` does, and is as public.
    """
    first, second = _side(request.first), _side(request.second)
    blocks = (first.asked, second.asked)
    # A figure of both takes the place of what it is computed from.
    figures = [figure_blocks(side.files) if side.files else {} for side in (first, second)]
    own = [name for name, one in figures[0].items() if name in figures[1] and figures[1][name].rows == one.rows]
    asked = [name for name, queries in blocks[0].items() if blocks[1].get(name) == queries and name not in own]
    shared = [name for name in dict.fromkeys((*blocks[0], *own)) if name in asked or name in own]
    off = [_errors(side, request.proxy) for side in (first, second)] if request.proxy else [{}, {}]
    forecasts = [side.forecast for side in (first, second)]
    read, compared = [_read(side, asked) for side in (first, second)], []
    for name in shared:
        if name in own:
            answers = [found.get(name) for found in figures]
        else:
            answers = [None if blocks_of is None else next(blocks_of) for blocks_of in read]
        errors = [np.nan if block is None else _root_mean(block.error) for block in answers]
        apart = ratio = np.nan
        if answers[0] is not None and answers[1] is not None:
            # How far estimates lie apart, and the ratio of that to what both errors explain.
            difference = answers[0].estimate - answers[1].estimate
            explained = np.where(np.isnan(difference), np.nan, np.hypot(answers[0].error, answers[1].error))
            apart, scale = _root_mean(difference), _root_mean(explained)
            ratio = _root_mean(difference[~np.isnan(explained)]) / scale if scale > 0 else np.nan
        of_answers = [np.nan if name in own else one.get(name, np.nan) for one in (*forecasts, *off)]
        block = BlockComparison(
            name=name,
            queries=figures[0][name].rows if name in own else blocks[0][name],
            noise=(of_answers[0], of_answers[1]),
            error=(errors[0], errors[1]),
            apart=apart,
            ratio=ratio,
            off=(of_answers[2], of_answers[3]),
        )
        compared.append(block)
    return ReleaseComparison(
        sides=(first, second),
        blocks=tuple(compared),
        alone=tuple(tuple(name for name in one if name not in shared) for one in blocks),  # type: ignore[arg-type]
    )


def _side(place: str) -> ComparedRun:
    """A release by its directory, a plan by its file."""
    if os.path.isdir(place):
        files = read_release(place)
        return ComparedRun(place=place, plan=files.record["plan"], files=files)
    path = Path(place)
    try:
        found = read_record(path.parent, path.name)
        known = found["dpqr"].startswith(PLAN_KIND)
        msgspec.convert(found, PlanPart)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, msgspec.ValidationError):
        known = False
    if not known:
        raise UsageFault(f"{place}: is neither a release directory nor a plan; give what dpqr release or plan has made")
    return ComparedRun(place=place, plan=found)


def _read(side: ComparedRun, names: Sequence[str]) -> Iterator[AnsweredBlock] | None:
    """The answers of blocks by their names, in that order; the file is read once. None of a plan."""
    if side.files is None:
        return None
    entries = {entry.name: entry for entry in block_entries(side.files)}
    return read_blocks(side.files, [entries.get(name) or block_entry(side.files, name) for name in names])


def _root_mean(values: FloatArray) -> float:
    """Without what is not known; NaN where nothing is."""
    known = values[~np.isnan(values)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else np.nan


def _errors(side: ComparedRun, proxy: str) -> dict[str, float]:
    """The mean absolute error of each block against the proxy."""
    stated = side.plan.get("request") if side.files else None
    if not isinstance(stated, dict):
        raise UsageFault(f"--proxy: {side.place} is no release that holds its documents; use dpqr evaluate --queries")
    table = TableSource(paths=(proxy,))
    options = parse_release_request(stated, table, Path(side.place)).plan
    found = evaluate(EvaluateRequest(truth=table, release=side.place, queries=options.queries, domain=options.domain))
    return {block.name: block.l1 / block.queries for block in found.blocks}


def _plain(value: Any) -> Any:
    """NaN as None, for JSON."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and np.isnan(value) else value


# Two releases or plans side by side, as text.

MEANING = (
    "noise: deviation of a planned measurement; error: stated error of the estimates; apart: how far A and B differ; "
    "ratio: that over what both errors explain, about 1 for two releases of one table (of quantiles less); off: mean "
    "error on the proxy. Root mean squares over a block's answers, in records (a sum's in its column's unit, a "
    "figure's in its own)"
)
Row = tuple[str, int, Sequence[float]]
"""A block: its name, its number of answers, and its figures; NaN: none."""


def compared_view(
    facts: tuple[Mapping[str, str], Mapping[str, str]],
    rows: Sequence[Row],
    alone: Sequence[Sequence[str]],
) -> RenderableType:
    """What was asked of both, then their shared blocks with their FIGURES, then the names of others."""
    table = plain_table()
    for heading in ("", "A", "B"):
        table.add_column(heading, overflow="fold")
    for name in facts[0]:
        one, other = (plain(side[name]) for side in facts)
        table.add_row(Text(name), Text(one), Text("same" if one == other else other))
    others = zip("AB", alone, strict=True)
    lines = [Text(f"only {name}: {plain(', '.join(blocks))}") for name, blocks in others if blocks]
    if not rows:
        return Group(table, Text(""), Text("they share no block of queries"), *lines)
    # The columns that hold anything.
    held = [place for place in range(len(FIGURES)) if any(row[2][place] == row[2][place] for row in rows)]
    blocks = plain_table()
    blocks.add_column("query", overflow="fold")
    blocks.add_column("answers", justify="right", no_wrap=True)
    for place in held:
        blocks.add_column(FIGURES[place], justify="right", no_wrap=True)
    for name, queries, values in rows:
        blocks.add_row(Text(plain(name)), Text(f"{queries:,}"), *(Text(optional(values[place])) for place in held))
    return Group(table, Text(""), blocks, Text(MEANING), *lines)
