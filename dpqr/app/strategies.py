"""The strategies that options can name, and what each is for."""

from __future__ import annotations

from importlib import import_module

from dpqr.plugins import HOUSE, Entry, Registry
from dpqr.strategies.known import ROLES

USES = {
    "auto": "for any workload: it takes the schedule that suits; the default",
    "marginals": "for marginals of any number of columns; under an accountant whose prices may follow releases",
    "rounds": "for workloads of marginals, predicates and ranges, at any n",
    "queries": "for many single queries (ranges, conjunctions, rows of coefficients) of which few need measuring",
    "theory": "for a proved bound on every answer, where n is public or declared and very large",
    "strategy": "for prefixes, ranges, rectangles and marginals of ordered columns, where n is large beside the cells",
    "ordered": "for prefixes, ranges and rectangles at any n: buckets of cells or a strategy, whichever errs less",
    "exponential": "for accountants that count rho (it is bounded in range), and for theory",
    "permute-and-flip": "for accountants that add up epsilons",
    "laplace": "for pure privacy, and for few queries at a time",
    "gaussian": "for many rounds or wide blocks with a delta; needs an accountant that counts rho",
    "multiplicative-weights": "for any workload over up to some million cells, and for synthetic data; the default",
    "piecewise-weights": "for single queries over large ordered universes; the default under queries",
    "median": "for a universe of a dozen cells, under theory",
    "perceptron": "for comparison; under theory its bound is the smallest of the step rules up to 8 cells (sharp: 3)",
    "least-squares": "for unbiased answers with a known deviation; the default under strategy",
    "bucket-least-squares": "for cells that were measured in buckets; the default under ordered",
    "basic": "for pure privacy, and for few draws",
    "advanced": "for many draws with a delta, unequal ones too",
    "optimal": "for many equal, pure draws with a delta",
    "zcdp": "for many draws with a delta, Gaussian ones too",
    "pld": "for a schedule fixed in advance, with a delta: the tightest sum of unlike draws",
}
"""What each built-in strategy is for."""


def list_strategies() -> list[dict[str, str]]:
    """One entry a strategy: role, name, what it is, what its use is, and its origin.

    Foreign code is not imported for a listing: its entry says where it is instead.
    """
    return [_listed(registry, entry) for registry in ROLES for entry in registry.entries()]


def _listed(registry: Registry, entry: Entry) -> dict[str, str]:
    if entry.origin == HOUSE:
        what, use = _summary(entry), USES[entry.name]
    else:
        what = entry.target
        use = f"runs with --trust {entry.name} only, for its code would run where the private data is"
    return {"role": registry.role, "name": entry.name, "what": what, "use": use, "origin": entry.origin}


def _summary(entry: Entry) -> str:
    """The first line of its module's introduction, the name left out."""
    introduction = import_module(entry.target.partition(":")[0]).__doc__ or ""
    return introduction.strip().split("\n", 1)[0].partition(": ")[2].rstrip(".")
