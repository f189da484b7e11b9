"""Accountant: the price of events under one composition theorem, and the allocation of a budget to draws."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol, final, runtime_checkable

import msgspec
from msgspec import Struct

from dpqr.kernel.accountants.losses import ONLY_PAIRS, approximate_cost, concentrated_rho, pure_epsilon
from dpqr.kernel.budget import NO_COST, Cost, Price, PrivacyBudget, downward_text, upward_text
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.events import (
    Composition,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Draw,
    GaussianObjectiveEvent,
    LabelSelectionEvent,
    LeftOutEvent,
    PrivacyEvent,
    RoundedGaussianEvent,
)


class Portion(Struct, frozen=True, kw_only=True):
    """`count` draws of equal price.

    share: budget of *one* of them relative to the other portions, on any positive scale.
    event: the event of a draw at a price, for theorems that use more of it than eps-DP; None: not stated.

    Raises:
        InfeasiblePlan: a share that is not positive, or a negative count.

    >>> Portion(share=Fraction(1, 10), count=3).count
    3
    """

    share: Fraction
    count: int
    event: Callable[[Price], PrivacyEvent] | None = None

    def __post_init__(self) -> None:
        if self.share <= 0 or self.count < 0:
            raise InfeasiblePlan("a portion needs a share above 0 and a count of at least 0")


class PrivacyFilter(Protocol):
    """Guards one run: it refuses events that the reserved budget does not cover, before anything is opened."""

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, from 0; BudgetRefused if it does not fit."""
        ...


class Accountant(Protocol):
    """One composition theorem. All figures are exact or rounded up."""

    @property
    def name(self) -> str: ...

    @property
    def homogeneous(self) -> bool:
        """Whether the theorem covers equal draws only; all shares must then be equal."""
        ...

    @property
    def concentrated(self) -> bool:
        """Whether it sums rho or mu^2. It then covers Gaussian noise, and prices bounded-range draws below other pure
        draws."""
        ...

    def refusal(self, budget: PrivacyBudget) -> str | None:
        """Return why the theorem does not apply to `budget`, for example because it needs delta > 0; or None."""
        ...

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Return the largest prices, one per portion, in the ratio of the shares, that together fit the budget.

        Raises:
            InfeasiblePlan: the theorem does not cover the budget or the shares.
        """
        ...

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        """Return the smallest epsilon that the theorem proves for the events at `delta`, rounded up; None: none."""
        ...

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Return a filter that admits the planned events.

        A theorem that is a filter (sums of epsilon, rho or mu^2) admits anything else within the budget too; one for a
        schedule fixed in advance admits the planned events only, or cheaper ones of the same kind in their place.

        Raises:
            BudgetRefused: the planned events do not fit the budget.
        """
        ...


