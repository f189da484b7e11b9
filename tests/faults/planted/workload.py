"""Faults of blocks, boxes, grids and sensitivities."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "workload/partition.py",
        (
            "((grids[axis] >> heights[axis]) & 1)",
            "((grids[axis] >> max(heights[axis] - 1, 0)) & 1)",
            "cells are put into boxes that do not hold them",
        ),
        ("(level - 1 - step)", "step", "places are read from the wrong end"),
        (
            "stops=np.minimum(starts + widths, sizes)",
            "stops=np.minimum(starts + widths + 1, sizes)",
            "boxes overlap by one cell",
        ),
    ),
    *planted_in(
        "workload/sensitivity.py",
        ("- 2 * c * other.shared", "- 3 * c * other.shared", "columns are thought nearer than they are"),
        (
            "least[:-1, :-1] < np.minimum(larger[1:, :-1], larger[:-1, 1:])",
            "least[:-1, :-1] > np.minimum(larger[1:, :-1], larger[:-1, 1:])",
            "the nearest pairs of columns are kept, not the farthest",
        ),
        ("0 if matrix.others else 1", "1", "a cell that no prefix counts is forgotten"),
    ),
    *planted_in(
        "workload/block.py",
        (
            "return math.prod(factor.matrix.column_norm(0) for factor in self.factors)",
            "return max((factor.matrix.column_norm(0) for factor in self.factors), default=1)",
            "the largest coefficient of a product is too small",
        ),
        (
            "return (index,) * len(self.factors)",
            "return (0,) * len(self.factors)",
            "single rows of a rowwise block are all the first one",
        ),
        ("weight=self.weight, scale=self.scale)", "weight=self.weight)", "a single row forgets its grid"),
        (
            "np.moveaxis(product.reshape((matrix.rows, *front.shape[1:])), 0, position)",
            "np.moveaxis(product.reshape((matrix.rows, *front.shape[1:])), 0, -1)",
            "a product's rows are in another order",
        ),
    ),
    *planted_in(
        "workload/box_index.py",
        (
            "np.unique(starts * (size + 1) + stops, return_inverse=True)",
            "np.unique(starts * size + stops, return_inverse=True)",
            "two comparisons are taken for one",
        ),
        (
            "numbers = np.arange(queries) if arranged.order is None else np.argsort(arranged.order)",
            "numbers = np.arange(queries) if arranged.order is None else arranged.order",
            "queries go by another's number",
        ),
        (
            "order=np.concatenate([own for _, own in members])[order]",
            "order=np.concatenate([own for _, own in members])",
            "sorted queries keep their old numbers",
        ),
    ),
    *planted_in(
        "workload/ranges.py",
        (
            "[(stops[rows], 1), (starts[rows], -1)]",
            "[(stops[rows], 1), (starts[rows], 1)]",
            "a box adds what it should take off",
        ),
        ("[(starts, 1), (stops, -1)]", "[(stops, 1), (starts, -1)]", "the transposed product has its sign turned"),
        (
            "    for axis in range(tensor.ndim):\n        np.cumsum(inner",
            "    for axis in range(min(tensor.ndim, 2)):\n        np.cumsum(inner",
            "a third axis is not summed",
        ),
        ("total -= flat.take(at)", "total += flat.take(at)", "corners are all added"),
    ),
    *planted_in(
        "workload/workload.py",
        (
            "math.gcd(*(int(scale * denominator) for scale in scales))",
            "min(int(scale * denominator) for scale in scales)",
            "answers do not lie on the common grid",
        ),
        (
            "np.rint(np.minimum(np.maximum(numbers, -limit), limit))",
            "np.floor(np.minimum(np.maximum(numbers, -limit), limit))",
            "expected answers are rounded down",
        ),
        (
            "np.minimum(np.maximum(numbers, -limit), limit)",
            "np.maximum(numbers, -limit)",
            "expected answers are clipped at one side",
        ),
        ("np.where(np.isnan(answers), 0.0, answers)", "answers", "NaN becomes an integer at random"),
    ),
    *planted_in(
        "workload/ranges.py",
        (
            "cells[:, 0] -= cells[:, 1:].sum(axis=1, dtype=tables.dtype)",
            "cells[:, 0] -= cells[:, 1]",
            "a first cell holds what others do",
        ),
    ),
    *planted_in(
        "workload/workload.py",
        (
            "not any(own < other for other in sets)",
            "not any(other < own for other in sets)",
            "groups are the smallest sets",
        ),
        (
            "return min(holding, key=len, default=None)",
            "return max(holding, key=len, default=None)",
            "a block goes to the largest group",
        ),
    ),
    *planted_in(
        "workload/workload.py",
        (
            "return (rows,) * len(block.factors)",
            "return (rows[::-1],) * len(block.factors)",
            "rows go by the names of others",
        ),
        (
            "np.unravel_index(rows, shape)) if shape else ()",
            "np.unravel_index(rows, shape[::-1])[::-1]) if shape else ()",
            "the first factor's names vary fastest",
        ),
    ),
    *planted_in(
        "workload/strategy_matrices.py",
        (
            "common *= float(inverse.variances(everything(factor.matrix.cells))[0])",
            "common *= 1.0",
            "the noise of what is summed over is forgotten",
        ),
        (
            "* float(strategy.scale) ** 2",
            "* float(strategy.scale)",
            "a variance is scaled by the grid, not by its square",
        ),
        (
            "whole * own if query.rowwise else",
            "whole * own if len(own) == len(whole) else",
            "combinations are taken for rows",
        ),
        (
            "return Tree(matrix.size, (1,), (1,))",
            "return Tree(matrix.size, (1,), (2,))",
            "estimates are half of what was measured",
        ),
    ),
    *planted_in(
        "workload/sensitivity.py",
        (
            "times = unit.rows * unit.rows if norm is Norm.L2_SQUARED else unit.rows",
            "times = unit.rows",
            "K is not squared",
        ),
        (
            "times = unit.rows * unit.rows if norm is Norm.L2_SQUARED else unit.rows",
            "times = unit.rows if norm is not Norm.LARGEST else 1",
            "K is forgotten in the largest change",
        ),
        (
            "return max(changes, default=0) if norm is Norm.LARGEST else sum(changes)",
            "return max(changes, default=0)",
            "blocks measured together cost as much as one",
        ),
        (
            "return max(_distance(block, norm), _added_column(block, norm))",
            "return _distance(block, norm)",
            "a dropped record's zeros are forgotten",
        ),
        (
            "return spread * spread if norm is Norm.L2_SQUARED else spread",
            "return spread",
            "one query's change is not squared",
        ),
        (
            "doubled = 4 if norm is Norm.L2_SQUARED and not nonnegative else 2",
            "doubled = 2",
            "opposite columns are taken for orthogonal ones",
        ),
        (
            "nonnegative = all(factor.matrix.smallest >= 0",
            "nonnegative = any(factor.matrix.smallest >= 0",
            "one nonnegative factor passes for all",
        ),
        (
            "return _added_column(block, norm) * (1 if nonnegative else 2)",
            "return _added_column(block, norm)",
            "a signed answer moves by its largest coefficient",
        ),
        ("tops[:i] + tops[i + 1 :]", "tops[: i - 1] + tops[i + 1 :]", "a factor's entries are forgotten"),
        (
            "int(factor.matrix.column_norm(0) ** power)",
            "int(factor.matrix.column_norm(0))",
            "entries of a rowwise product are not squared",
        ),
        (
            "corners = [bound * edge for bound in (low, high) for edge in row_extremes(factor.matrix)]",
            "corners = [bound * edge for bound, edge in zip((low, high), row_extremes(factor.matrix), strict=True)]",
            "products of negative coefficients are forgotten",
        ),
    ),
    *planted_in(
        "workload/related_blocks.py",
        (
            "order[np.concatenate(found)] = np.arange(starts[-1])",
            "order[:] = np.concatenate(found)",
            "stacked answers come in another order",
        ),
        (
            "kinds.setdefault(tuple(factor.axes for factor in block.factors), []).append(place)",
            "kinds.setdefault(len(block.factors), []).append(place)",
            "queries on other attributes are stacked together",
        ),
    ),
    *planted_in(
        "workload/workload.py",
        ("            seen.add(block.name)\n", "", "two queries may have one name"),
    ),
)
