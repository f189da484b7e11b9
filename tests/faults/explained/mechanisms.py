"""Harmless faults of mechanisms."""

from faults.fault import Explained

EXPLAINED = (
    Explained(
        file="mechanisms/selection.py",
        line="pairs = zip(candidates, multipliers, strict=False)",
        reason="every caller makes one multiplier a candidate; the scores themselves index both",
    ),
    Explained(
        file="mechanisms/selection.py",
        line="common = math.gcd(*whole.values()) or 2",
        reason="only where all weights are 0, and 0 divided by 2 is 0 too",
    ),
    Explained(
        file="mechanisms/selection.py",
        line="def refuse_large_score("
        "group: Group, times: Fraction, penalty: int, /, expected: int, records: int) -> None:",
        reason="which arguments may be given by name; all calls stay valid",
    ),
    Explained(
        file="mechanisms/box_scores.py",
        line="refuse_beyond(largest, self.blocks[ -1].name, self.records)",
        reason="which block an error names: all of them are sums of one table",
    ),
    Explained(
        file="mechanisms/box_scores.py",
        line="families[self.known[pieces] > 0] = - 2",
        reason="any negative number says that a score is known",
    ),
    Explained(
        file="mechanisms/selection.py",
        line="largest = max(reached, default= 1)",
        reason="only without blocks, where there is nothing to select from",
    ),
)
