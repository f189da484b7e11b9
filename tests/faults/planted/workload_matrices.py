"""Faults of the matrices that queries are made of: norms, distances, products, inverses."""

from faults.anchored import Anchored, at

_ROOM = "queries"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "largest_distance",
        (
            "max((largest_norm(distinct - vector, power) for vector in distinct))",
            "largest_norm(distinct - distinct[0], power)",
            "only the pairs of the first column are looked at",
        ),
    ),
    *at(
        _ROOM,
        "largest_norm",
        ("np.abs(vectors)", "np.maximum(vectors, 0)", "negative coefficients are not counted"),
        ("largest ** power * max(sizes.shape[1], 1)", "largest ** power", "a sum of squares can overflow"),
        ("(sizes ** power).sum(axis=1)", "sizes ** power", "the largest entry in the place of a column's norm"),
    ),
    *at(
        _ROOM,
        "CutGroups._close_left",
        (
            "held + self.left + one * self.right",
            "held + self.left",
            "of a group that is cut at both ends the right one is forgotten",
        ),
        ("form - square * inside * self.left", "form", "a variance without what the group's own row takes off"),
    ),
    *at(
        _ROOM,
        "CutGroups.widen",
        (
            "(self.stops % wide != 0) & (self.stops != self.size)",
            "self.stops % wide != 0",
            "the last group, cut short by the end, counts as cut",
        ),
    ),
    *at(
        _ROOM,
        "Identity.column_distance",
        ("1 if power == 0 else 2", "1", "the 2 of a replaced cell is forgotten"),
    ),
    *at(
        _ROOM,
        "Prefix.column_norm",
        ("1 if power == 0 else self.size", "1", "a CDF's column counts as one answer"),
    ),
    *at(
        _ROOM,
        "Prefix.column_distance",
        ("self.size - 1", "self.size - 2", "the first column against the last but one"),
        ("self.others", "False", "cells that no row counts are forgotten in a distance"),
    ),
    *at(
        _ROOM,
        "Dense._distances",
        ("spread * spread", "spread", "one row's distance is not squared"),
        (
            "largest_distance(self.coefficients.T, 2)",
            "largest_distance(self.coefficients.T, 1)",
            "a dense L2 distance is not squared",
        ),
    ),
    *at(
        _ROOM,
        "Dense.smallest",
        ("int(self.coefficients.min(initial=0))", "0", "negative coefficients pass for none"),
    ),
    *at(
        _ROOM,
        "Sparse.smallest",
        ("min(0, int(self.csr.min())) if self.csr.nnz else 0", "0", "negative sparse coefficients pass for none"),
    ),
    *at(
        _ROOM,
        "Sparse._norms",
        ("largest ** 2 * self.rows", "largest ** 2", "a sparse sum of squares can overflow"),
    ),
    *at(
        _ROOM,
        "Sparse._distances",
        (
            "self.csr.max(axis=1).toarray() - self.csr.min(axis=1).toarray()",
            "self.csr",
            "a sparse spread forgets the smallest coefficient",
        ),
    ),
    *at(
        _ROOM,
        "Prefix.adjoint",
        (
            "np.cumsum(tensor[::-1], axis=0, dtype=tensor.dtype)[::-1]",
            "np.cumsum(tensor, axis=0, dtype=tensor.dtype)",
            "a CDF's transpose is the CDF",
        ),
    ),
    *at(
        _ROOM,
        "BucketMatrix.__post_init__",
        (
            "self.buckets.max() >= self.inner.cells",
            "self.buckets.max() > self.inner.cells",
            "a bucket that is not there is let in",
        ),
    ),
    *at(
        _ROOM,
        "BucketMatrix.merge",
        (
            "np.add.at(sums, self.buckets, tensor)",
            "sums[self.buckets] = tensor",
            "of the cells of a bucket the last one counts",
        ),
    ),
    *at(
        _ROOM,
        "BucketMatrix.adjoint",
        ("self.buckets", "self.buckets[::-1]", "the transposed product is turned round"),
    ),
    *at(
        _ROOM,
        "PIdentity._distance",
        ("2 * int(own) ** power", "int(own) ** power", "two cells of a group are one cell apart"),
        ("None if apart is None else max([apart, *twins])", "apart", "cells of one group are forgotten in a distance"),
    ),
    *at(
        _ROOM,
        "PIdentity._columns",
        (
            "np.concatenate([self.diagonal[:, None], self.sums.T], axis=1)",
            "self.sums.T",
            "a cell's own row is forgotten in its norm",
        ),
    ),
    *at(
        _ROOM,
        "PIdentity.recover",
        ("self._cell_weights.astype(np.float64) ** 2", "self._cell_weights.astype(np.float64)", "estimates are biased"),
    ),
    *at(
        _ROOM,
        "PIdentity._middle",
        ("sums * (self.widths / squares)", "sums / squares", "an inverse forgets the groups' widths"),
    ),
    *at(
        _ROOM,
        "PIdentity.variances",
        ("own - (shared ** 2).sum(axis=1)", "own", "a variance forgets what the sums tell"),
    ),
    *at(
        _ROOM,
        "Ranges._most",
        ("'right'", "'left'", "ranges that begin together are counted once"),
    ),
    *at(
        _ROOM,
        "Ranges._distance",
        (
            "self._cover[:, None] + self._cover - 2 * both",
            "np.abs(self._cover[:, None] - self._cover)",
            "a distance is the difference of two norms",
        ),
    ),
    *at(
        _ROOM,
        "Ranges.adjoint",
        (
            "np.subtract.at(steps, self.stops, tensor)",
            "steps[self.stops] -= tensor",
            "of ranges that end together one is taken off",
        ),
    ),
    *at(
        _ROOM,
        "Ranges.apply",
        ("sums[self.starts]", "sums[np.maximum(self.starts - 1, 0)]", "ranges begin a cell early"),
    ),
    *at(
        _ROOM,
        "group_sums",
        ("np.maximum(starts, edges[:-1])", "edges[:-1]", "a range fills its first group"),
    ),
    *at(
        _ROOM,
        "row_extremes",
        ("length == matrix.cells", "length > 0", "a range's query cannot move"),
        (
            "(least, most) if row.nnz < matrix.cells else (int(row.data.min()), int(row.data.max()))",
            "(int(row.data.min()), int(row.data.max()))",
            "zeros that are not written are forgotten",
        ),
    ),
    *at(
        _ROOM,
        "WeightedLevels.inverses",
        ("float(self.weights[-1]) ** (-2)", "float(self.weights[-1]) ** (-1)", "an inverse forgets a square"),
    ),
    *at(
        _ROOM,
        "WeightedLevels.column_distance",
        ("count > 1", "count > 2", "a level of two groups is forgotten in a distance"),
    ),
    *at(
        _ROOM,
        "WeightedLevels.column_norm",
        ("(weight ** power for weight in self.weights)", "self.weights", "a tree's norm is not squared"),
    ),
    *at(
        _ROOM,
        "WeightedLevels.recover",
        (
            "square * inside + correction / (1.0 + square * before[level][:, None])",
            "square * inside",
            "what the groups above take off is forgotten",
        ),
    ),
    *at(
        _ROOM,
        "WeightedLevels._of_slice",
        ("inside * shrunk", "inside * inside", "a variance is too small"),
    ),
    *at(
        _ROOM,
        "NestedTree._corrections",
        ("shrunk ** 2", "shrunk", "what the groups above take off does not shrink with the square"),
    ),
    *at(
        _ROOM,
        "NestedTree._of_groups",
        ("sums ** 2", "sums", "a variance of several groups is too small"),
        (
            "not np.array_equal(row[places], groups)",
            "len(row) < rows",
            "a level counts as nested wherever it has fewer groups",
        ),
    ),
    *at(
        _ROOM,
        "Tree._of_intervals",
        ("self.widths[level]", "self.widths[level + 1]", "an interval's groups are those of the level below"),
    ),
)
