"""Harmless faults of workload."""

from faults.fault import Explained

EXPLAINED = (
    Explained(
        file="workload/ranges.py",
        line="cells = tables.reshape(len(places) * math.prod(sizes[:position]), size, - 2)",
        reason="numpy takes any negative size for the one that the others leave",
    ),
    Explained(
        file="workload/workload.py",
        line="combinations = zip(*(picks.tolist() for picks in np.unravel_index(distinct, shape)), strict=False)",
        reason="all arrays of one unravel_index have one length",
    ),
    Explained(
        file="workload/box_index.py",
        line="return max(small, default= 1)",
        reason="which level is bounded before any choice; no choice made there changes a law",
    ),
    Explained(
        file="workload/trees.py",
        line="height = math.ceil(math.log2(size)) if size > 0 else 0",
        reason="the logarithm of 1 is 0 as well",
    ),
)
