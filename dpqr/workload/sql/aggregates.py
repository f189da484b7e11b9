"""Aggregates: what SELECT computes, as the kind of an entry and the condition of its records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, islice, product
from typing import Any

from msgspec import Struct

from dpqr.domain.text.decoding import nearest
from dpqr.domain.text.documents import JsonObject
from dpqr.kernel.values import replace
from dpqr.workload.sql.conditions import Text, all_of, any_of, true, untrue
from dpqr.workload.sql.statements import SqlText, name_of_node, quoted_name

COUNT, PERSONS = "count", "persons"
KNOWN = ("COUNT", "SUM", "AVG", "MEDIAN", "PERCENTILE_CONT", "QUANTILE", "VARIANCE", "VAR_POP", "COUNT_IF")
ADVICE = {
    "MIN": "a single record decides it; ask PERCENTILE_CONT(0.01) or the counts by cell",
    "MAX": "a single record decides it; ask PERCENTILE_CONT(0.99) or the counts by cell",
    **dict.fromkeys(("STDDEV", "STDDEV_POP", "STDDEV_SAMP"), "ask VAR_POP, and take the root of the answer"),
    "PERCENTILE_DISC": "its answer is the value of a single record; ask PERCENTILE_CONT",
    "PERCENTILE_CONT": "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY column)",
    "CASE": "single rows are private; group by it, or put it into an aggregate",
    "MODE": "ask COUNT(*) ... GROUP BY column ORDER BY COUNT(*) DESC LIMIT 1",
    **dict.fromkeys(("ROUND", "CAST", "FLOOR", "CEIL"), "answers are noisy decimals; round what is published"),
    **dict.fromkeys(("COALESCE", "GREATEST", "LEAST"), "answers are numbers, never NULL; leave it out"),
    "GROUPING": "each grouping set is an entry of its own, with its columns; leave it out",
    **dict.fromkeys(("CORR", "COVAR_POP", "COVAR_SAMP"), "products of columns are no queries; ask their joint counts"),
    **dict.fromkeys(("ARRAY_AGG", "ANY_VALUE", "FIRST", "LAST", "GROUP_CONCAT"), "single values are private"),
    "APPROX_DISTINCT": "how many values occur is no sum over records; ask for the counts, with GROUP BY",
    "*": "answers are not scaled; leave the factor out, and multiply what is published",
    **dict.fromkeys(("+", "-"), "ask each part by itself, and add or subtract what is published"),
}
"""Functions that cannot be asked, and what to ask instead."""


class SqlAggregate(Struct, frozen=True):
    """An aggregate. kind: of the entry, COUNT, PERSONS or its own key. parts: its keys but by, where, name, weight."""

    kind: str
    parts: JsonObject
    where: Text | None = None
    weight: JsonObject | None = None


def figure(node: Any, words: SqlText) -> SqlAggregate:
    """The entry that an expression of SELECT asks for. Raises: DocumentError."""
    from sqlglot import exp

    # Without parentheses, casts to numbers with a fraction, and factors of one.
    while True:
        if isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.REAL_TYPES)):
            node = node.this
        elif isinstance(node, exp.Mul) and is_number(node.this, 1):
            node = node.expression
        elif isinstance(node, exp.Mul) and is_number(node.expression, 1):
            node = node.this
        else:
            break
    if isinstance(node, exp.Filter):
        found = figure(node.this, words)
        return replace(found, where=all_of(found.where, true(node.expression.this, words)))
    if isinstance(node, exp.Div):
        return _quotient(node, words)
    if isinstance(node, exp.Count):
        return _count(node, words)
    if isinstance(node, exp.CountIf):
        return SqlAggregate(COUNT, {}, true(node.this, words))
    if isinstance(node, exp.Sum):
        return _sum(node, words)
    if isinstance(node, exp.Avg):
        operand = node.this.unnest()
        if not isinstance(operand, exp.Case):
            return SqlAggregate("mean", {"mean": _column(operand, node, words)})
        met, value, otherwise = _two_ways(operand, words)
        if otherwise is None and isinstance(value, exp.Column):
            return SqlAggregate("mean", {"mean": _column(value, node, words)}, met)
        if is_number(value, 1) and is_number(otherwise, 0):
            return SqlAggregate("proportion", {"proportion": met.text})
        raise words.fault(
            operand, "AVG(CASE ...): takes THEN column without ELSE (a mean), or THEN 1 ELSE 0 (a proportion)"
        )
    if isinstance(node, exp.Median):
        return SqlAggregate("median", {"median": _column(node.this, node, words)})
    if isinstance(node, exp.Variance | exp.VariancePop):
        if isinstance(node, exp.Variance):
            words.note(node, "VARIANCE is answered as VAR_POP, which divides by the number of records n, not by n - 1")
        return SqlAggregate("variance", {"variance": _column(node.this, node, words)})
    quantiles = _quantiles(node, words)
    if quantiles is not None:
        return quantiles
    if isinstance(node, exp.Column):
        raise words.fault(node, f"{node.name!r} is neither grouped nor aggregated; add it to GROUP BY")
    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        raise words.fault(node, "a constant asks nothing of the table; leave it out")
    if isinstance(node, exp.Star):
        raise words.fault(node, "*: single rows are private; ask COUNT(*) or another aggregate")
    name = name_of_node(node.this if isinstance(node, exp.WithinGroup) else node)
    advice = ADVICE.get(name)
    if advice is None and isinstance(node, exp.Func):
        advice = nearest(name, KNOWN)
    advice = advice or "no entry of a queries document; ask the aggregates by themselves"
    raise words.fault(node, f"{name}: {advice}")


def _column(node: Any, around: Any, words: SqlText) -> str:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.REAL_TYPES) and not node.to.expressions:
        node = node.this.unnest()  # no value is rounded
    words.refuse_unquoted(node)
    if not isinstance(node, exp.Column):
        raise words.fault(node, f"{name_of_node(around)}: takes a column of the domain, not an expression of columns")
    return words.column(node)


def _count(node: Any, words: SqlText) -> SqlAggregate:
    from sqlglot import exp

    operand = exp.Star() if node.this is None else node.this.unnest()
    if node.expressions:
        raise words.fault(node.expressions[0], "COUNT: of several columns; count one, or *")
    if isinstance(operand, exp.Star | exp.Literal):
        return SqlAggregate(COUNT, {})
    if isinstance(operand, exp.Distinct):
        return SqlAggregate(PERSONS, {"of": _unit_column(operand, words)})
    if isinstance(operand, exp.Case):
        met, value, otherwise = _two_ways(operand, words)
        if otherwise is None and isinstance(value, exp.Literal):
            return SqlAggregate(COUNT, {}, met)
        raise words.fault(operand, "COUNT(CASE ...): takes one WHEN ... THEN 1, without ELSE")
    column = _column(operand, node, words)
    if not words.has_null(column):
        raise words.fault(
            node,
            f"COUNT({column}): the domain has no cell for null in {column!r}, so nothing tells its nulls apart; "
            "ask COUNT(*)",
        )
    return SqlAggregate(COUNT, {}, _has_value(column))


def _unit_column(distinct: Any, words: SqlText) -> str:
    """The one column of COUNT(DISTINCT column), as it is written. The plan requires that it is the unit's."""
    from sqlglot import exp

    columns = [each.unnest() for each in distinct.expressions]
    if len(columns) != 1 or not isinstance(columns[0], exp.Column):
        raise words.fault(distinct, "COUNT(DISTINCT ...): counts persons, by the one column that says whose row it is")
    if words.knows(columns[0]):
        raise words.fault(
            columns[0],
            f"COUNT(DISTINCT {columns[0].name}): how many values occur is no sum over records; ask for the counts, "
            "with GROUP BY; persons are counted by the unit's column",
        )
    return str(columns[0].name)


