"""Histogram: the database x in N^|X|, and its protocols.

It is stored as an array of all cells, as the sorted occupied cells, as the joint counts of a few groups of columns, or
as tables that were counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from dpqr.domain.domain import Region
from dpqr.kernel.arrays import AnyArray, Axes, IntArray, WordArray, freeze
from dpqr.kernel.errors import InfeasiblePlan

RECORDS = 2**36
"""Default cap on the number of records; loaders refuse more."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseHistogram:
    """Counts of every cell, shape = domain shape, int64, read-only.

    Marginals and `cached` answers are cached for later rounds, inside the sealed value.

    >>> table = DenseHistogram(np.array([[1, 2], [3, 4]]))
    >>> table.marginal((1,)).tolist(), int(table.marginal(()))
    ([4, 6], 10)
    """

    counts: IntArray
    _marginals: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _whole(self.counts))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for union, members in passes(self.shape, [axes for axes in groups if axes not in self._marginals]):
            _store_members(self._marginals, dense_marginal(self.counts, union), union, members)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._marginals:
            self._marginals[axes] = freeze(dense_marginal(self.counts, axes))
        return self._marginals[axes]

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)


@dataclass(frozen=True, slots=True, eq=False)
class SparseHistogram:
    """Occupied cells only, sorted and distinct; the number m of them is private and never printed.

    codes: one column per attribute, shape (m, d), integers; counts: shape (m,), int64. Both read-only.

    >>> table = SparseHistogram((2, 2), np.array([[0, 1], [1, 1]]), np.array([5, 7]))
    >>> table.marginal((1,)).tolist()
    [0, 12]
    """

    shape: tuple[int, ...]
    codes: AnyArray = field(repr=False)
    counts: IntArray = field(repr=False)
    _marginals: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Every sum reads whole columns: each is contiguous.
        object.__setattr__(self, "codes", freeze(np.asfortranarray(self.codes).view()))
        object.__setattr__(self, "counts", _whole(self.counts))

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for union, members in passes(self.shape, [axes for axes in groups if axes not in self._marginals]):
            _store_members(self._marginals, self._sum(union), union, members)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._marginals:
            self._marginals[axes] = freeze(self._sum(axes))
        return self._marginals[axes]

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)

    def _sum(self, axes: Axes) -> IntArray:
        """Sum in one pass over the occupied cells; exact, unlike `bincount`, which rounds counts above 2^53."""
        cells = np.zeros([self.shape[axis] for axis in axes], dtype=np.int64)
        columns = [self.codes[:, axis] for axis in axes]
        np.add.at(cells.reshape(-1), mixed_radix(cells.shape, columns, len(self.counts)), self.counts)
        return cells


@dataclass(frozen=True, slots=True, eq=False)
class GroupedHistogram:
    """Joint counts of a few groups of columns. Every marginal that the run reads is a sum of one of them.

    joints: by the axes of a group, the counts of its cells, shape = sizes of these axes in order, int64, read-only.

    >>> table = GroupedHistogram((2, 2, 2), {(0, 1): np.array([[1, 2], [3, 4]]), (2,): np.array([4, 6])})
    >>> table.marginal((1,)).tolist(), int(table.marginal(()))
    ([4, 6], 10)
    """

    shape: tuple[int, ...]
    joints: Mapping[Axes, IntArray] = field(repr=False)
    _marginals: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)
    _by_axis: dict[int, list[Axes]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        smallest_first = sorted(self.joints.items(), key=lambda one: one[1].size)
        object.__setattr__(self, "joints", {axes: _whole(counts) for axes, counts in smallest_first})
        for group in self.joints:
            for axis in group:
                self._by_axis.setdefault(axis, []).append(group)

    def prefetch(self, groups: Sequence[Axes]) -> None:
        members: dict[Axes, list[Axes]] = {}
        for axes in dict.fromkeys(groups):
            if axes not in self._marginals:
                # The smallest joint marginal that holds these; which ones there are is public.
                near = self._by_axis.get(axes[0], ()) if axes else self.joints
                holding = (group for group in near if set(axes).issubset(group))
                group = axes if axes in self.joints else next(holding, None)
                if group is None:
                    raise _not_named(axes)
                members.setdefault(group, []).append(axes)
        for group, inside in members.items():
            _store_members(self._marginals, self.joints[group], group, inside)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._marginals:
            self.prefetch([axes])
        return self._marginals[axes]

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)


