"""Counter: the privacy of cumulative counts over periods, and the budget of each of its nodes."""

from __future__ import annotations

from msgspec import Struct

from dpqr.domain.periods import Period, PeriodTree
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.currency import SumCurrency, currency
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit

ADDITIVE_ACCOUNTANTS = ("basic", "zcdp", "gdp")
"""The accountants under which nodes add up, whatever was released before."""


class Counter(Struct, frozen=True, kw_only=True):
    """A counter, as its first release fixes it for life.

    Attributes:
        tree: over its periods.
        life: what all its releases together cost one unit.
        accountant: one of `ADDITIVE_ACCOUNTANTS`.

    >>> counter = Counter.of(4, PrivacyBudget.parse("1"), "basic", PrivacyUnit())
    >>> counter.tree.levels, counter.node.epsilon
    (1, Fraction(1, 1))

    Privacy:
        Release t draws once, with the budget `node`, from the rows of the periods in `tree.span(t)` alone. Budgets are
        equal and fixed at the first release; what is drawn may depend on everything that was released before.

        *The bound on rows.* Where the unit is a person, their first K rows in the order of periods are used over the
        whole life. Let N(p) be how many of their rows lie in the counter's periods before p, whatever the domain's
        rules make of these. Of period p a release uses min(rows of p that pass the rules, max(0, K - N(p))), whichever.

        Lemma. The nodes of one level together use at most K rows of a person, if each of their rows stays in the table,
        well-formed (`TableBatch`), with this person and in its period, in all later releases. (Rows may come late, move
        to an earlier period of the counter, or change in other columns.) Proof. Nodes of a level share no period and
        are drawn in the order of their periods. Let k_i be what the i-th of them uses and N_i the N of its first
        period, in the table as release i reads it. Each period stops at K rows counted from the counter's first period
        on, so k_i <= max(0, K - N_i). The rows that the level's earlier nodes used lie before that period and are still
        there, so k_1 + ... + k_(i-1) <= N_i. Their sum s <= K becomes at most s + max(0, K - s) = K. Only the *number*
        of earlier rows decides, so which rows a release uses of a period may be drawn with a new key each time, and
        nothing has to be remembered between releases.

        Theorem. All releases of the life together keep the budget `life` for `unit`, if each node is drawn once, in the
        order of periods, a row stays in its period and, of persons, the lemma's condition holds.

        Proof. Fix two neighbouring tables (histories of tables, if it grows), and the keys that choose rows, which no
        row decides (`Bounding` says why that is enough). Call the price of a node for one unit c: its epsilon, rho or
        mu^2. A node none of whose rows differ has the same law on both, given what was released before it; a likelihood
        ratio of 1 adds nothing to the sums of epsilon, of rho or of mu^2, which are filters (`in_parallel`).
        *A row is added or removed:* it lies in one period, so in at most `levels` nodes: levels x c. *A row is
        replaced:* the new row may lie in another period: at most 2 x levels nodes.
        *A person is added or removed:* noise is scaled to K rows, and the answers are linear in rows. So a node that
        uses k of them moves by k / K of that and costs (k / K) c in epsilon and (k / K)^2 c in rho and mu^2 of normal
        noise; a pure draw of epsilon e costs e^2 / 2 in rho, and in mu^2 a figure whose ratio to e grows with e: never
        above (k / K) c. By the lemma the k of a level sum up to at most K: c a level, as for a row.
        *A person is replaced,* with their whole history, by another: in a node k rows go and k' come. Paired off with
        rows of zeros they are max(k, k') replaced rows, which cost at most (max(k, k') / K) c <= (k + k') c / K:
        2 x levels x c together.
        `node` is `life` over that number of prices.

        Moves of one count over all nodes of one level, noise apart; L levels move by at most L times as much. All are
        attained, the replaced ones on a level of two nodes:

        | unit                       | L1  | squared L2 |
        |----------------------------|-----|------------|
        | row added or removed       | 1   | 1          |
        | row replaced               | 2   | 2          |
        | person added or removed    | K   | K^2        |
        | person replaced            | 2 K | 2 K^2      |

        K^2 is attained by K rows in one node; where each lies in another node, it is K.
        Statement P3 of the guide's topic proofs.

    References:
        Chan, Shi and Song 2011, section 3.3 (rows, epsilon); McSherry 2009, Theorem 4 (disjoint rows). Of mu^2: with
        H the normal distribution function and h its density, mu = 2 x costs e = log(H(x) / H(-x)), and x^2 / e grows
        as x e' <= 2 e, for x e'' <= e', which is h(x) / H(-x) <= x + 1 / x (Gordon 1941).
    """

    tree: PeriodTree
    life: PrivacyBudget
    accountant: str
    unit: PrivacyUnit

    @classmethod
    def of(cls, periods: int, life: PrivacyBudget, accountant: str, unit: PrivacyUnit) -> Counter:
        """Return the counter of least expected error.

        Raises:
            UsageFault: too many periods, or an accountant whose theorem needs all draws fixed in advance.
        """
        if accountant not in ADDITIVE_ACCOUNTANTS:
            raise UsageFault(
                f"--accountant {accountant}: releases of a counter follow one another; choose "
                f"{', '.join(ADDITIVE_ACCOUNTANTS)}"
            )
        power = 2 if accountant == "basic" else 1
        return cls(tree=PeriodTree.best(periods, power), life=life, accountant=accountant, unit=unit)

    @property
    def prices(self) -> int:
        """The prices of a node that all releases together cost one unit, at most."""
        if self.unit.neighbours is Neighbours.ADD_REMOVE:
            return self.tree.levels
        return 2 * self.tree.levels

    @property
    def node(self) -> PrivacyBudget:
        """The budget of one release.

        Raises:
            UsageFault: zcdp or gdp without a delta, or a share that is too small to plan with.
        """
        added = currency(self.accountant, pure=self.life.pure)
        if not isinstance(added, SumCurrency) or added.name == "epsilon":
            return PrivacyBudget(self.life.epsilon / self.prices, self.life.delta / self.prices)
        if self.prices == 1:
            return self.life
        share = added.largest_epsilon(added.limit(self.life).amount / self.prices, self.life.delta)
        if share is None:
            raise UsageFault(f"--eps {float(self.life.epsilon):g} is too little for {self.tree.periods} periods")
        return PrivacyBudget(share, self.life.delta)