def _has_value(column: str) -> Text:
    return Text(f"{quoted_name(column)} is not null", known=frozenset({column}))


def _two_ways(case: Any, words: SqlText) -> tuple[Text, Any, Any]:
    """Condition and value of a CASE with one WHEN, and the value of its ELSE; None: null."""
    from sqlglot import exp

    if case.this is not None or len(case.args["ifs"]) != 1:
        raise words.fault(case, "CASE: an aggregate takes one WHEN; write one aggregate for each")
    (branch,), otherwise = case.args["ifs"], case.args.get("default")
    null = otherwise is None or isinstance(otherwise, exp.Null)
    return true(branch.this, words), branch.args["true"].unnest(), None if null else otherwise.unnest()


def _sum(node: Any, words: SqlText) -> SqlAggregate:
    from sqlglot import exp

    summed = node.this.unnest()
    if isinstance(summed, exp.Coalesce) and len(summed.expressions) == 1 and is_number(summed.expressions[0], 0):
        summed = summed.this.unnest()  # what COALESCE(x, 0) adds to a sum is what x adds
    operand, weight = split_weight(summed, words)
    met, inner = None, None
    if isinstance(operand, exp.Case):
        met, value, otherwise = _two_ways(operand, words)
        if otherwise is not None and not is_number(otherwise, 0):
            raise words.fault(otherwise, "SUM(CASE ...): ELSE is 0 or NULL; write one SUM for each branch")
        operand, inner = split_weight(value, words)
    if weight and inner:
        raise words.fault(node, "SUM: is weighted twice; leave one LEAST out")
    if is_number(operand, 1):
        return SqlAggregate(COUNT, {}, met, weight or inner)
    return SqlAggregate("sum", {"sum": _column(operand, node, words)}, met, weight or inner)


