"""The strategies that a user can name, role by role: one row each."""

from __future__ import annotations

from dpqr.kernel.plugins import Builtin, Registry

DEFAULT_UPDATE = "multiplicative-weights"


class ScheduleRow(Builtin, frozen=True, kw_only=True):
    """A schedule, with what the options of a release must know of it before its code is loaded.

    Attributes:
        update: the update rule where the user names none.
        options: of a release, that belong to this schedule. With another one they are refused: ignored, they would
            mislead.
        needs_filter_or: what `auto` takes in its place under an accountant that is no filter; None: it needs none.
        uses_n: whether a declared number of records changes its plan.
        rival: the note of a plan by which `auto` lets this schedule take the place of the one that it chose first, if
            less error is forecast; empty: it does not.
    """

    update: str = DEFAULT_UPDATE
    options: tuple[str, ...] = ()
    needs_filter_or: str | None = None
    uses_n: bool = False
    rival: str = ""


class AccountantRow(Builtin, frozen=True, kw_only=True):
    """An accountant. filter: whether prices may depend on what was released under it."""

    filter: bool


SCHEDULE_ROWS = {
    "auto": ScheduleRow(
        target="dpqr.strategies.schedules.planner:Auto",
        summary="names the schedule that suits what is asked; the default",
        use="for any workload: it takes the schedule that suits; the default",
    ),
    "marginals": ScheduleRow(
        target="dpqr.strategies.schedules.marginals.schedule:Marginals",
        summary="one table of all columns where it is small; else one-way marginals, and a search for the blocks "
        "that they do not explain",
        use="for marginals of any number of columns; under an accountant whose prices may follow releases",
        needs_filter_or="rounds",
        rival="--schedule auto: marginals, for a fit to them leaves less error than these queries measured by "
        "themselves",
    ),
    "rounds": ScheduleRow(
        target="dpqr.strategies.schedules.rounds:Rounds",
        summary="a fixed number of block rounds after a first, non-adaptive measurement",
        use="for workloads of marginals, predicates and ranges, at any n",
        options=("rounds", "opening"),
    ),
    "queries": ScheduleRow(
        target="dpqr.strategies.schedules.rounds:Queries",
        summary="a number of rounds of one query each, the practical form of the source's loop, without its stop test",
        use="for many single queries (ranges, conjunctions, rows of coefficients) of which few need measuring",
        update="piecewise-weights",
        options=("rounds",),
        needs_filter_or="rounds",
        uses_n=True,
    ),
    "theory": ScheduleRow(
        target="dpqr.strategies.schedules.anytime:theory",
        summary="the source's loop on single queries, in stages of falling alpha; as printed with --variant printed",
        use="for a proved bound on every answer, where n is public or declared and very large",
        options=("alpha", "beta", "variant"),
        uses_n=True,
    ),
    "strategy": ScheduleRow(
        target="dpqr.strategies.schedules.strategy:Strategy",
        summary="measures, once and with the whole budget, queries from which the workload follows with least noise",
        use="for prefixes, ranges, rectangles and marginals of ordered columns, where n is large beside the cells",
        update="least-squares",
    ),
    "ordered": ScheduleRow(
        target="dpqr.strategies.schedules.ordered:Ordered",
        summary="the strategy where records are many, buckets of neighbouring cells where they are few",
        use="for prefixes, ranges and rectangles at any n: buckets of cells or a strategy, whichever errs less",
        update="bucket-least-squares",
        needs_filter_or="strategy",
    ),
    "parts": ScheduleRow(
        target="dpqr.strategies.schedules.parts:Parts",
        summary="ordered for ordered columns that no query joins with others, marginals for the rest",
        use="for prefixes and ranges of some columns beside queries that join others",
        update="product",
        rival="--schedule auto: parts, for ordered columns that no query joins with others are better measured apart",
    ),
}
THIRD_PARTYS_SCHEDULE = ScheduleRow(target="", uses_n=True)
"""What stands for the row of a schedule that is none of dpqr's."""


