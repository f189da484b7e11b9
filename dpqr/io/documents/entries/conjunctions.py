"""Random conjunctions from a public seed, kept as intervals of cells and grouped by their columns.

Each block holds the conjunctions on one set of columns, row by row. So a million of them need two numbers a comparison,
and are answered from one small marginal a block (`dpqr.workload.boxes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from msgspec import UNSET

from dpqr.data.arrays import Axes, IntArray
from dpqr.data.attribute import Bins, Codes, Labels
from dpqr.data.domain import Domain
from dpqr.io.documents.domains.bins import code_bins
from dpqr.io.documents.entries.entry import Compiled, Frame
from dpqr.io.documents.entries.forms import MAX_BLOCKS, ConjunctionsEntry, RandomConjunctions
from dpqr.noise.public import public_generator
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.ranges import Ranges

MOST_WAYS = 5
CHUNK = 2**20
"""Keys drawn at once to pick columns by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    """ways: comparisons of each query; columns, starts, stops: shape (queries, most ways), the first `ways` count."""

    ways: IntArray
    columns: IntArray
    starts: IntArray
    stops: IntArray


def compile_conjunctions(entry: ConjunctionsEntry, frame: Frame) -> Compiled:
    """One block for every set of columns that occurs, its rows in the order in which they were drawn."""
    asked, location = entry.conjunctions, frame.location.key("conjunctions")
    names = frame.domain.names if asked.columns is UNSET else asked.columns
    axes = frame.axes(names, location.key("columns"))
    low, high = asked.ways
    if not 1 <= low <= high <= min(MOST_WAYS, len(axes)):
        raise location.key("ways").fault(
            f"expected two numbers [from, to], 1 <= from <= to <= {min(MOST_WAYS, len(axes))} "
            f"(there are {len(axes)} columns, and at most {MOST_WAYS} comparisons)"
        )
    drawn, texts = _drawn_conjunctions(asked, axes, frame), _Texts(frame.domain)
    title = f"conjunctions({asked.random} random, seed {asked.seed})" if entry.name is UNSET else entry.name
    blocks: list[QueryBlock] = []
    for columns, rows in _groups(drawn, len(axes)):
        if len(blocks) >= MAX_BLOCKS:
            raise location.fault(f"they look at more than {MAX_BLOCKS} sets of columns; list fewer columns")
        blocks.append(_block(title, tuple(axes[column] for column in columns), rows, drawn, texts))
    return Compiled(blocks=tuple(blocks))


def _drawn_conjunctions(asked: RandomConjunctions, axes: Axes, frame: Frame) -> _Drawn:
    """Ways, columns and comparisons, uniformly: of an ordered column =, <= or >, of others and pairs of cells =.

    A comparison is true of declared cells only, never of the column's own ones for null and the like.
    """
    generator = public_generator(asked.seed)
    (low, high), count = asked.ways, asked.random
    sizes = np.array([frame.domain.attributes[axis].axis.size for axis in axes])
    ordered = np.array([frame.domain.attributes[axis].ordered for axis in axes])
    ways = generator.integers(low, high + 1, count)
    columns = np.empty((count, high), dtype=np.int64)
    step = max(1, CHUNK // len(axes))
    for start in range(0, count, step):
        keys = generator.random((min(step, count - start), len(axes)))
        columns[start : start + step] = np.argsort(keys, axis=1)[:, :high]
    columns[np.arange(high) >= ways[:, None]] = len(axes)
    columns.sort(axis=1)
    sizes, ordered = np.append(sizes, 1)[columns], np.append(ordered, False)[columns]
    kind = np.where(ordered & (sizes > 2), generator.integers(0, 3, columns.shape), 0)
    cut = generator.integers(0, sizes - (kind > 0))
    starts = np.where(kind == 0, cut, np.where(kind == 1, 0, cut + 1))
    stops = np.where(kind == 2, sizes, cut + 1)
    return _Drawn(ways=ways, columns=columns, starts=starts, stops=stops)


def _groups(drawn: _Drawn, columns: int) -> Iterator[tuple[tuple[int, ...], IntArray]]:
    """Each set of columns, ascending, and the rows that look at it."""
    codes = np.zeros(len(drawn.ways), dtype=np.int64)
    for nth in range(drawn.columns.shape[1]):
        codes = codes * (columns + 1) + drawn.columns[:, nth]
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, cuts):
        first = drawn.columns[rows[0]]
        yield tuple(int(column) for column in first[first < columns]), rows


def _block(title: str, axes: Axes, rows: IntArray, drawn: _Drawn, texts: _Texts) -> QueryBlock:
    factors = []
    for nth, axis in enumerate(axes):
        starts, stops = drawn.starts[rows, nth], drawn.stops[rows, nth]
        size = texts.domain.attributes[axis].size
        labels = texts.labels(axis, starts, stops)
        factors.append(Factor(axes=(axis,), sizes=(size,), matrix=Ranges(starts, stops, size), labels=labels))
    names = ",".join(texts.domain.attributes[axis].name for axis in axes)
    return QueryBlock(name=f"{title} on {names}", factors=tuple(factors), rowwise=True)


@dataclass(frozen=True, slots=True)
class _Texts:
    """What comparisons are called: one text for each that occurs, shared by all rows that make it."""

    domain: Domain
    _scales: dict[int, Labels | Bins] = field(default_factory=dict)
    _known: dict[tuple[int, int, int], str] = field(default_factory=dict)

    def labels(self, axis: int, starts: IntArray, stops: IntArray) -> tuple[str, ...]:
        cells = self.domain.attributes[axis].size + 1
        codes, inverse = np.unique(starts * cells + stops, return_inverse=True)
        texts = [self._text(axis, *divmod(code, cells)) for code in codes.tolist()]
        return tuple(texts[pick] for pick in inverse.tolist())

    def _text(self, axis: int, start: int, stop: int) -> str:
        key = axis, start, stop
        if key not in self._known:
            scale = self._scale(axis)
            sign = "=" if isinstance(scale, Labels) and stop - start == 1 else "in"
            self._known[key] = f"{self.domain.attributes[axis].name} {sign} {scale.span_title(start, stop - 1)}"
        return self._known[key]

    def _scale(self, axis: int) -> Labels | Bins:
        if axis not in self._scales:
            declared = self.domain.attributes[axis].axis
            self._scales[axis] = code_bins(declared.size) if isinstance(declared, Codes) else declared
        return self._scales[axis]