def _quantiles(node: Any, words: SqlText) -> SqlAggregate | None:
    """PERCENTILE_CONT(...) WITHIN GROUP (ORDER BY column), and QUANTILE(column, ...) by its several names."""
    from sqlglot import exp

    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        ordered, *others = node.expression.expressions
        if others or ordered.args.get("desc"):
            raise words.fault(ordered, "PERCENTILE_CONT: takes ORDER BY one column, upwards; ask 1 less the fraction")
        return _quantiles_at(node.this.this, ordered.this, node, words)
    if isinstance(node, exp.Quantile | exp.ApproxQuantile):
        return _quantiles_at(node.args["quantile"], node.this, node, words)
    several = ("QUANTILE_CONT", "APPROX_PERCENTILE", "PERCENTILE_CONT")
    if isinstance(node, exp.Anonymous) and name_of_node(node) in several and len(node.expressions) == 2:
        return _quantiles_at(node.expressions[1], node.expressions[0], node, words)
    return None


def _quantiles_at(fractions: Any, column: Any, node: Any, words: SqlText) -> SqlAggregate:
    from sqlglot import exp

    listed = fractions.expressions if isinstance(fractions, exp.Array | exp.Tuple) else [fractions.unnest()]
    for each in listed:
        if not isinstance(each, exp.Literal) or each.is_string or not 0 < float(each.name) < 1:
            raise words.fault(each, "quantiles: each fraction is a number above 0 and below 1, such as 0.5")
    return SqlAggregate(
        "quantiles", {"quantiles": _column(column, node, words), "at": [float(each.name) for each in listed]}
    )


def _quotient(node: Any, words: SqlText) -> SqlAggregate:
    """A mean, a ratio of sums, or a proportion, by what is divided by what."""
    from sqlglot import exp

    below = node.expression.unnest()
    if isinstance(below, exp.Nullif) and is_number(below.expression, 0):
        below = below.this
    over, under = figure(node.this, words), figure(below, words)
    kinds = (over.kind, under.kind) if over.weight == under.weight else ()
    if kinds == ("sum", "sum") and over.where == under.where:
        ratio = {"ratio": {"of": over.parts["sum"], "to": under.parts["sum"]}}
        return SqlAggregate("ratio", ratio, over.where, over.weight)
    if kinds == (COUNT, COUNT) and over.where and under.where is None:
        return SqlAggregate("proportion", {"proportion": over.where.text}, weight=over.weight)
    if kinds == ("sum", COUNT):
        # Exactly those records are counted whose values are summed, nulls aside.
        column, present = over.parts["sum"], _has_value(over.parts["sum"])
        both = (all_of(over.where, present), all_of(present, over.where))
        if under.where in both or (under.where == over.where and not words.has_null(column)):
            return SqlAggregate("mean", {"mean": column}, over.where, over.weight)
    raise words.fault(
        node,
        "/: a quotient is SUM(a) / SUM(b), SUM(a) / COUNT(a), or a condition's COUNT over COUNT(*), of the same "
        "records and weights; ask others by their parts",
    )


# Groups: GROUP BY as the sets of columns and conditions that each answer is asked for.

MOST_SETS, MOST_BRANCHES = 4096, 256
"""Groups of one statement, by sets and branches; branches of one CASE."""


