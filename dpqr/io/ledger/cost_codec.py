"""Costs as plain JSON values and back: one exact text, or two where there is a delta."""

from __future__ import annotations

from fractions import Fraction

from dpqr.io.ledger.event_codec import exact_text, parse_exact
from dpqr.privacy.budget import Cost


def cost_document(cost: Cost) -> str | list[str]:
    """ "1/2", or ["1/2", "1/1000000"] with a delta. BudgetRefused for more digits than a ledger keeps."""
    amount = exact_text(cost.amount)
    return [amount, exact_text(cost.delta)] if cost.delta else amount


def read_cost(document: object) -> Cost:
    """The inverse. ValueError for anything that it does not write."""
    if not isinstance(document, list):
        return Cost(parse_exact(document))
    amount, delta = map(parse_exact, document)
    if not delta:
        raise ValueError("a delta of nothing is not written")
    return Cost(amount, delta)


def sum_document(cost: Cost) -> list[str]:
    """A sum of costs in base 16, which no limit on digits ends: numerator and denominator, of the delta too if any."""
    figures = (cost.amount, cost.delta) if cost.delta else (cost.amount,)
    return [f"{part:x}" for figure in figures for part in (figure.numerator, figure.denominator)]


def read_sum(document: list[str]) -> Cost:
    """The inverse. Errors: ValueError, TypeError or ZeroDivisionError for anything else."""
    parts = [int(part, 16) for part in document]
    return Cost(*(Fraction(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)))