@runtime_checkable
class FilterAccountant(Accountant, Protocol):
    """A theorem that stays true where the price of each draw depends on what was released before.

    Sums of epsilon, of rho and of mu^2 do (Rogers, Roth, Ullman and Vadhan 2016; Feldman and Zrnic 2021; Whitehouse,
    Ramdas, Rogers and Wu 2023; Smith and Thakurta 2022). Theorems for a schedule fixed in advance have no `filter`, and
    so cannot be asked for one.
    """

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Return a filter that admits any events within the budget.

        Raises:
            BudgetRefused: the theorem does not cover the budget.
        """
        ...


# Filters that admit or refuse the draws of a run, and the checks that all accountants make of shares and plans.

Kind = tuple[object, int, bool]
"""Type of a draw, or the draw itself; the sensitivity, where the price of an epsilon depends on it, else 0; whether of
left-out records."""
SHOWN = 6
"""Significant digits in messages."""


def require_pure(event: PrivacyEvent) -> Fraction:
    """Return the pure epsilon of an event; BudgetRefused if it has none."""
    epsilon = pure_epsilon(event)
    if epsilon is None and isinstance(event, LabelSelectionEvent):
        raise BudgetRefused(ONLY_PAIRS)
    if epsilon is None:
        raise BudgetRefused(
            "a draw of Gaussian noise has no pure epsilon, which this accountant counts in; "
            "use the zcdp accountant, or the laplace check"
        )
    return epsilon


@final
class SumFilter(Struct, kw_only=True):
    """Admits events while the exact sum of their costs is at most `limit`; left-out records have a sum of their own.

    cost: exact cost of one draw, BudgetRefused if it has none. unit: its name in messages.

    Privacy:
        Costs and their number may be chosen adaptively: pure epsilons bound the likelihood ratio of every whole path,
        and on no path do they pass the limit (Rogers, Roth, Ullman and Vadhan 2016); for rho see Feldman and Zrnic 2021
        and Whitehouse, Ramdas, Rogers and Wu 2023, for mu^2 `GaussianDP`. Either group stays within the limit on every
        path, and a pair of neighbours differs in one group alone (`in_parallel`).

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> guard = SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon")
    >>> guard.charge(ExponentialEvent(epsilon=Fraction(1, 2))), guard.charge(ExponentialEvent(epsilon=Fraction(1, 2)))
    (0, 1)
    """

    limit: Fraction
    cost: Callable[[PrivacyEvent], Fraction]
    unit: str
    _spent: Fraction = Fraction(0)
    _spent_on_left_out: Fraction = Fraction(0)
    _charged: int = 0

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, counted from 0; BudgetRefused changes nothing."""
        draw, left_out = _unwrapped(event)
        cost, spent = self.cost(draw), self._spent_on_left_out if left_out else self._spent
        if spent + cost > self.limit:
            raise BudgetRefused(
                f"a draw asks {self.unit} {upward_text(cost, SHOWN)}, but {upward_text(spent, SHOWN)} of "
                f"{upward_text(self.limit, SHOWN)} is spent and {downward_text(self.limit - spent, SHOWN)} left; "
                "plan fewer draws or raise --eps"
            )
        if left_out:
            self._spent_on_left_out = spent + cost
        else:
            self._spent = spent + cost
        self._charged += 1
        return self._charged - 1


@final
class PairFilter(Struct, kw_only=True):
    """Admits events while the exact sums of their epsilons and of their deltas are at most those of `limit`.

    Draws from left-out records are added to all others: `in_parallel` is about what one draw costs under sums of one
    figure, and adding up is always true.

    Privacy:
        Epsilons and deltas, and the number of draws, may be chosen adaptively: as long as on every path neither sum
        passes its limit, all draws together are (epsilon, delta)-DP at the limits (Rogers, Roth, Ullman and Vadhan
        2016, basic composition filter).

    >>> guard = PairFilter(limit=Cost(Fraction(1), Fraction(1, 100)))
    >>> guard.charge(LabelSelectionEvent(epsilon=Fraction(1, 2), delta=Fraction(1, 100), labels=1))
    0
    """

    limit: Cost
    _spent: Cost = NO_COST
    _charged: int = 0

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, counted from 0; BudgetRefused changes nothing."""
        cost = approximate_cost(_unwrapped(event)[0])
        if cost is None:
            raise BudgetRefused("a draw of Gaussian noise has no price in a sum of epsilons; use the zcdp accountant")
        if not self._spent + cost <= self.limit:
            raise BudgetRefused(
                f"a draw asks epsilon {upward_text(cost.amount, SHOWN)} and delta {upward_text(cost.delta, SHOWN)}, "
                f"but {downward_text(self.limit.amount - self._spent.amount, SHOWN)} and "
                f"{downward_text(self.limit.delta - self._spent.delta, SHOWN)} are left; plan fewer draws or raise "
                "--eps and --delta"
            )
        self._spent += cost
        self._charged += 1
        return self._charged - 1


@final
@dataclass(slots=True, kw_only=True)
class PlanFilter:
    """Admits the planned events, each once, in any order; a cheaper event of the same kind may replace one.

    Why not a sum: theorems for a schedule that is fixed in advance do not cover adaptive costs. Every event uses up a
    planned one that costs at least as much: the cheapest such that remains. Costs are pure epsilons; of rounded
    Gaussian noise, which has none, they are rhos: a smaller one is the same curve after more normal noise. A perturbed
    objective replaces none but its equal. A draw from left-out records replaces a draw from left-out records only.

    Statement P37 of the guide's topic proofs.
    """

    planned: Composition
    _left: dict[Kind, Counter[Fraction]] = field(init=False)
    _costs: dict[Kind, list[Fraction]] = field(init=False)
    _charged: int = 0

    def __post_init__(self) -> None:
        self._left = defaultdict(Counter)
        for event, count in self.planned:
            if count > 0:
                self._left[_kinds(event)[0]][_cost(event)] += count
        self._costs = {kind: sorted(costs) for kind, costs in self._left.items()}

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, counted from 0; BudgetRefused changes nothing."""
        cost = _cost(event)
        kind = next((kind for kind in _kinds(event) if self._dearest(kind) >= cost), None)
        if kind is None:
            raise self._refusal(_kinds(event)[-1], cost)
        costs, left = self._costs[kind], self._left[kind]
        place = bisect_left(costs, cost)
        left[costs[place]] -= 1
        if not left[costs[place]]:
            del costs[place]
        self._charged += 1
        return self._charged - 1

    def _dearest(self, kind: Kind) -> Fraction:
        """Return the largest cost that remains of a kind; -1 if none does."""
        costs = self._costs.get(kind)
        return costs[-1] if costs else Fraction(-1)

    def _refusal(self, kind: Kind, cost: Fraction) -> BudgetRefused:
        planned = sum(count for event, count in self.planned if _kinds(event)[0] == kind)
        left = self._left[kind].total() if kind in self._left else 0
        unit = "rho" if kind[0] is RoundedGaussianEvent or isinstance(kind[0], GaussianObjectiveEvent) else "epsilon"
        dearest = f", none above {unit} {downward_text(self._dearest(kind), SHOWN)}" if left else ""
        return BudgetRefused(
            f"a draw asks {unit} {upward_text(cost, SHOWN)}, which the plan lacks: of {planned} planned draws "
            f"of its kind {planned - left} are spent and {left} left{dearest}; "
            "plan more draws, or use a filter (basic, zcdp, gdp)"
        )