class SqlGroup(Struct, frozen=True, kw_only=True):
    """What one entry is asked for: every combination of cells of `by`, among the records of `where`.

    labels: of the branches of CASE that `where` stands for.
    """

    by: tuple[str, ...] = ()
    where: Text | None = None
    labels: tuple[str, ...] = ()


class Grouping(Struct, frozen=True, kw_only=True):
    """All groups of a statement. keys: the grouped expressions. sets: how many there are."""

    groups: tuple[SqlGroup, ...]
    keys: tuple[Any, ...]
    sets: int


def grouping(select: Any, condition: Text | None, words: SqlText) -> Grouping:
    """The groups that a statement asks for, among the records of its condition. Raises: DocumentError."""
    from sqlglot import exp

    group = select.args.get("group")
    if group is None:
        return Grouping(groups=(SqlGroup(),), keys=(), sets=1)
    items = [_meant(each, select, words) for each in group.expressions]
    if group.args.get("all"):
        items += [each.unalias() for each in select.expressions if not each.find(exp.AggFunc)]
    parts = [list(_sets(each, words)) for each in items]
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group.args.get(name):  # WITH ROLLUP: of all that was listed before
            parts = [list(_sets(kind(expressions=items), words))]
    if math.prod(map(len, parts)) > MOST_SETS:
        raise words.fault(group, f"GROUP BY: makes more than {MOST_SETS} grouping sets; list fewer columns")
    sets = tuple(dict.fromkeys(tuple(dict.fromkeys(chain(*each))) for each in product(*parts)))
    known = frozenset() if condition is None else condition.known
    groups: list[SqlGroup] = []
    for keys in sets:
        by = tuple(dict.fromkeys(words.column(each) for each in keys if isinstance(each, exp.Column)))
        cases = [branches(each, known, words) for each in keys if isinstance(each, exp.Case)]
        # One group for each combination of branches.
        for chosen in islice(product(*cases), MOST_SETS + 1 - len(groups)):
            labels = tuple(label for label, _ in chosen)
            groups.append(SqlGroup(by=by, where=all_of(*(text for _, text in chosen)), labels=labels))
        if len(groups) > MOST_SETS:
            raise words.fault(group, f"GROUP BY: makes more than {MOST_SETS} groups; list fewer columns or branches")
    return Grouping(groups=tuple(groups), keys=tuple(dict.fromkeys(chain(*sets))), sets=len(sets))


def _meant(item: Any, select: Any, words: SqlText) -> Any:
    """What a number or an alias stands for."""
    from sqlglot import exp

    if isinstance(item, exp.Literal) and not item.is_string:
        place = int(item.name) if item.name.isdigit() else 0
        if not 1 <= place <= len(select.expressions):
            raise words.fault(item, f"GROUP BY {item.name}: SELECT lists {len(select.expressions)}; give one of these")
        return select.expressions[place - 1].unalias()
    if isinstance(item, exp.Column) and not item.table:
        named = [each for each in select.expressions if isinstance(each, exp.Alias)]
        same = [each.this.unnest() for each in named if each.alias.casefold() == item.name.casefold()]
        if same and not isinstance(same[0], exp.Column) and words.knows(item):
            raise words.fault(item, f"GROUP BY {item.name}: a column and an alias are called so; choose another alias")
        return same[0] if same and not words.knows(item) else item
    return item


def _sets(item: Any, words: SqlText) -> Iterator[tuple[Any, ...]]:
    """The alternatives that one item of GROUP BY stands for, each a tuple of keys."""
    from sqlglot import exp

    if isinstance(item, exp.GroupingSets):
        for each in item.expressions:
            yield from _sets(each, words) if isinstance(each, exp.Rollup | exp.Cube) else [_keys(each, words)]
        return
    if not isinstance(item, exp.Rollup | exp.Cube):
        yield _keys(item, words)
        return
    parts = [_keys(each, words) for each in item.expressions]
    if len(parts) > math.log2(MOST_SETS):
        raise words.fault(
            item, f"{name_of_node(item)}: of {len(parts)} columns; list at most {int(math.log2(MOST_SETS))}"
        )
    sizes = range(len(parts), -1, -1)
    cube = isinstance(item, exp.Cube)
    for chosen in chain.from_iterable(combinations(parts, size) if cube else [tuple(parts[:size])] for size in sizes):
        yield tuple(chain(*chosen))


