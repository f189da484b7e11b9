"""Series: releases of the same queries at several points in time, and their changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from dpqr.domain.periods import Period, PeriodTree
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.releases.answers.answered import AnsweredBlock, Trend, trend
from dpqr.releases.files.answer_tables import CUMULATIVE_COLUMNS, EARLIER, named_cells, read_cumulative
from dpqr.releases.files.read_release import (
    ReleaseFiles,
    block_entries,
    block_entry,
    figure_blocks,
    read_blocks,
    read_release,
)
from dpqr.releases.files.tidy import Texts, Tidy

SHOWN = 6
"""Names of periods in a note."""
OWN_ROWS = (
    "figures of a counter's releases are of the rows that each has read, and stand there; here are the cumulative sums "
    "and counts that such figures are computed from"
)


class ReleaseSeries(Struct, frozen=True, kw_only=True):
    """names: of the points, earliest first: their periods, or else where the releases lie. trends: by block; of a
    figure its values."""

    names: tuple[str, ...]
    trends: tuple[Trend, ...]
    notes: tuple[str, ...] = ()


def series(places: Sequence[str], query: str | None = None) -> ReleaseSeries:
    """Put releases of the same queries over the same domain in a series.

    Args:
        places: directories of releases. Releases of periods are put in their order; others stay in the given one.
        query: the only block that is wanted; None: all of them.

    Raises:
        UsageFault: fewer than two releases, two of one period, or some of periods beside others, or no such block.
        DocumentError: a release was changed or is damaged, or has other queries or another domain than the first.

    Privacy:
        Post-processing of published files.
    """
    if len(places) < 2:
        raise UsageFault("a series needs at least two releases; name their directories")
    found = [read_release(place) for place in places]
    for files in found:
        files.require_sealed()
    for files in found[1:]:
        _require_same(found[0], files)
    named = _ordered(found, places)
    names, notes = tuple(name for name, _ in named), []
    for name, files in named:
        # What keeps a release from being what it looks like.
        if files.record.get("rehearsal"):
            notes.append(f"{name}: a rehearsal: its figures are of made-up rows")
        elif not files.record.get("private"):
            notes.append(f"{name}: NOT PRIVATE: its noise is not the operating system's")
    if found[0].record["plan"].get("counter") and figure_blocks(found[0]):
        notes.append(OWN_ROWS)
    # Periods between the first and the last one that have no release.
    if first := _period(named[0][1]):
        last = Period.parse(names[-1], first.every)
        between = [first.later(step).name for step in range(last.index(first))]
        if gaps := [name for name in between if name not in names]:
            notes.append(f"no release of {', '.join(gaps[:SHOWN])}{' and others' if len(gaps) > SHOWN else ''}")
    return ReleaseSeries(names=names, trends=tuple(_points(named, query)), notes=tuple(notes))


def _points(named: Sequence[tuple[str, ReleaseFiles]], query: str | None) -> Iterator[Trend]:
    """Every block from point to point, cumulative where the releases are of a counter.

    Release t of a counter adds the rows of its node to the count up to an earlier period. A release of that period or
    a later one holds that count too, and its noise: the two share it.
    """
    counter = named[0][1].record["plan"].get("counter")
    if counter is None:
        yield from map(trend, zip(*(_blocks(files, query) for _, files in named), strict=True))
        return
    tree = PeriodTree(periods=counter["periods"], base=counter["base"])
    numbers = [files.record["plan"]["counter"]["number"] for _, files in named]
    blocks = [(files, (block_entry(files, query),) if query else block_entries(files)) for _, files in named]
    counts, earlier = (
        zip(*(read_cumulative(files, tree, wanted, pair) for files, wanted in blocks), strict=True)
        for pair in (CUMULATIVE_COLUMNS, EARLIER)
    )
    adds = [0, *(before >= tree.span(number).start - 1 for before, number in pairwise(numbers))]
    for points, parts in zip(counts, earlier, strict=True):
        yield trend(points, [part.error * each for part, each in zip(parts, adds, strict=True)])


def _blocks(files: ReleaseFiles, query: str | None) -> Iterator[AnsweredBlock]:
    """The answers of every block, or of the one that is wanted; a figure takes the place of a block of its name, and
    others come last."""
    figures = figure_blocks(files)
    if query in figures:
        yield figures[query]
        return
    entries = (block_entry(files, query),) if query else block_entries(files)
    for block in read_blocks(files, entries):
        yield figures.pop(block.name, block)
    if query is None:
        yield from figures.values()


def _ordered(found: Sequence[ReleaseFiles], places: Sequence[str]) -> list[tuple[str, ReleaseFiles]]:
    """Every release by its name, in order. UsageFault where there is none."""
    periods = [_period(files) for files in found]
    if not any(periods):
        return list(zip(places, found, strict=True))
    held: dict[Period, ReleaseFiles] = {}
    for place, period, files in zip(places, periods, found, strict=True):
        if period is None:
            raise UsageFault(f"{place}: is no release of a period, and others are; leave it out")
        if period in held:
            raise UsageFault(f"{place}: another release is of {period.name} too; give the one that counts")
        held[period] = files
    first = next(iter(held))
    return [(period.name, held[period]) for period in sorted(held, key=lambda one: one.index(first))]


def _period(files: ReleaseFiles) -> Period | None:
    """The period of a release; None: it is of the whole table."""
    stated = files.record["plan"].get("period")
    return Period.parse(str(stated["name"])) if isinstance(stated, dict) else None


def _require_same(first: ReleaseFiles, other: ReleaseFiles) -> None:
    """DocumentError, by the name of what differs."""
    mine, theirs = first.record["plan"], other.record["plan"]
    for part, of, words in (("domain", "columns", "another domain"), ("workload", "blocks", "other queries")):
        if mine[part] != theirs[part]:
            # The first column, or block, that only one has, or that the two have otherwise.
            try:
                here, there = ({each["name"]: each for each in side[part][of]} for side in (mine, theirs))
                name = next(name for name in {**here, **there} if here.get(name) != there.get(name))
                where = "is missing in one" if (name in here) != (name in there) else "is not the same in both"
                difference = f"{name!r} {where}"
            except (TypeError, KeyError, StopIteration):
                difference = "a series is of the same questions"
            raise DocumentError(f"{other.path}: has {words} than {first.path}; {difference}")
    one, two = ({**(plan.get("counter") or {}), "number": None} for plan in (mine, theirs))
    if one != two:
        raise DocumentError(f"{other.path}: is of another counter than {first.path}, or one of them is of none")


# A series as one tidy table: one row an answer and point.

FIGURES = ("estimate", "error", "lower", "upper")
CHANGES = ("change", "change_error")
SERIES_COLUMNS = ("query", "detail", "point", *FIGURES, *CHANGES)


def series_table(names: Sequence[str], trends: Sequence[Trend]) -> Tidy:
    """The answers of all blocks, and the values of figures, at all points.

    Columns: query, one for each attribute that some query keeps apart, detail, point (a period, or a release), the
    figures of the answer, its change from the point before, and the error of that.
    """
    points = [point for trend in trends for point in trend.points]
    columns = named_cells(points, SERIES_COLUMNS)
    blocks = np.repeat(np.arange(len(trends)), [trend.rows * len(names) for trend in trends])
    columns["query"] = Texts(blocks, [trend.name for trend in trends])
    places = [np.repeat(np.arange(len(names)), trend.rows) for trend in trends]
    columns["point"] = Texts(np.concatenate(places), list(names))
    for name in FIGURES:
        held = "precision" if name == "error" else name
        columns[name] = np.concatenate([getattr(point, held) for point in points]) + 0.0
    for name in CHANGES:
        columns[name] = np.concatenate([getattr(trend, name).reshape(-1) for trend in trends]) + 0.0
    # The point behind the query's name.
    return Tidy(len(blocks), {"query": columns["query"], "point": columns["point"], **columns})