SCHEDULES = Registry(
    role="schedule", group="dpqr.schedules", protocol="dpqr.strategies.plan:Schedule", builtins=SCHEDULE_ROWS
)
DISTINGUISHERS = Registry(
    role="distinguisher",
    group="dpqr.distinguishers",
    protocol="dpqr.strategies.distinguishers:Distinguisher",
    builtins={
        "exponential": Builtin(
            target="dpqr.strategies.distinguishers:Exponential",
            summary="the source's distinguisher of choice, the exponential mechanism",
            use="for accountants that count rho (it is bounded in range), and for theory",
        ),
        "permute-and-flip": Builtin(
            target="dpqr.strategies.distinguishers:PermuteAndFlip",
            summary="never worse than the exponential mechanism at the same pure epsilon",
            use="for accountants that add up epsilons",
        ),
    },
)
CHECKS = Registry(
    role="check",
    group="dpqr.checks",
    protocol="dpqr.strategies.checks:Check",
    builtins={
        "laplace": Builtin(
            target="dpqr.strategies.checks:Laplace",
            summary="the source's check, a noisy answer that is pure eps-DP",
            use="for pure privacy, and for few queries at a time",
        ),
        "gaussian": Builtin(
            target="dpqr.strategies.checks:Gaussian",
            summary="a check with lighter tails, for accountants that count in rho",
            use="for many rounds or wide blocks with a delta; needs an accountant that counts rho",
        ),
    },
)
UPDATES = Registry(
    role="update",
    group="dpqr.update_rules",
    protocol="dpqr.strategies.updates.interface:UpdateRule",
    builtins={
        DEFAULT_UPDATE: Builtin(
            target="dpqr.strategies.updates.multiplicative_weights:MultiplicativeWeights",
            summary="a distribution over the universe, moved by exponential steps (Dwork and Roth 2014, 4.2)",
            use="for any workload over up to some million cells, and for synthetic data; the default",
        ),
        "piecewise-weights": Builtin(
            target="dpqr.strategies.updates.maximum_entropy:PiecewiseWeights",
            summary="multiplicative weights with replay of all single queries, on the pieces that they leave",
            use="for single queries over large ordered universes; the default under queries",
        ),
        "median": Builtin(
            target="dpqr.strategies.updates.median:Median",
            summary="halving over a net of small databases (Dwork and Roth 2014, section 5.2; Gupta, Roth and Ullman "
            "2012)",
            use="for a universe of a dozen cells, under theory",
        ),
        "maximum-entropy": Builtin(
            target="dpqr.strategies.updates.maximum_entropy:MaximumEntropy",
            summary="the maximum-entropy fit to all measurements, on a junction tree, as under marginals",
            use="for small certificates under theory, and for domains of any size there",
        ),
        "perceptron": Builtin(
            target="dpqr.strategies.updates.perceptron:Perceptron",
            summary="a real vector on the universe, moved along the query (Dwork and Roth 2014, section 5.2; "
            "re-derived)",
            use="for comparison; under theory its bound is the smallest of the step rules up to 8 cells (sharp: 3)",
        ),
        "least-squares": Builtin(
            target="dpqr.strategies.updates.least_squares:LeastSquares",
            summary="the unbiased linear estimate that fits all measurements best",
            use="for unbiased answers with a known deviation; the default under strategy",
        ),
        "bucket-least-squares": Builtin(
            target="dpqr.strategies.updates.least_squares:BucketLeastSquares",
            summary="where buckets of cells were measured, their counts, shrunk and spread evenly",
            use="for cells that were measured in buckets; the default under ordered",
        ),
        "product": Builtin(
            target="dpqr.strategies.updates.product:Product",
            summary="a fit of the columns that queries join, times a histogram for each ordered column apart",
            use="for measurements in parts; the default under parts",
        ),
    },
)
ACCOUNTANT_ROWS = {
    "basic": AccountantRow(
        target="dpqr.kernel.accountants.sums:Basic",
        summary="epsilons add up",
        use="for pure privacy, and for few draws",
        filter=True,
    ),
    "advanced": AccountantRow(
        target="dpqr.kernel.accountants.fixed_schedules:Advanced",
        summary="epsilons of a fixed schedule add up like random steps, at the price of a delta",
        use="for many draws with a delta, unequal ones too",
        filter=False,
    ),
    "optimal": AccountantRow(
        target="dpqr.kernel.accountants.fixed_schedules:Optimal",
        summary="the exact privacy curve of equal pure draws",
        use="for many equal, pure draws with a delta",
        filter=False,
    ),
    "zcdp": AccountantRow(
        target="dpqr.kernel.accountants.sums:ZeroConcentrated",
        summary="rhos add up, and one conversion at the end gives epsilon at delta",
        use="for many draws with a delta, Gaussian ones too",
        filter=True,
    ),
    "gdp": AccountantRow(
        target="dpqr.kernel.accountants.analytic:GaussianDP",
        summary="squares of mu add up, and the exact curve of Gaussian noise gives epsilon at delta",
        use="for Gaussian noise with a delta, where choices take little of the budget",
        filter=True,
    ),
    "pld": AccountantRow(
        target="dpqr.kernel.accountants.pld:PrivacyLossDistribution",
        summary="the losses of a fixed schedule added up as random variables, nearly without slack",
        use="for a schedule fixed in advance, with a delta: the tightest sum of unlike draws",
        filter=False,
    ),
}
ACCOUNTANTS = Registry(
    role="accountant",
    group="dpqr.accountants",
    protocol="dpqr.kernel.accountants.accountant:Accountant",
    builtins=ACCOUNTANT_ROWS,
    on_request=("pld",),
)
"""Loading the package behind pld takes longer than a whole plan may, and its gain is small: see --accountant pld."""
ROLES = (SCHEDULES, DISTINGUISHERS, CHECKS, UPDATES, ACCOUNTANTS)
