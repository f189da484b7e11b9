"""Faults of blocks, boxes, grids and sensitivities."""

from faults.anchored import Anchored, at

_ROOM = "queries"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "Bisection.places",
        (
            "grids[axis] >> heights[axis]",
            "grids[axis] >> max(heights[axis] - 1, 0)",
            "cells are put into boxes that do not hold them",
        ),
    ),
    *at(
        _ROOM,
        "Bisection.boxes",
        ("level - 1 - step", "step", "places are read from the wrong end"),
        ("starts + widths", "starts + widths + 1", "boxes overlap by one cell"),
    ),
    *at(
        _ROOM,
        "ColumnPairs.distance",
        ("2 * c * other.shared", "3 * c * other.shared", "columns are thought nearer than they are"),
    ),
    *at(
        _ROOM,
        "ColumnPairs._undominated",
        (
            "least[:-1, :-1] < np.minimum(larger[1:, :-1], larger[:-1, 1:])",
            "least[:-1, :-1] > np.minimum(larger[1:, :-1], larger[:-1, 1:])",
            "the nearest pairs of columns are kept, not the farthest",
        ),
    ),
    *at(
        _ROOM,
        "ColumnPairs.of",
        ("0 if matrix.others else 1", "1", "a cell that no prefix counts is forgotten"),
    ),
    *at(
        _ROOM,
        "QueryBlock.largest_coefficient",
        (
            "math.prod((factor.matrix.column_norm(0) for factor in self.factors))",
            "max((factor.matrix.column_norm(0) for factor in self.factors), default=1)",
            "the largest coefficient of a product is too small",
        ),
    ),
    *at(
        _ROOM,
        "QueryBlock._factor_rows",
        ("(index,)", "(0,)", "single rows of a rowwise block are all the first one"),
    ),
    *at(
        _ROOM,
        "QueryBlock.row",
        ("scale=self.scale", "", "a single row forgets its grid"),
    ),
    *at(
        _ROOM,
        "_along",
        (
            "np.moveaxis(product.reshape((size, *front.shape[1:])), 0, position)",
            "np.moveaxis(product.reshape((size, *front.shape[1:])), 0, -1)",
            "a product's rows are in another order",
        ),
    ),
    *at(
        _ROOM,
        "_family",
        ("starts * (size + 1)", "starts * size", "two comparisons are taken for one"),
        (
            "np.concatenate([rows for _, rows in members])[order]",
            "np.concatenate([rows for _, rows in members])",
            "sorted queries keep their old numbers",
        ),
    ),
    *at(
        _ROOM,
        "box_index",
        ("np.argsort(arranged.order)", "arranged.order", "queries go by another's number"),
    ),
    *at(
        _ROOM,
        "box_sums",
        ("(starts[rows], -1)", "(starts[rows], 1)", "a box adds what it should take off"),
    ),
    *at(
        _ROOM,
        "box_adjoint",
        ("[(starts, 1), (stops, -1)]", "[(stops, 1), (starts, -1)]", "the transposed product has its sign turned"),
    ),
    *at(
        _ROOM,
        "running_sums",
        ("range(tensor.ndim)", "range(min(tensor.ndim, 2))", "a third axis is not summed"),
    ),
    *at(
        _ROOM,
        "_gather",
        ("total -= flat.take(at)", "total += flat.take(at)", "corners are all added"),
    ),
    *at(
        _ROOM,
        "common_grid",
        (
            "math.gcd(*(int(scale * denominator) for scale in scales))",
            "min((int(scale * denominator) for scale in scales))",
            "answers do not lie on the common grid",
        ),
    ),
    *at(
        _ROOM,
        "round_answers",
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
    *at(
        _ROOM,
        "group_tables",
        ("cells[:, 1:].sum(axis=1, dtype=tables.dtype)", "cells[:, 1]", "a first cell holds what others do"),
    ),
    *at(
        _ROOM,
        "axis_groups",
        ("own < other", "other < own", "groups are the smallest sets"),
    ),
    *at(
        _ROOM,
        "home",
        (
            "min(holding, key=len, default=None)",
            "max(holding, key=len, default=None)",
            "a block goes to the largest group",
        ),
    ),
    *at(
        _ROOM,
        "row_names",
        ("(rows,)", "(rows[::-1],)", "rows go by the names of others"),
        (
            "np.unravel_index(rows, sizes)",
            "np.unravel_index(rows, sizes[::-1])[::-1]",
            "the first factor's names vary fastest",
        ),
    ),
    *at(
        _ROOM,
        "query_variances",
        (
            "float(inverse.variances(everything(factor.matrix.cells))[0])",
            "1.0",
            "the noise of what is summed over is forgotten",
        ),
        ("float(strategy.scale) ** 2", "float(strategy.scale)", "a variance is scaled by the grid, not by its square"),
    ),
    *at(
        _ROOM,
        "_combined",
        ("query.rowwise", "len(own) == len(whole)", "combinations are taken for rows"),
    ),
    *at(
        _ROOM,
        "recoverable",
        ("Tree(matrix.size, (1,), (1,))", "Tree(matrix.size, (1,), (2,))", "estimates are half of what was measured"),
    ),
    *at(
        _ROOM,
        "sensitivity",
        ("unit.rows * unit.rows if norm is Norm.L2_SQUARED else unit.rows", "unit.rows", "K is not squared"),
        (
            "unit.rows * unit.rows if norm is Norm.L2_SQUARED else unit.rows",
            "unit.rows if norm is not Norm.LARGEST else 1",
            "K is forgotten in the largest change",
        ),
    ),
    *at(
        _ROOM,
        "_together",
        (
            "max(changes, default=0) if norm is Norm.LARGEST else sum(changes)",
            "max(changes, default=0)",
            "blocks measured together cost as much as one",
        ),
    ),
    *at(
        _ROOM,
        "_replaced_column",
        (
            "max(_distance(block, norm), _added_column(block, norm))",
            "_distance(block, norm)",
            "a dropped record's zeros are forgotten",
        ),
    ),
    *at(
        _ROOM,
        "_distance",
        ("spread * spread if norm is Norm.L2_SQUARED else spread", "spread", "one query's change is not squared"),
        (
            "4 if norm is Norm.L2_SQUARED and (not nonnegative) else 2",
            "2",
            "opposite columns are taken for orthogonal ones",
        ),
        (
            "all((factor.matrix.smallest >= 0 for factor in block.factors))",
            "any((factor.matrix.smallest >= 0 for factor in block.factors))",
            "one nonnegative factor passes for all",
        ),
        (
            "_added_column(block, norm) * (1 if nonnegative else 2)",
            "_added_column(block, norm)",
            "a signed answer moves by its largest coefficient",
        ),
    ),
    *at(
        _ROOM,
        "_added_column",
        ("tops[:i]", "tops[:i - 1]", "a factor's entries are forgotten"),
        (
            "factor.matrix.column_norm(0) ** power",
            "factor.matrix.column_norm(0)",
            "entries of a rowwise product are not squared",
        ),
    ),
    *at(
        _ROOM,
        "_spread",
        (
            "[bound * edge for bound in (low, high) for edge in row_extremes(factor.matrix)]",
            "[bound * edge for bound, edge in zip((low, high), row_extremes(factor.matrix), strict=True)]",
            "products of negative coefficients are forgotten",
        ),
    ),
    *at(
        _ROOM,
        "stack_blocks",
        (
            "order[np.concatenate(found)] = np.arange(starts[-1])",
            "order[:] = np.concatenate(found)",
            "stacked answers come in another order",
        ),
        (
            "tuple((factor.axes for factor in block.factors))",
            "len(block.factors)",
            "queries on other attributes are stacked together",
        ),
    ),
    *at(
        _ROOM,
        "Workload.__post_init__",
        ("seen.add(block.name)", "", "two queries may have one name"),
    ),
)
