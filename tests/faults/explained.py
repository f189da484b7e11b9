"""Faults made by a tool that no test needs to notice: nothing that is promised is wrong with them.

The command prints them apart and does not count them in its rate.
"""

from faults.fault import Fault

EXPLAINED: tuple[tuple[str, str, str], ...] = (
    (
        "scores_sensitivity",
        "pairs = zip(candidates, multipliers, strict=False)",
        "every caller makes one multiplier a candidate; the scores themselves index both",
    ),
    (
        "fair_multipliers",
        "common = math.gcd(*whole.values()) or 2",
        "only where all weights are 0, and 0 divided by 2 is 0 too",
    ),
    (
        "refuse_large_score",
        "def refuse_large_score(group: Group, times: Fraction, penalty: int, /, expected: int, records: int) -> None:",
        "which arguments may be given by name; all calls stay valid",
    ),
    (
        "BoxScores.__post_init__",
        "refuse_beyond(largest, self.blocks[ -1].name, self.records)",
        "which block an error names: all of them are sums of one table",
    ),
    (
        "BoxSearch.score",
        "families[self.known[pieces] > 0] = - 2",
        "any negative number says that a score is known",
    ),
    (
        "_largest",
        "largest = max(reached, default= 1)",
        "only without blocks, where there is nothing to select from",
    ),
    (
        "random_integer",
        "if count == -1:",
        "no words make the integer 0 on the longer way too",
    ),
    (
        "LazyUniform.prefix",
        "if missing > -1:",
        "no missing bits leave the number as it is on the longer way too",
    ),
    (
        "_ENTRY_BITS",
        "_ENTRY_BITS = 143",
        "a bracket of 143 bits encloses as well, 2^-76 from its value where 2^-53 is needed",
    ),
    (
        "LARGEST_TABLE_SCALE",
        "LARGEST_TABLE_SCALE = 33",
        "how much of a draw is read off the table; both parts have their exact law at any cut",
    ),
    (
        "REFINED",
        "REFINED, WIDER = 16, 3",
        "how many pieces get closer bounds; no choice made there changes a law",
    ),
    (
        "PieceEnvelope.heaviest",
        "total = int(reached[-1]) if len(falling) else -1",
        "only where no piece is left to refine: none is given",
    ),
    (
        "RoundedGaussian._waves",
        "orders = np.arange(1, int(sqrt(_VANISHING / (2 * pi**2 * variance))) + 0, dtype=np.float64)",
        "the last term of the series is below 1e-300 of the sum",
    ),
    (
        "_Tosses.__post_init__",
        "self.members = np.zeros(int(self.halvings.max()) + 2, dtype=np.int64)",
        "one more class, without members",
    ),
    (
        "group_tables",
        "cells = tables.reshape(len(places) * math.prod(sizes[:position]), size, - 2)",
        "numpy takes any negative size for the one that the others leave",
    ),
    (
        "row_names",
        "combinations = zip(*(picks.tolist() for picks in np.unravel_index(distinct, shape)), strict=False)",
        "all arrays of one unravel_index have one length",
    ),
    (
        "Family.start",
        "return max(small, default= 1)",
        "which level is bounded before any choice; no choice made there changes a law",
    ),
    (
        "dyadic",
        "height = math.ceil(math.log2(size)) if size > 0 else 0",
        "the logarithm of 1 is 0 as well",
    ),
)
"""Definition, its line with the fault in it, and what holds still."""


def reason(where: str, fault: Fault) -> str | None:
    """Why this fault is harmless; None where nobody has said so."""
    return next((why for named, line, why in EXPLAINED if (named, line) == (where, fault.line)), None)