@dataclass(frozen=True, slots=True, eq=False)
class SeparateTables:
    """Tables that were counted apart, each under a bound of its own: none is a sum of another.

    tables: by the columns' axes, in rising order, the counts of the cells of these columns, shape = their sizes, int64,
    read-only; by () the number of records.

    >>> tables = SeparateTables((2, 2), {(): np.array(9), (0, 1): np.array([[1, 2], [3, 0]])})
    >>> tables.marginal((1, 0)).tolist(), int(tables.marginal(()))
    ([[1, 3], [2, 0]], 9)

    Privacy:
        Sensitivity is proved for the table of exactly the columns that a draw names: any other set is refused, even
        where it could be summed.
    """

    shape: tuple[int, ...]
    tables: Mapping[Axes, IntArray] = field(repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", {axes: _whole(counts) for axes, counts in self.tables.items()})

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for axes in groups:
            if tuple(sorted(axes)) not in self.tables:
                raise _not_named(axes)

    def marginal(self, axes: Axes) -> IntArray:
        self.prefetch([axes])
        return freeze(_ordered(self.tables[tuple(sorted(axes))], axes))

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)


class PersonTotal(NamedTuple):
    """What is summed of a person's rows in a cell: values of the cells of the column `axis`.

    edges: two bounds that the total is clipped to; or those of bins that it lies in, each with its lower edge, the
    outer ones without end. Values and edges are in steps of one grid.
    """

    axis: int
    values: tuple[int, ...]
    edges: tuple[int, ...]


