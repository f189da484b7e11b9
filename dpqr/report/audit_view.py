"""An audit as text: what every case claims, and what was proved against it."""

from __future__ import annotations

from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.evaluation.attack import Loss
from dpqr.evaluation.claim import Claim
from dpqr.privacy.budget import downward_text, upward_text
from dpqr.report.wording import counted

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