def bound_across_runs(events: Composition) -> Composition:
    """Return draws that bound one run's cost where several runs are priced together, under every theorem.

    A record may be kept in one run and left out in another, so the groups of `in_parallel` are not merged over runs.
    If there is one draw from left-out records, and it costs no more under every theorem than some draw from kept ones,
    the kept ones bound both; otherwise all draws are composed.
    """
    kept, left_out = in_parallel(events)
    if not left_out:
        return events
    (draw, count), *others = left_out
    covered = count == 1 and not others and any(number and _covers(event, draw) for event, number in kept)
    return kept if covered else one_after_another(events)


def _covers(event: PrivacyEvent, other: PrivacyEvent) -> bool:
    """Whether `other` costs no more than `event` under every theorem: of one of its kinds, and no more expensive."""
    gaussian = DiscreteGaussianEvent | RoundedGaussianEvent | GaussianObjectiveEvent
    cost = concentrated_rho if isinstance(event, gaussian) else require_pure
    return _kinds(event)[0] in _kinds(other) and cost(other) <= cost(event)


def _unwrapped(event: PrivacyEvent) -> tuple[Draw, bool]:
    """Return the draw, and whether it is from left-out records."""
    return (event.event, True) if isinstance(event, LeftOutEvent) else (event, False)


def _cost(event: PrivacyEvent) -> Fraction:
    draw, _ = _unwrapped(event)
    normal = isinstance(draw, RoundedGaussianEvent | GaussianObjectiveEvent)
    return concentrated_rho(draw) if normal else require_pure(draw)


def _kinds(event: PrivacyEvent) -> tuple[Kind, ...]:
    """Return its own kind, then those whose draws cost at least as much at the same epsilon, under every theorem.

    Laplace noise on the one integer that moves has a curve of its own, which depends on how far it moves; a smaller
    epsilon at the same sensitivity is that curve after more independent noise (the ratio of the two characteristic
    functions is a positive mixture of 1 and the wider law's).
    """
    draw, left_out = _unwrapped(event)
    general = (draw if isinstance(draw, GaussianObjectiveEvent) else type(draw), 0, left_out)
    if isinstance(draw, DiscreteLaplaceEvent) and draw.coordinates == 1 and draw.sensitivity > 1:
        return ((type(draw), draw.sensitivity, left_out), general)
    return (general,)


