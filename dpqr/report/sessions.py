"""Sessions as text: answers to questions, and how a session of questions or of predictions stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dpqr.kernel.wording import count_words, plain


def answer_lines(found: Iterable[Any]) -> Iterator[str]:
    """One line a query: what was asked, the estimate, its interval, and whether it was free."""
    for each in found:
        answer = each.answer
        low, high = ("?" if end is None else f"{end:,.0f}" for end in (answer.low, answer.high))
        paid = "free" if answer.free else "paid"
        detail = f" {each.detail}" if each.detail else ""
        yield f"{each.query}{detail}: {answer.estimate:,.0f}  [{low}, {high}]  {paid}"


def status_lines(found: Any) -> Iterator[str]:
    """What was paid, what was asked, and what is left."""
    left = found.paid_surprises - found.surprises if found.checked else 0
    yield f"Session    {found.name}, paid from the budget of {found.dataset!r}"
    yield f"Guarantee  {found.guarantee}"
    yield f"Asked      {count_words(found.questions, 'question')}, {found.free:,} of them free"
    yield f"Surprises  {found.surprises:,} of {found.paid_surprises:,} are spent, {left:,} left"
    yield (
        f"Free       an answer is free where it is found within {found.margin:,} records, and lies within "
        f"{found.reach:,} with probability 0.95"
    )
    if not found.checked:
        yield "Note       all thresholds are spent or lost: further answers are not compared with the table"


def prediction_status_lines(found: Any) -> Iterator[str]:
    """How a session of predictions stands: what was paid, and what is left."""
    yield f"Session    {found.name}, paid from the budget of {found.dataset!r}"
    yield f"Guarantee  {found.guarantee}"
    yield f"Target     {plain(found.target)!r}, by {found.learner}"
    yield f"Points     {found.left:,} of the {found.points:,} that were paid for are left"
    if found.noise is not None:
        yield f"Noise      {found.noise:.3g} on each, of a score or in the target's unit (standard deviation)"