class CounterStep(Struct, frozen=True, kw_only=True):
    """One release of a counter: the count of all rows from the period `first` up to and including `period`.

    >>> counter = Counter.of(24, PrivacyBudget.parse("1", "1e-9"), "zcdp", PrivacyUnit())
    >>> turn = CounterStep(counter=counter, first=Period.parse("2026-01"), period=Period.parse("2026-10"))
    >>> turn.number, turn.level, turn.since.name, turn.before.name
    (10, 1, '2026-06', '2026-09')

    Raises:
        UsageFault: the period is none of the counter's.
    """

    counter: Counter
    first: Period
    period: Period

    def __post_init__(self) -> None:
        last = self.first.later(self.counter.tree.periods - 1)
        if not 1 <= self.number <= self.counter.tree.periods:
            raise UsageFault(f"--period {self.period.name}: the counter runs from {self.first.name} to {last.name}")

    @property
    def number(self) -> int:
        """Of the period in the counter, from 1."""
        return self.period.index(self.first) + 1

    @property
    def level(self) -> int:
        """Of the node that this release draws."""
        return self.counter.tree.level(self.number)

    @property
    def since(self) -> Period:
        """The first period whose rows this release reads; `period` is the last one."""
        return self.first.later(self.counter.tree.span(self.number).start - 1)

    @property
    def before(self) -> Period | None:
        """The period of the release before this one; None: it is the first."""
        return None if self.number == 1 else self.period.later(-1)
