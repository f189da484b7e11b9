"""The strategies that options can name, and what each is for."""

from __future__ import annotations

from dpqr.plugins import HOUSE, Entry, Registry
from dpqr.prediction.names import LEARNERS, LOSSES
from dpqr.strategies.known import ROLES

SUMMARIES = {
    "auto": "names the schedule that suits what is asked; the default",
    "marginals": (
        "one table of all columns where it is small; else one-way marginals, and a search for the blocks "
        "that they do not explain"
    ),
    "rounds": "a fixed number of block rounds after a first, non-adaptive measurement",
    "queries": "a number of rounds of one query each, the practical form of the source's loop, without its stop test",
    "theory": "the source's loop on single queries, as printed, with its constants from the accountant",
    "strategy": "measures, once and with the whole budget, what the workload can be told from best",
    "ordered": "the strategy where records are many, buckets of neighbouring cells where they are few",
    "parts": "ordered for ordered columns that no query joins with others, marginals for the rest",
    "exponential": "the source's distinguisher of choice, the exponential mechanism",
    "permute-and-flip": "never worse than the exponential mechanism at the same pure epsilon",
    "laplace": "the source's check, a noisy answer that is pure eps-DP",
    "gaussian": "a check with lighter tails, for accountants that count in rho",
    "multiplicative-weights": "a distribution over the universe, moved by exponential steps (Dwork and Roth 2014, 4.2)",
    "piecewise-weights": "multiplicative weights with replay of all single queries, on the pieces that they leave",
    "maximum-entropy": "the maximum-entropy fit to all measurements, on a junction tree, as under marginals",
    "median": "halving over a net of small databases (Dwork and Roth 2014, section 5.2; Gupta, Roth and Ullman 2012)",
    "perceptron": "a real vector on the universe, moved along the query (Dwork and Roth 2014, section 5.2; re-derived)",
    "least-squares": "the unbiased linear estimate that fits all measurements best",
    "bucket-least-squares": "where buckets of cells were measured, their counts, shrunk and spread evenly",
    "product": "a fit of the columns that queries join, times a histogram for each ordered column apart",
    "basic": "epsilons add up",
    "advanced": "epsilons of a fixed schedule add up like random steps, at the price of a delta",
    "optimal": "the exact privacy curve of equal pure draws",
    "zcdp": "rhos add up, and one conversion at the end gives epsilon at delta",
    "gdp": "squares of mu add up, and the exact curve of Gaussian noise gives epsilon at delta",
    "pld": "the losses of a fixed schedule added up as random variables, nearly without slack",
}
"""What each of the house's strategies is."""

USES = {
    "auto": "for any workload: it takes the schedule that suits; the default",
    "marginals": "for marginals of any number of columns; under an accountant whose prices may follow releases",
    "rounds": "for workloads of marginals, predicates and ranges, at any n",
    "queries": "for many single queries (ranges, conjunctions, rows of coefficients) of which few need measuring",
    "theory": "for a proved bound on every answer, where n is public or declared and very large",
    "strategy": "for prefixes, ranges, rectangles and marginals of ordered columns, where n is large beside the cells",
    "ordered": "for prefixes, ranges and rectangles at any n: buckets of cells or a strategy, whichever errs less",
    "parts": "for prefixes and ranges of some columns beside queries that join others",
    "exponential": "for accountants that count rho (it is bounded in range), and for theory",
    "permute-and-flip": "for accountants that add up epsilons",
    "laplace": "for pure privacy, and for few queries at a time",
    "gaussian": "for many rounds or wide blocks with a delta; needs an accountant that counts rho",
    "multiplicative-weights": "for any workload over up to some million cells, and for synthetic data; the default",
    "piecewise-weights": "for single queries over large ordered universes; the default under queries",
    "maximum-entropy": "for small certificates under theory, and for domains of any size there",
    "median": "for a universe of a dozen cells, under theory",
    "perceptron": "for comparison; under theory its bound is the smallest of the step rules up to 8 cells (sharp: 3)",
    "least-squares": "for unbiased answers with a known deviation; the default under strategy",
    "bucket-least-squares": "for cells that were measured in buckets; the default under ordered",
    "product": "for measurements in parts; the default under parts",
    "basic": "for pure privacy, and for few draws",
    "advanced": "for many draws with a delta, unequal ones too",
    "optimal": "for many equal, pure draws with a delta",
    "zcdp": "for many draws with a delta, Gaussian ones too",
    "gdp": "for Gaussian noise with a delta, where choices take little of the budget",
    "pld": "for a schedule fixed in advance, with a delta: the tightest sum of unlike draws",
}
"""What each built-in strategy is for."""


def list_strategies() -> list[dict[str, str]]:
    """One entry a strategy: role, name, what it is, what its use is, and its origin.

    Foreign code is not imported for a listing: its entry says where it is instead.
    """
    return [_listed(registry, entry) for registry in (*ROLES, LOSSES, LEARNERS) for entry in registry.entries()]


def _listed(registry: Registry, entry: Entry) -> dict[str, str]:
    if entry.origin == HOUSE:
        what, use = SUMMARIES[entry.name], USES[entry.name]
    else:
        what = entry.target
        use = f"runs with --trust {entry.name} only, for its code would run where the private data is"
    return {"role": registry.role, "name": entry.name, "what": what, "use": use, "origin": entry.origin}
