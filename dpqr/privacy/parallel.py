"""Draws from kept and from left-out records: a run costs the larger of their prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from dpqr.privacy.accountants.losses import pure_epsilon
from dpqr.privacy.events import Composition, LeftOutEvent, PrivacyEvent

Losses = tuple[tuple[Fraction, int], ...]
"""Pure epsilons with their counts."""


def in_parallel(events: Composition) -> tuple[Composition, Composition]:
    """Split one run's draws into those from kept records and those from left-out records, the latter unwrapped.

    Privacy:
        A run costs the larger of what either group costs by itself, not their sum, where neighbours differ in
        one record r that the domain's rules either keep or leave out, whatever else is in the table.
        *Proof.* The rules read r alone, so neighbours x and x + r have equal left-out parts if r is kept, and
        equal kept parts if r is left out. Say that r is kept. Every draw from the left-out part then has the
        same law on both tables, given what was released before it. So the run is, on both, an adaptive sequence
        of the draws from the kept part, with draws of one law in between: the likelihood ratio of a whole path
        is the product of the kept draws' ratios alone. Each theorem that bounds that product for the kept draws
        (sums of epsilon or of rho, as filters too; advanced, optimal and numerical composition of a schedule
        that is fixed in advance), where the next draw may depend on all that was released, bounds the run at
        the same epsilon and delta: draws of one law between are randomness of the analyst's own. The same with
        the two parts exchanged if r is left out. A pair of neighbours is of one of the two kinds, so the larger
        price covers both. (Parallel composition: McSherry 2009, Theorem 4.)

        It does not hold under `replace` (a kept record may be replaced by one that is left out), nor for
        persons (some of whose rows may be kept and others left out), nor from run to run (another domain keeps
        other records).
    """
    kept = tuple((event, count) for event, count in events if not isinstance(event, LeftOutEvent))
    return kept, tuple((event.event, count) for event, count in events if isinstance(event, LeftOutEvent))


def one_after_another(events: Composition) -> Composition:
    """Return the same draws without the claim that they read disjoint records: each is composed with all others."""
    kept, left_out = in_parallel(events)
    total: Counter[PrivacyEvent] = Counter()
    for event, count in (*kept, *left_out):
        total[event] += count
    return tuple(total.items())


def larger(events: Composition, price: Callable[[Composition], Fraction | None]) -> Fraction | None:
    """Price one run: the larger price of its draws from kept and from left-out records (`in_parallel`).

    Args:
        price: of draws that all read the same records.

    Returns:
        None if either group has no price.
    """
    kept, left_out = in_parallel(events)
    prices = [price(kept), *([price(left_out)] if left_out else [])]
    known = [one for one in prices if one is not None]
    return max(known) if len(known) == len(prices) else None


def larger_pure(events: Composition, price: Callable[[Losses], Fraction]) -> Fraction | None:
    """Price a run by its pure epsilons alone; None if any draw has no finite one.

    Args:
        events: of one run, draws from left-out records included.
        price: of draws that all read the same records, from their pure epsilons.
    """

    def priced(draws: Composition) -> Fraction | None:
        losses = pure_losses(draws)
        return None if losses is None else price(losses)

    return larger(events, priced)


def pure_losses(events: Composition) -> Losses | None:
    """Return the pure epsilon of every event with its count; None if any event has no finite one."""
    losses = tuple((pure_epsilon(event), count) for event, count in events)
    known = tuple((epsilon, count) for epsilon, count in losses if epsilon is not None)
    return known if len(known) == len(losses) else None
