"""Errors of a release as text, the worst blocks first."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.evaluation.accuracy import Accuracy, BlockError
from dpqr.report.wording import amount, counted, plain


def accuracy_view(found: Accuracy, top: int, notice: str) -> RenderableType:
    """The notice, the figures of all blocks together, and one line for each of the first `top` blocks."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("block", overflow="fold")
    for name in ("queries", "L1", "L2", "largest", "L1 / n", "L2 / n", "largest / n"):
        table.add_column(name, justify="right", no_wrap=True)
    for block in found.blocks[:top]:
        table.add_row(*map(Text, _row(block, found.n)))
    more = len(found.blocks) - top
    left = [Text(f"... and {counted(more, 'more block')} of smaller L1 error: --top N shows more")] if more > 0 else []
    return Group(Text(notice, style="bold"), Text(), Text(_summary(found)), Text(), table, *left)


def _summary(found: Accuracy) -> str:
    told = f"over n = {found.records:,}, {counted(len(found.blocks), 'block')}: mean L1 {found.mean_l1:.4g}"
    lost = sum(block.missing for block in found.blocks)
    missing = f"; {counted(lost, 'answer')} missing, taken for 0" if lost else ""
    return f"{told}, mean L2 {found.mean_l2:.4g}, largest error of an answer {found.largest:.4g}{missing}"


def _row(block: BlockError, n: int) -> tuple[str, ...]:
    figures = (block.l1, block.l2, block.largest)
    return (
        plain(block.name),
        f"{block.queries:,}",
        *(amount(figure) for figure in figures),
        *(f"{figure / block.reach / n:.4g}" for figure in figures),
    )
