"""The cumulative answers of a counter as a file beside its answers, and read back for the next release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from dpqr.construction.answers.answered import answered
from dpqr.construction.answers.cumulative import Blocks, Earlier, added
from dpqr.construction.release import Release
from dpqr.data.arrays import FloatArray
from dpqr.data.period_tree import PeriodTree
from dpqr.io.outputs.answer_tables.answered_table import answered_table
from dpqr.io.outputs.answer_tables.tidy import Tidy
from dpqr.io.outputs.releases.read_answers import BlockEntry, block_entries, read_blocks
from dpqr.io.outputs.releases.read_release import ReleaseFiles
from dpqr.io.outputs.releases.release_files import CUMULATIVE, OWN_COLUMNS

Pair = tuple[str, str]
"""The columns of an answer and of its error."""
OWN: Pair = ("estimate", "error")
EARLIER: Pair = ("earlier", "earlier_error")


def cumulative_table(release: Release) -> Tidy | None:
    """The cumulative answers of a counter's release; None: it is of no counter.

    Columns: those of its answers; what was added to the answers of the rows that were read (`EARLIER`); and, for later
    releases, the counts up to the last multiple of base^j, for each level j above 0 (`_handed`). 0 for no period.

    Privacy:
        Post-processing.
    """
    turn = release.plan.problem.turn
    if turn is None:
        return None
    tree, domain = turn.counter.tree, release.plan.problem.domain
    earlier = (release.earlier or Earlier()).counts
    own = tuple(answered(each, domain) for each in release.answers)
    blocks = added(own, earlier.get(turn.level))
    table = answered_table(blocks, _columns(tree))
    parts = {EARLIER: earlier.get(turn.level)}
    parts |= {_handed(level): blocks if level <= turn.level else earlier.get(level) for level in _levels(tree)}
    columns = dict(table.columns)
    for pair, held in parts.items():
        for name, figure in zip(pair, OWN, strict=True):
            columns[name] = _joined(held, figure, table.rows)
    return Tidy(table.rows, columns)


def read_cumulative(files: ReleaseFiles, tree: PeriodTree, wanted: Sequence[BlockEntry], pair: Pair = OWN) -> Blocks:
    """The cumulative answers of some blocks, or another pair of columns in their place.

    Args:
        tree: of the counter.

    Raises:
        DocumentError: there are none, or they are damaged.
    """
    own = _columns(tree)

    def shown(table: pa.Table) -> pa.Table:
        for name, held in zip(OWN, pair, strict=True):
            table = table.set_column(table.column_names.index(name), name, table[held].cast(pa.float64()))
        return table.drop_columns([name for name in own if name not in OWN_COLUMNS])

    return tuple(read_blocks(files, wanted, CUMULATIVE, own, shown))


def handed_on(files: ReleaseFiles, tree: PeriodTree, number: int) -> dict[int, Blocks]:
    """The counts that release `number` of a counter hands on, by level. Raises: as `read_cumulative`."""
    pairs = {0: OWN} | {level: _handed(level) for level in _levels(tree)}
    return _read(files, tree, {level: pair for level, pair in pairs.items() if number >= tree.base**level})


def handed_over(files: ReleaseFiles, tree: PeriodTree, number: int) -> dict[int, Blocks]:
    """The counts that release `number` was handed itself, as far as it has used them or hands them on. Raises: as
    `read_cumulative`."""
    own = tree.level(number)
    pairs = {own: EARLIER} | {level: _handed(level) for level in _levels(tree) if level > own}
    return _read(files, tree, {level: pair for level, pair in pairs.items() if number > tree.base**level})


def _read(files: ReleaseFiles, tree: PeriodTree, pairs: Mapping[int, Pair]) -> dict[int, Blocks]:
    entries = block_entries(files)
    return {level: read_cumulative(files, tree, entries, pair) for level, pair in pairs.items()}


def _levels(tree: PeriodTree) -> range:
    return range(1, tree.levels)


def _handed(level: int) -> Pair:
    return f"level_{level}", f"level_{level}_error"


def _columns(tree: PeriodTree) -> tuple[str, ...]:
    return (*OWN_COLUMNS, *EARLIER, *(name for level in _levels(tree) for name in _handed(level)))


def _joined(blocks: Blocks | None, figure: str, rows: int) -> FloatArray:
    return np.zeros(rows) if blocks is None else np.concatenate([getattr(block, figure) for block in blocks]) + 0.0