def _keys(item: Any, words: SqlText) -> tuple[Any, ...]:
    """Columns and CASE expressions. DocumentError for anything else."""
    from sqlglot import exp

    if isinstance(item, exp.Tuple):
        return tuple(chain.from_iterable(_keys(each, words) for each in item.expressions))
    item = item.unnest()
    if isinstance(item, exp.Column | exp.Case):
        return (item,)
    words.refuse_unquoted(item)
    raise words.fault(
        item, f"{name_of_node(item)}: GROUP BY takes columns of the domain and CASE; bins stand in the domain"
    )


def branches(case: Any, known: frozenset[str], words: SqlText) -> tuple[tuple[str, Text], ...]:
    """Each label of a CASE with the condition of its records: the first WHEN that is true decides, else ELSE.

    known: columns that have a value in every record that is looked at.
    """
    from sqlglot import exp

    if len(case.args["ifs"]) > MOST_BRANCHES:
        raise words.fault(case, f"CASE: more than {MOST_BRANCHES} branches; state bins in the domain")
    found: dict[str, list[Text]] = {}
    passed: list[Any] = []
    for branch in case.args["ifs"]:
        # The condition of a branch; CASE column WHEN value compares with the value.
        when = branch.this if case.this is None else exp.EQ(this=case.this.copy(), expression=branch.this.copy())
        met = true(when, words)
        others = [untrue(each, words, met.known | known) for each in passed]
        found.setdefault(_label(branch.args["true"], words), []).append(all_of(*others, met) or met)
        passed.append(when)
    otherwise = "NULL" if case.args.get("default") is None else _label(case.args["default"], words)
    rest = all_of(*(untrue(each, words, known) for each in passed))
    found.setdefault(otherwise, []).extend([rest] if rest else [])
    return tuple((label, any_of(*texts)) for label, texts in found.items())


def _label(node: Any, words: SqlText) -> str:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Literal) and node.name == "NULL":
        raise words.fault(node, "'NULL': is what the branch of NULL is called; write another text")
    if isinstance(node, exp.Neg | exp.Literal | exp.Boolean):
        return str(node.sql() if not isinstance(node, exp.Literal) else node.name)
    raise words.fault(
        node, f"{name_of_node(node)}: a branch of CASE is called by a constant here; write 'text' or a number"
    )


# Survey weights in SQL: LEAST(column, number) as a factor of what is summed. Its number is the largest weight.

_FORM = "a survey weight is cut to a largest value, which sets the noise: SUM(LEAST(w, 40) * x)"


def split_weight(node: Any, words: SqlText) -> tuple[Any, JsonObject | None]:
    """What is summed without its weight, 1 where nothing else is; and the weight as an entry states it, or None.

    Raises:
        DocumentError: a product that is no weight times a column.
    """
    from sqlglot import exp

    node = node.unnest()
    factors = [each.unnest() for each in node.flatten()] if isinstance(node, exp.Mul) else [node]
    weights = [each for each in factors if isinstance(each, exp.Least)]
    others = [each for each in factors if not isinstance(each, exp.Least) and not is_number(each, 1)]
    if len(weights) > 1 or len(others) > 1:
        raise words.fault(node, f"*: a product is no query; {_FORM}")
    rest = others[0] if others else exp.Literal.number(1)
    if not weights:
        return rest, None
    parts = [each.unnest() for each in (weights[0].this, *weights[0].expressions)]
    columns = [each for each in parts if isinstance(each, exp.Column)]
    numbers = [number for each in parts if (number := stated_number(each)) is not None]
    if (len(parts), len(columns), len(numbers)) != (2, 1, 1):
        raise words.fault(weights[0], f"LEAST: takes a column and a number; {_FORM}")
    return rest, {"column": words.column(columns[0]), "maximum": numbers[0]}


def stated_number(node: Any) -> int | float | None:
    """A number, or one with a minus before it; None for any other expression, and beyond what floats hold."""
    from sqlglot import exp

    if isinstance(node, exp.Neg):
        number = None if isinstance(node.this, exp.Neg) else stated_number(node.this)
        return None if number is None else -number
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    number = int(node.name) if node.name.isdigit() else float(node.name)
    return number if abs(number) < math.inf else None


def is_number(node: Any, *values: float) -> bool:
    """Whether an expression is one of these numbers."""
    from sqlglot import exp

    return isinstance(node, exp.Literal) and not node.is_string and float(node.name) in values
