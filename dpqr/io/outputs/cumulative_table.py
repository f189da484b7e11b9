"""The cumulative answers of a counter as a file beside its answers, and read back for the next release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dpqr.construction.answered import answered
from dpqr.construction.cumulative import Blocks, Earlier, added
from dpqr.construction.release import Release
from dpqr.data.arrays import FloatArray
from dpqr.io.outputs.answered_table import answered_table
from dpqr.io.outputs.read_answers import BlockEntry, block_entries, read_blocks
from dpqr.io.outputs.read_release import ReleaseFiles
from dpqr.io.outputs.release_files import CUMULATIVE, OWN_COLUMNS
from dpqr.io.outputs.tidy import Tidy
from dpqr.privacy.counter import CounterTurn

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
    domain, earlier = release.plan.problem.domain, (release.earlier or Earlier()).counts
    own = tuple(answered(each, domain) for each in release.answers)
    blocks = added(own, earlier.get(turn.level))
    table = answered_table(blocks, _columns(turn))
    parts = {EARLIER: earlier.get(turn.level)}
    parts |= {_handed(level): blocks if level <= turn.level else earlier.get(level) for level in _levels(turn)}
    columns = dict(table.columns)
    for pair, held in parts.items():
        for name, figure in zip(pair, OWN, strict=True):
            columns[name] = _joined(held, figure, table.rows)
    return Tidy(table.rows, columns)


def read_cumulative(files: ReleaseFiles, turn: CounterTurn, wanted: Sequence[BlockEntry], pair: Pair = OWN) -> Blocks:
    """The cumulative answers of some blocks, or another pair of columns in their place.

    Args:
        turn: the release's place in its counter.

    Raises:
        DocumentError: there are none, or they are damaged.
    """
    own = _columns(turn)

    def shown(table: pa.Table) -> pa.Table:
        for name, held in zip(OWN, pair, strict=True):
            table = table.set_column(table.column_names.index(name), name, table[held].cast(pa.float64()))
        return table.drop_columns([name for name in own if name not in OWN_COLUMNS])

    return tuple(read_blocks(files, wanted, CUMULATIVE, own, shown))


def handed_on(files: ReleaseFiles, turn: CounterTurn) -> dict[int, Blocks]:
    """The counts that a release hands on to the next one, by level. turn: its own. Raises: as `read_cumulative`."""
    entries, tree = block_entries(files), turn.counter.tree
    pairs = {0: OWN} | {level: _handed(level) for level in _levels(turn)}
    held = {level: pair for level, pair in pairs.items() if turn.number >= tree.base**level}
    return {level: read_cumulative(files, turn, entries, pair) for level, pair in held.items()}


def handed_over(files: ReleaseFiles, turn: CounterTurn) -> dict[int, Blocks]:
    """The counts that a release was handed itself, as far as it has used them or hands them on. Raises: as
    `read_cumulative`."""
    entries, tree = block_entries(files), turn.counter.tree
    pairs = {turn.level: EARLIER} | {level: _handed(level) for level in _levels(turn) if level > turn.level}
    held = {level: pair for level, pair in pairs.items() if turn.number > tree.base**level}
    return {level: read_cumulative(files, turn, entries, pair) for level, pair in held.items()}


def _levels(turn: CounterTurn) -> range:
    return range(1, turn.counter.tree.levels)


def _handed(level: int) -> Pair:
    return f"level_{level}", f"level_{level}_error"


def _columns(turn: CounterTurn) -> tuple[str, ...]:
    return (*OWN_COLUMNS, *EARLIER, *(name for level in _levels(turn) for name in _handed(level)))


def _joined(blocks: Blocks | None, figure: str, rows: int) -> FloatArray:
    return np.zeros(rows) if blocks is None else np.concatenate([getattr(block, figure) for block in blocks]) + 0.0
