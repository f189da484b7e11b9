"""Faults of the matrices that queries are made of: norms, distances, products, inverses."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "workload/matrix.py",
        (
            "max(largest_norm(distinct - vector, power) for vector in distinct)",
            "largest_norm(distinct - distinct[0], power)",
            "only the pairs of the first column are looked at",
        ),
        ("sizes = np.abs(vectors)", "sizes = np.maximum(vectors, 0)", "negative coefficients are not counted"),
        (
            "if largest**power * max(sizes.shape[1], 1) >= 2**62:",
            "if largest**power >= 2**62:",
            "a sum of squares can overflow",
        ),
        (
            "return int((sizes**power).sum(axis=1).max(initial=0))",
            "return int((sizes**power).max(initial=0))",
            "the largest entry in the place of a column's norm",
        ),
    ),
    *planted_in(
        "workload/trees.py",
        (
            "inside = held + self.left + one * self.right",
            "inside = held + self.left",
            "of a group that is cut at both ends the right one is forgotten",
        ),
        (
            "self.left_form = has * (form - square * inside * self.left)",
            "self.left_form = has * form",
            "a variance without what the group's own row takes off",
        ),
        (
            "has_right = (self.stops % wide != 0) & (self.stops != self.size)",
            "has_right = self.stops % wide != 0",
            "the last group, cut short by the end, counts as cut",
        ),
    ),
    *planted_in(
        "workload/matrix.py",
        ("return 1 if power == 0 else 2\n", "return 1\n", "the 2 of a replaced cell is forgotten"),
        ("return 1 if power == 0 else self.size\n", "return 1\n", "a CDF's column counts as one answer"),
        (
            "return 1 if power == 0 else self.size - 1",
            "return 1 if power == 0 else self.size - 2",
            "the first column against the last but one",
        ),
        (
            "        if self.others:\n            return self.column_norm(power)\n",
            "",
            "cells that no row counts are forgotten in a distance",
        ),
        (
            "return spread, spread, spread * spread",
            "return spread, spread, spread",
            "one row's distance is not squared",
        ),
        (
            "return spread, largest_distance(self.coefficients.T, 1), largest_distance(self.coefficients.T, 2)",
            "return spread, largest_distance(self.coefficients.T, 1), largest_distance(self.coefficients.T, 1)",
            "a dense L2 distance is not squared",
        ),
        ("return int(self.coefficients.min(initial=0))", "return 0", "negative coefficients pass for none"),
        (
            "return min(0, int(self.csr.min())) if self.csr.nnz else 0",
            "return 0",
            "negative sparse coefficients pass for none",
        ),
        ("if largest**2 * self.rows >= 2**62:", "if largest**2 >= 2**62:", "a sparse sum of squares can overflow"),
        (
            "spread = int((self.csr.max(axis=1).toarray() - self.csr.min(axis=1).toarray()).max())",
            "spread = int(self.csr.max())",
            "a sparse spread forgets the smallest coefficient",
        ),
        (
            "sums = np.cumsum(tensor[::-1], axis=0, dtype=tensor.dtype)[::-1]",
            "sums = np.cumsum(tensor, axis=0, dtype=tensor.dtype)",
            "a CDF's transpose is the CDF",
        ),
    ),
    *planted_in(
        "workload/partition.py",
        (
            "self.buckets.max() >= self.inner.cells",
            "self.buckets.max() > self.inner.cells",
            "a bucket that is not there is let in",
        ),
        (
            "np.add.at(sums, self.buckets, tensor)",
            "sums[self.buckets] = tensor",
            "of the cells of a bucket the last one counts",
        ),
        (
            "self.inner.adjoint(tensor)[self.buckets]",
            "self.inner.adjoint(tensor)[self.buckets[::-1]]",
            "the transposed product is turned round",
        ),
    ),
    *planted_in(
        "workload/strategy_matrices.py",
        (
            "twins = [2 * int(own) ** power for",
            "twins = [int(own) ** power for",
            "two cells of a group are one cell apart",
        ),
        (
            "np.concatenate([self.diagonal[:, None], self.sums.T], axis=1)",
            "self.sums.T",
            "a cell's own row is forgotten in its norm",
        ),
        (
            "return None if apart is None else max([apart, *twins])",
            "return apart",
            "cells of one group are forgotten in a distance",
        ),
        (
            "alone = right / (self._cell_weights.astype(np.float64) ** 2)[:, None]",
            "alone = right / self._cell_weights.astype(np.float64)[:, None]",
            "estimates are biased",
        ),
        (
            "(sums * (self.widths / squares)) @ sums.T",
            "(sums / squares) @ sums.T",
            "an inverse forgets the groups' widths",
        ),
        ("own - (shared**2).sum(axis=1)", "own", "a variance forgets what the sums tell"),
    ),
    *planted_in(
        "workload/ranges.py",
        (
            'begun, ended = (np.searchsorted(ends, starts, side="right") for',
            'begun, ended = (np.searchsorted(ends, starts, side="left") for',
            "ranges that begin together are counted once",
        ),
        (
            "apart = self._cover[:, None] + self._cover - 2 * both",
            "apart = np.abs(self._cover[:, None] - self._cover)",
            "a distance is the difference of two norms",
        ),
        (
            "np.subtract.at(steps, self.stops, tensor)",
            "steps[self.stops] -= tensor",
            "of ranges that end together one is taken off",
        ),
        (
            "return np.asarray(sums[self.stops] - sums[self.starts])",
            "return np.asarray(sums[self.stops] - sums[np.maximum(self.starts - 1, 0)])",
            "ranges begin a cell early",
        ),
        (
            "overlap = np.minimum(stops, edges[1:]) - np.maximum(starts, edges[:-1])",
            "overlap = np.minimum(stops, edges[1:]) - edges[:-1]",
            "a range fills its first group",
        ),
    ),
    *planted_in(
        "workload/ranges.py",
        (
            "return int(length == matrix.cells), int(length > 0)",
            "return int(length > 0), int(length > 0)",
            "a range's query cannot move",
        ),
        (
            "return (least, most) if row.nnz < matrix.cells else (int(row.data.min()), int(row.data.max()))",
            "return int(row.data.min()), int(row.data.max())",
            "zeros that are not written are forgotten",
        ),
    ),
    *planted_in(
        "workload/trees.py",
        (
            "after = [np.full(self.cells, float(self.weights[-1]) ** -2)]",
            "after = [np.full(self.cells, float(self.weights[-1]) ** -1)]",
            "an inverse forgets a square",
        ),
        (
            "apart = [weight for weight, count in zip(self.weights, self.counts, strict=True) if count > 1]",
            "apart = [weight for weight, count in zip(self.weights, self.counts, strict=True) if count > 2]",
            "a level of two groups is forgotten in a distance",
        ),
        (
            "else sum(weight**power for weight in self.weights)",
            "else sum(self.weights)",
            "a tree's norm is not squared",
        ),
        (
            "correction = square * inside + correction / (1.0 + square * before[level][:, None])",
            "correction = square * inside",
            "what the groups above take off is forgotten",
        ),
        (
            "total = total - square * (inside * shrunk).sum(axis=0)",
            "total = total - square * (inside * inside).sum(axis=0)",
            "a variance is too small",
        ),
    ),
    *planted_in(
        "workload/trees.py",
        (
            "found.append(square * shrunk + above * shrunk**2)",
            "found.append(square * shrunk + above * shrunk)",
            "what the groups above take off does not shrink with the square",
        ),
        (
            "return np.asarray(sums - self._corrections[level - 1][parent] * sums**2)",
            "return np.asarray(sums - self._corrections[level - 1][parent] * sums)",
            "a variance of several groups is too small",
        ),
        (
            "if not np.array_equal(row[places], groups):",
            "if len(row) < rows:",
            "a level counts as nested wherever it has fewer groups",
        ),
    ),
    *planted_in(
        "workload/trees.py",
        (
            "narrow, wide = self.widths[level + 1], self.widths[level]",
            "narrow, wide = self.widths[level + 1], self.widths[level + 1]",
            "an interval's groups are those of the level below",
        ),
    ),
)