def weigh(accountant: Accountant, budget: PrivacyBudget, portions: Sequence[Portion]) -> Fraction:
    """Return the sum of share times count over all portions, positive.

    Raises:
        InfeasiblePlan: the theorem does not cover the budget or the shares, or there is no draw.
    """
    refusal = accountant.refusal(budget)
    if refusal:
        raise InfeasiblePlan(refusal)
    if accountant.homogeneous and len({portion.share for portion in portions}) > 1:
        raise InfeasiblePlan(
            f"the {accountant.name} accountant covers equal draws only; give all portions equal shares"
        )
    total = sum((portion.share * portion.count for portion in portions), Fraction(0))
    if not total:
        raise InfeasiblePlan("a budget cannot be cut for no draws at all; plan at least one")
    return total


def require_affordable(accountant: Accountant, budget: PrivacyBudget, planned: Composition) -> None:
    """Raise BudgetRefused unless the accountant proves that the planned events stay within the budget."""
    refusal = accountant.refusal(budget)
    if refusal:
        raise BudgetRefused(refusal)
    price = accountant.epsilon(planned, budget.delta)
    if price is None:
        raise BudgetRefused(f"the {accountant.name} accountant has no price for the planned draws; choose another one")
    if price > budget.epsilon:
        raise BudgetRefused(
            f"the plan costs epsilon {upward_text(price)} by the {accountant.name} accountant, above the reserved "
            f"{downward_text(budget.epsilon)}; plan fewer draws or raise --eps"
        )


class FixedSchedule(Accountant):
    """A theorem for a schedule that is fixed in advance, and for delta above 0."""

    homogeneous: ClassVar[bool] = False

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget)

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """The planned events only."""
        require_affordable(self, budget, planned)
        return PlanFilter(planned=planned)


def needs_delta(name: str, budget: PrivacyBudget) -> str | None:
    """Return the refusal of a theorem that holds for delta above 0 only; None for a budget with a delta."""
    if budget.pure:
        return f"the {name} accountant needs a delta above 0; add --delta 1e-9, or choose --accountant basic"
    return None


@final
class EveryFilter(Struct, frozen=True, kw_only=True):
    """Admits what all of `filters` admit, and records it.

    If one refuses, the filters before it have charged for nothing: the sums are never too small.

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> guard = EveryFilter(filters=(SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon"),))
    >>> number = guard.charge(ExponentialEvent(epsilon=Fraction(1, 2)))
    >>> guard.events
    ((ExponentialEvent(epsilon=Fraction(1, 2)), 1),)
    """

    filters: tuple[PrivacyFilter, ...]
    charged: list[PrivacyEvent] = msgspec.field(default_factory=list)

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, from 0."""
        for each in self.filters:
            each.charge(event)
        self.charged.append(event)
        return len(self.charged) - 1

    @property
    def events(self) -> Composition:
        """All admitted events with their counts."""
        return tuple(Counter(self.charged).items())


# Draws from kept and from left-out records: a run costs the larger of their prices.

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
        Statement P2 of the guide's topic proofs.
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


def selects_labels(events: Composition) -> bool:
    """Whether a draw selects labels, and so has no price in any sum of one figure."""
    return any(isinstance(_unwrapped(event)[0], LabelSelectionEvent) for event, _ in events)


def summed_cost(events: Composition) -> Cost | None:
    """Return the epsilons and the deltas of one run, each added up; None if any draw has none.

    Of pure draws the epsilon is that of basic composition, `in_parallel` included; beside a draw that has a delta
    everything is added up.
    """
    if not selects_labels(events):
        amount = larger_pure(events, lambda losses: sum((loss * count for loss, count in losses), Fraction(0)))
        return None if amount is None else Cost(amount)
    total = NO_COST
    for event, count in events:
        cost = approximate_cost(_unwrapped(event)[0])
        if cost is None:
            return None
        total += Cost(cost.amount * count, cost.delta * count)
    return total


def pure_losses(events: Composition) -> Losses | None:
    """Return the pure epsilon of every event with its count; None if any event has no finite one."""
    losses = tuple((pure_epsilon(event), count) for event, count in events)
    known = tuple((epsilon, count) for epsilon, count in losses if epsilon is not None)
    return known if len(known) == len(losses) else None
