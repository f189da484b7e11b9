"""Harmless faults of noise."""

from faults.fault import Explained

EXPLAINED = (
    Explained(
        file="kernel/noise/bits.py",
        line="if count == -1:",
        reason="no words make the integer 0 on the longer way too",
    ),
    Explained(
        file="kernel/noise/bits.py",
        line="if missing > -1:",
        reason="no missing bits leave the number as it is on the longer way too",
    ),
    Explained(
        file="kernel/noise/bits.py",
        line="_ENTRY_BITS = 143",
        reason="a bracket of 143 bits encloses as well, 2^-76 from its value where 2^-53 is needed",
    ),
    Explained(
        file="kernel/noise/discrete_laplace.py",
        line="LARGEST_TABLE_SCALE = 33",
        reason="how much of a draw is read off the table; both parts have their exact law at any cut",
    ),
    Explained(
        file="kernel/noise/selection.py",
        line="REFINED, WIDER = 16, 3",
        reason="how many pieces get closer bounds; no choice made there changes a law",
    ),
    Explained(
        file="kernel/noise/selection.py",
        line="total = int(reached[-1]) if len(falling) else -1",
        reason="only where no piece is left to refine: none is given",
    ),
    Explained(
        file="kernel/noise/gaussian.py",
        line="orders = np.arange(1, int(sqrt(_VANISHING / (2 * pi**2 * variance))) + 0, dtype=np.float64)",
        reason="the last term of the series is below 1e-300 of the sum",
    ),
    Explained(
        file="kernel/noise/selection.py",
        line="self.members = np.zeros(int(self.halvings.max()) + 2, dtype=np.int64)",
        reason="one more class, without members",
    ),
)
