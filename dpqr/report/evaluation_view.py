"""Evaluations as text: a release's exact errors, the worst blocks first, and what an audit proved of each claim."""

from __future__ import annotations

from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.audit.attack import Loss
from dpqr.audit.claim import Claim
from dpqr.evaluation import Accuracy, BlockError
from dpqr.privacy.budget import downward_text, upward_text
from dpqr.report.wording import amount, counted, plain


def accuracy_view(found: Accuracy, top: int, notice: str) -> RenderableType:
    """The notice, the figures of all blocks together, and one line for each of the first `top` blocks."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("block", overflow="fold")
    for name in ("queries", "L1", "L2", "largest", "L1 / n", "L2 / n", "largest / n"):
        table.add_column(name, justify="right", no_wrap=True)
    for block in found.blocks[:top]:
        table.add_row(*map(Text, _block_row(block, found.n)))
    more = len(found.blocks) - top
    left = [Text(f"... and {counted(more, 'more block')} of smaller L1 error: --top N shows more")] if more > 0 else []
    return Group(Text(notice, style="bold"), Text(), Text(_summary(found)), Text(), table, *left)


def _summary(found: Accuracy) -> str:
    summary = f"over n = {found.records:,}, {counted(len(found.blocks), 'block')}: mean L1 {found.mean_l1:.4g}"
    lost = sum(block.missing for block in found.blocks)
    missing = f"; {counted(lost, 'answer')} missing, taken for 0" if lost else ""
    return f"{summary}, mean L2 {found.mean_l2:.4g}, largest error of an answer {found.largest:.4g}{missing}"


def _block_row(block: BlockError, n: int) -> tuple[str, ...]:
    figures = (block.l1, block.l2, block.largest)
    return (
        plain(block.name),
        f"{block.queries:,}",
        *(amount(figure) for figure in figures),
        *(f"{figure / block.reach / n:.4g}" for figure in figures),
    )


DIGITS = 4
Line = tuple[str, Claim, Loss]


def audit_view(lines: list[Line], runs: int, alarm: Fraction) -> RenderableType:
    """One line a case (its name, claim and loss), and what the figures mean."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("case", no_wrap=True)
    for name in ("claimed", "proved", "share", "stated", "noise"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for name, claim, loss in lines:
        verdict = Text("BREACH", style="bold red") if loss.breach else Text("holds")
        table.add_row(Text(name), claimed(claim), proved(claim, loss), *shares(loss), verdict)
    return Group(table, Text(), Text(_verdict(lines)), Text(_meaning(runs, alarm)))


def finding_line(name: str, claim: Claim, loss: Loss) -> str:
    """One case in one line."""
    verdict = "BREACH" if loss.breach else "holds"
    return f"{name}: claimed {claimed(claim)}; proved {proved(claim, loss)}; {verdict}"


def claimed(claim: Claim) -> str:
    """ "eps 1", or "rho 0.5, eps 2.754 at delta 0.01"; rounded up."""
    epsilon = f"eps {upward_text(claim.epsilon, DIGITS)}"
    if claim.rho is None:
        return epsilon
    return f"rho {upward_text(claim.rho, DIGITS)}, {epsilon} at delta {upward_text(claim.delta, DIGITS)}"


def proved(claim: Claim, loss: Loss) -> str:
    """The lower bounds in the same units; rounded down."""
    epsilon = f"eps {downward_text(Fraction(loss.epsilon), DIGITS)}"
    if claim.rho is None or loss.rho is None:
        return epsilon
    return f"rho {downward_text(Fraction(loss.rho), DIGITS)}, {epsilon}"


def shares(loss: Loss) -> tuple[str, str, str]:
    """What events prove and what the charged events state, as shares of the claim; and whether noise is as stated."""
    stated = f"{loss.stated:.0%}" if loss.stated else "-"
    noise = "-" if loss.narrow is None else "as stated" if loss.narrow < 1 else "TOO NARROW"
    return f"{loss.share:.0%}", stated, noise


def _verdict(lines: list[Line]) -> str:
    broken = sum(loss.breach for _, _, loss in lines)
    if broken:
        return f"{broken} of {len(lines)} claims refuted."
    cases = counted(len(lines), "case")
    return f"No breach found in {cases}. That refutes faults of the size that such runs can show; no more."


def _meaning(runs: int, alarm: Fraction) -> str:
    return (
        f"{runs:,} runs on each of two neighbours a case (more or fewer where a case states so in the short form); "
        "events chosen on one half, tested on the other. A sound build is refuted anywhere with probability at most "
        f"{float(alarm):g}."
    )