class PersonTable(NamedTuple):
    """A table of persons: the columns whose cells they are counted in, and in how many of these each of them at most.

    total: between two bounds: in place of 1 each of them adds two numbers in a cell, by how much their total there lies
    below the upper one and above the lower one. Between more edges: 1 to the bin that the total lies in. None: they
    are counted. where: the cells, of one or more groups of columns, that the rows which are looked at lie in.

    >>> costs = PersonTable(axes=(0,), most=1, total=PersonTotal(axis=1, values=(0, 5), edges=(0, 8)))
    >>> found = costs.empty((2, 2))
    >>> costs.add(found, np.array([1, 1]), np.array([5, 15]))
    >>> found.tolist()
    [[0, 0], [3, 13]]
    """

    axes: Axes
    most: int
    total: PersonTotal | None = None
    where: tuple[Region, ...] = ()

    def fulfilled(self, codes: Sequence[AnyArray]) -> AnyArray:
        """Which rows fulfil every condition, shape (rows,); codes: of each column."""
        met = (region.cells[tuple(codes[axis] for axis in region.axes)] for region in self.where)
        found: AnyArray = np.all([np.ones(len(codes[0]), dtype=bool), *met], axis=0)
        return found

    def empty(self, shape: Sequence[int]) -> IntArray:
        """Zeros of every answer; shape: of the domain."""
        sizes = [shape[axis] for axis in self.axes]
        own = [] if self.total is None else [max(2, len(self.total.edges) - 1)]
        return np.zeros([*sizes, *own], dtype=np.int64)

    def add(self, counts: IntArray, cells: IntArray, totals: IntArray) -> None:
        """Add persons to the table, one for each of `cells`, with their totals there before they are clipped."""
        if self.total is None:
            np.add.at(counts.reshape(-1), cells, 1)
            return
        least, *inner, most = self.total.edges
        if inner:
            np.add.at(counts.reshape(-1, len(inner) + 1), (cells, np.searchsorted(inner, totals, side="right")), 1)
            return
        above = np.clip(totals, least, most) - least
        np.add.at(counts.reshape(-1, 2), cells, np.stack([most - least - above, above], axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class PersonCounts:
    """Tables of persons: how many of them have a record in a cell. None is a sum of another, nor of counts of records.

    shape: of the domain. tables: the counts of every cell of the table's columns, in their order, int64, read-only.

    >>> persons = PersonCounts((2, 2), {PersonTable((1,), 2): np.array([5, 7])})
    >>> persons.table(PersonTable((1,), 2)).tolist()
    [5, 7]

    Privacy:
        A draw from records cannot read them and one from them cannot read records, whose sensitivities differ.
    """

    shape: tuple[int, ...]
    tables: Mapping[PersonTable, IntArray] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", {table: _whole(counts) for table, counts in self.tables.items()})

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Every table is there already."""

    def marginal(self, axes: Axes) -> IntArray:
        raise InfeasiblePlan(f"a draw counts records by the columns numbered {axes}, and persons are counted here")

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return answer()

    def table(self, table: PersonTable) -> IntArray:
        if table not in self.tables:
            raise InfeasiblePlan(f"a draw counts persons by the columns numbered {table.axes}, and its plan does not")
        return self.tables[table]


def _not_named(axes: Axes) -> InfeasiblePlan:
    return InfeasiblePlan(f"a draw looks at the columns numbered {axes} together, which its plan does not name")


def _store_members(store: dict[Axes, IntArray], joint: IntArray, union: Axes, members: Sequence[Axes]) -> None:
    """Cache the marginals of one joint marginal over `union` to each of its members."""
    within = {tuple(union.index(axis) for axis in axes): axes for axes in members}
    for places, marginal in marginals(joint, [*within]):
        store[within[places]] = freeze(marginal)


def _cached(store: dict[Hashable, IntArray], question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
    if question not in store:
        store[question] = freeze(answer())
    return store[question]


def _whole(counts: AnyArray) -> IntArray:
    """Return a read-only int64 view; a TypeError for floating-point counts, which could hide lost records."""
    view: IntArray = np.asarray(counts).astype(np.int64, casting="same_kind", copy=False).view()
    view.flags.writeable = False
    return view


class MarginalSource(Protocol):
    """Anything that linear queries can be evaluated on: a histogram, or a hypothesis that has marginals."""

    def marginal(self, axes: Axes) -> AnyArray:
        """Return the sums over all other attributes, shape = sizes of `axes` in that order; () for the total."""
        ...


class Counts(Protocol):
    """A histogram database: record counts over a domain. The private value behind the gate."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Prepare these marginals together, in few passes over the data."""
        ...

    def marginal(self, axes: Axes) -> IntArray:
        """Return exact record counts, int64, shape = sizes of `axes` in that order; () for the number of records."""
        ...

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        """Return what `answer` computes, from a cache beside the counts if `question` was asked before."""
        ...


def occupied_cells(counts: Counts) -> tuple[AnyArray, IntArray]:
    """Return the codes of occupied cells, shape (cells, attributes), sorted, and their counts, shape (cells,). Private.

    It is the same for equal tables in any order of rows.
    """
    if isinstance(counts, SparseHistogram):
        return counts.codes, counts.counts
    tensor = counts.marginal(tuple(range(len(counts.shape))))
    places = np.nonzero(tensor)
    return np.stack(places, axis=1) if places else np.zeros((1, 0), dtype=np.int64), tensor[places]


# Many marginals together: shared sums of one tensor, and few passes over data that does not fit into one.


def marginals(tensor: AnyArray, groups: Sequence[Axes]) -> Iterator[tuple[Axes, AnyArray]]:
    """Yield each distinct group of axes with its marginal, in the order of its axes; the dtype is kept.

    Attribute by attribute the groups are split into those without it, which continue with a smaller tensor, and those
    with it, so sums are shared. Integers whose total fits their type stay exact; the order of floating-point sums
    depends on the groups.

    >>> {axes: sums.tolist() for axes, sums in marginals(np.array([[1, 2], [3, 4]]), [(0,), (1,)])}
    {(1,): [4, 6], (0,): [3, 7]}
    """
    yield from _walk(np.asarray(tensor), 0, 0, list(dict.fromkeys(groups)))


def dense_marginal(tensor: AnyArray, axes: Axes) -> AnyArray:
    """Sum a full tensor down to `axes`, in their order; the dtype is kept."""
    others = tuple(axis for axis in range(tensor.ndim) if axis not in axes)
    summed = tensor.sum(axis=others, dtype=tensor.dtype) if others else tensor
    return _ordered(summed, axes)


def _walk(tensor: AnyArray, kept: int, axis: int, groups: list[Axes]) -> Iterator[tuple[Axes, AnyArray]]:
    """The tensor's first `kept` dimensions are attributes that every group has, the next one is `axis`."""
    while groups and kept < tensor.ndim:
        lacking = [axes for axes in groups if axis not in axes]
        if not lacking:
            kept += 1
        elif len(lacking) == len(groups):
            tensor = np.asarray(tensor.sum(axis=kept, dtype=tensor.dtype))
        else:
            yield from _walk(np.asarray(tensor.sum(axis=kept, dtype=tensor.dtype)), kept, axis + 1, lacking)
            groups = [axes for axes in groups if axis in axes]
            kept += 1
        axis += 1
    for axes in groups:
        yield axes, _ordered(tensor, axes)


def _ordered(tensor: AnyArray, axes: Axes) -> AnyArray:
    """From rising order to the order of `axes`."""
    kept = sorted(axes)
    return np.asarray(np.transpose(tensor, [kept.index(axis) for axis in axes]), order="C")


LARGEST_JOINT = 2**14
"""Cells of the largest joint marginal; it stays in a core's own cache. tests/benchmarks/counting.py"""


def passes(shape: tuple[int, ...], groups: Sequence[Axes]) -> Iterator[tuple[Axes, tuple[Axes, ...]]]:
    """Divide `groups` into passes over the data: the axes of a joint marginal, and the groups that are sums of it.

    Every distinct group comes once. Greedy: a pass starts with the first remaining group, and adds, one by one, the
    attribute that completes most other groups while the joint marginal stays within LARGEST_JOINT cells. Public: a
    function of shapes only.
    """
    wanted = list(dict.fromkeys(groups))
    holds = np.zeros((len(shape), len(wanted)), dtype=np.int8)
    for place, axes in enumerate(wanted):
        holds[list(axes), place] = 1
    left, widths = np.arange(len(wanted)), np.array([len(axes) for axes in wanted])
    done = np.zeros(len(wanted), dtype=bool)
    while not done.all():
        # What is done misses more than any group has, so that it is never among the nearest to completion.
        open_widths = np.where(done, 2 * len(shape) + 2, widths)
        joint, inside = _grown(shape, wanted[left[np.argmin(done)]], holds, open_widths)
        yield joint, tuple(wanted[place] for place in left[inside])
        done |= inside
        if 2 * done.sum() > done.size:
            left, holds, widths, done = left[~done], holds[:, ~done], widths[~done], done[~done]


def _grown(shape: tuple[int, ...], seed: Axes, holds: AnyArray, widths: IntArray) -> tuple[Axes, AnyArray]:
    """The seed's axes and those that were added, and which groups they complete; holds: flags of the attributes, one
    column a group; widths: how many these are."""
    joint, complete = list(seed), len(seed)
    missing = widths - holds[joint].sum(axis=0)
    while True:
        room = LARGEST_JOINT // math.prod(shape[axis] for axis in joint)
        fewest = missing[missing > 0].min(initial=len(shape) + 1)
        gain = np.where(np.array(shape) <= room, holds[:, missing == fewest].sum(axis=1), 0)
        gain[joint] = 0
        if not gain.any():
            return tuple(joint[:complete]), missing == 0
        joint.append(int(np.argmax(gain)))
        missing -= holds[joint[-1]]
        complete = len(joint) if fewest == 1 else complete


def mixed_radix(sizes: Sequence[int], columns: Sequence[AnyArray], rows: int) -> AnyArray:
    """The cell of every row, shape (rows,): its codes in mixed radix, in the narrowest type while the first columns fit
    it. columns: codes, one array of shape (rows,) for each of the sizes."""
    index: AnyArray = np.zeros(rows, dtype=np.uint16)
    places = 1
    for size, codes in zip(sizes, columns, strict=True):
        places *= size
        # A type that holds so many places, and their number.
        kind = np.uint16 if places < 2**16 else np.int32 if places < 2**31 else np.int64
        index = np.multiply(index, kind(size), dtype=kind)
        np.add(index, codes, out=index, casting="unsafe")
    return index


# Packing: rows of codes as few 64-bit words, so that domains of any size can be sorted and merged.

_WORD = 2**64


@dataclass(frozen=True, slots=True)
class Packing:
    """Attributes in mixed radix, as many per word as fit: words sort as the rows do, attribute by attribute.

    shape: the attributes' sizes, each at most 2^32. groups: the attributes of each word, in order.

    >>> packing = Packing((10, 10))
    >>> packing.unpack(packing.pack(np.array([[1, 2], [3, 4]]), 2)).tolist()
    [[1, 3], [2, 4]]
    """

    shape: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        groups: list[tuple[int, ...]] = [()]
        cells = 1  # of the last group, which must have a number each in one word
        for axis, size in enumerate(self.shape):
            if groups[-1] and cells * size > _WORD:
                groups.append(())
                cells = 1
            groups[-1] += (axis,)
            cells *= size
        object.__setattr__(self, "groups", tuple(groups))

    def empty(self) -> WordArray:
        return np.zeros((len(self.groups), 0), dtype=np.uint64)

    def pack(self, codes: Sequence[AnyArray], rows: int) -> WordArray:
        """Return words, shape (words, rows), the most significant first; codes: one array per attribute."""
        words = np.zeros((len(self.groups), rows), dtype=np.uint64)
        for word, group in zip(words, self.groups, strict=True):
            for axis in group:
                word *= np.uint64(self.shape[axis])
                word += codes[axis].astype(np.uint64)
        return words

    def unpack(self, words: WordArray) -> AnyArray:
        """Return codes of packed rows, shape (rows, attributes), of the smallest type, each attribute contiguous."""
        codes = np.empty((words.shape[1], len(self.shape)), dtype=self.code_type, order="F")
        for word, group in zip(words, self.groups, strict=True):
            rest = word.copy()
            for axis in reversed(group):
                rest, digit = np.divmod(rest, np.uint64(self.shape[axis]))
                codes[:, axis] = digit
        return codes

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger]:
        return np.min_scalar_type(max(self.shape, default=1) - 1)
