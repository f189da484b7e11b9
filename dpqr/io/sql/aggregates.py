"""Aggregates: what SELECT computes, as the kind of an entry and the condition of its records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpqr.errors import DocumentError
from dpqr.io.documents.text.decoding import nearest
from dpqr.io.sql.conditions import Text, all_of, true
from dpqr.io.sql.weights import is_number, weighed
from dpqr.io.sql.words import Words, called, named

COUNT = "count"
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


@dataclass(frozen=True, slots=True)
class Figure:
    """An aggregate. kind: of the entry, COUNT or its own key. parts: its keys but by, where, name and weight."""

    kind: str
    parts: dict[str, Any]
    where: Text | None = None
    weight: dict[str, Any] | None = None


def figure(node: Any, words: Words) -> Figure:
    """The entry that an expression of SELECT asks for. Raises: DocumentError."""
    from sqlglot import exp

    node = _bare(node)
    if isinstance(node, exp.Filter):
        found = figure(node.this, words)
        return replace(found, where=all_of(found.where, true(node.expression.this, words)))
    if isinstance(node, exp.Div):
        return _quotient(node, words)
    if isinstance(node, exp.Count):
        return _count(node, words)
    if isinstance(node, exp.CountIf):
        return Figure(COUNT, {}, true(node.this, words))
    if isinstance(node, exp.Sum):
        return _sum(node, words)
    if isinstance(node, exp.Avg):
        return _mean(node, words)
    if isinstance(node, exp.Median):
        return Figure("median", {"median": _column(node.this, node, words)})
    if isinstance(node, exp.Variance | exp.VariancePop):
        return _variance(node, words)
    quantiles = _quantiles(node, words)
    if quantiles is None:
        raise _unknown(node, words)
    return quantiles


def _unknown(node: Any, words: Words) -> DocumentError:
    from sqlglot import exp

    name = called(node.this if isinstance(node, exp.WithinGroup) else node)
    if isinstance(node, exp.Column):
        return words.fault(node, f"{node.name!r} is neither grouped nor aggregated; add it to GROUP BY")
    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        return words.fault(node, "a constant asks nothing of the table; leave it out")
    if isinstance(node, exp.Star):
        return words.fault(node, "*: single rows are private; ask COUNT(*) or another aggregate")
    advice = ADVICE.get(name)
    if advice is None and isinstance(node, exp.Func):
        advice = nearest(name, KNOWN)
    return words.fault(node, f"{name}: {advice or 'no entry of a queries document; ask the aggregates by themselves'}")


def _bare(node: Any) -> Any:
    """Without parentheses, casts to numbers with a fraction, and factors of one."""
    from sqlglot import exp

    while True:
        if isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.REAL_TYPES)):
            node = node.this
        elif isinstance(node, exp.Mul) and is_number(node.this, 1):
            node = node.expression
        elif isinstance(node, exp.Mul) and is_number(node.expression, 1):
            node = node.this
        else:
            return node


def _column(node: Any, around: Any, words: Words) -> str:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.REAL_TYPES) and not node.to.expressions:
        node = node.this.unnest()  # no value is rounded
    words.refuse_unquoted(node)
    if not isinstance(node, exp.Column):
        raise words.fault(node, f"{called(around)}: takes a column of the domain, not an expression of columns")
    return words.column(node)


def _count(node: Any, words: Words) -> Figure:
    from sqlglot import exp

    asked = exp.Star() if node.this is None else node.this.unnest()
    if node.expressions:
        raise words.fault(node.expressions[0], "COUNT: of several columns; count one, or *")
    if isinstance(asked, exp.Star | exp.Literal):
        return Figure(COUNT, {})
    if isinstance(asked, exp.Case):
        met, value, otherwise = _two_ways(asked, words)
        if otherwise is None and isinstance(value, exp.Literal):
            return Figure(COUNT, {}, met)
        raise words.fault(asked, "COUNT(CASE ...): takes one WHEN ... THEN 1, without ELSE")
    column = _column(asked, node, words)
    if not words.has_null(column):
        raise words.fault(
            node,
            f"COUNT({column}): the domain has no cell for null in {column!r}, so nothing tells its nulls apart; "
            "ask COUNT(*)",
        )
    return Figure(COUNT, {}, _has_value(column))


def _has_value(column: str) -> Text:
    return Text(f"{named(column)} is not null", known=frozenset({column}))


def _two_ways(case: Any, words: Words) -> tuple[Text, Any, Any]:
    """Condition and value of a CASE with one WHEN, and the value of its ELSE; None: null."""
    from sqlglot import exp

    if case.this is not None or len(case.args["ifs"]) != 1:
        raise words.fault(case, "CASE: an aggregate takes one WHEN; write one aggregate for each")
    (branch,), otherwise = case.args["ifs"], case.args.get("default")
    null = otherwise is None or isinstance(otherwise, exp.Null)
    return true(branch.this, words), branch.args["true"].unnest(), None if null else otherwise.unnest()


def _sum(node: Any, words: Words) -> Figure:
    from sqlglot import exp

    asked, weight = weighed(_filled(node.this), words)
    met, inner = None, None
    if isinstance(asked, exp.Case):
        met, value, otherwise = _two_ways(asked, words)
        if otherwise is not None and not is_number(otherwise, 0):
            raise words.fault(otherwise, "SUM(CASE ...): ELSE is 0 or NULL; write one SUM for each branch")
        asked, inner = weighed(value, words)
    if weight and inner:
        raise words.fault(node, "SUM: is weighted twice; leave one LEAST out")
    if is_number(asked, 1):
        return Figure(COUNT, {}, met, weight or inner)
    return Figure("sum", {"sum": _column(asked, node, words)}, met, weight or inner)


def _filled(node: Any) -> Any:
    """What COALESCE(x, 0) adds to a sum is what x adds."""
    from sqlglot import exp

    node = node.unnest()
    zero = isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and is_number(node.expressions[0], 0)
    return node.this.unnest() if zero else node


def _mean(node: Any, words: Words) -> Figure:
    from sqlglot import exp

    asked = node.this.unnest()
    if not isinstance(asked, exp.Case):
        return Figure("mean", {"mean": _column(asked, node, words)})
    met, value, otherwise = _two_ways(asked, words)
    if otherwise is None and isinstance(value, exp.Column):
        return Figure("mean", {"mean": _column(value, node, words)}, met)
    if is_number(value, 1) and is_number(otherwise, 0):
        return Figure("proportion", {"proportion": met.text})
    raise words.fault(asked, "AVG(CASE ...): takes THEN column without ELSE (a mean), or THEN 1 ELSE 0 (a proportion)")


def _variance(node: Any, words: Words) -> Figure:
    from sqlglot import exp

    if isinstance(node, exp.Variance):
        words.note(node, "VARIANCE is answered as VAR_POP, which divides by the number of records n, not by n - 1")
    return Figure("variance", {"variance": _column(node.this, node, words)})


def _quantiles(node: Any, words: Words) -> Figure | None:
    """PERCENTILE_CONT(...) WITHIN GROUP (ORDER BY column), and QUANTILE(column, ...) by its several names."""
    from sqlglot import exp

    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        (ordered,) = node.expression.expressions
        if ordered.args.get("desc"):
            raise words.fault(ordered, "PERCENTILE_CONT: takes ORDER BY column, upwards; ask 1 less the fraction")
        return _quantiles_at(node.this.this, ordered.this, node, words)
    if isinstance(node, exp.Quantile | exp.ApproxQuantile):
        return _quantiles_at(node.args["quantile"], node.this, node, words)
    several = ("QUANTILE_CONT", "APPROX_PERCENTILE", "PERCENTILE_CONT")
    if isinstance(node, exp.Anonymous) and called(node) in several and len(node.expressions) == 2:
        return _quantiles_at(node.expressions[1], node.expressions[0], node, words)
    return None


def _quantiles_at(fractions: Any, column: Any, node: Any, words: Words) -> Figure:
    from sqlglot import exp

    listed = fractions.expressions if isinstance(fractions, exp.Array | exp.Tuple) else [fractions.unnest()]
    for each in listed:
        if not isinstance(each, exp.Literal) or each.is_string or not 0 < float(each.name) < 1:
            raise words.fault(each, "quantiles: each fraction is a number above 0 and below 1, such as 0.5")
    return Figure("quantiles", {"quantiles": _column(column, node, words), "at": [float(each.name) for each in listed]})


def _quotient(node: Any, words: Words) -> Figure:
    """A mean, a ratio of sums, or a proportion, by what is divided by what."""
    from sqlglot import exp

    below = node.expression.unnest()
    if isinstance(below, exp.Nullif) and is_number(below.expression, 0):
        below = below.this
    over, under = figure(node.this, words), figure(below, words)
    kinds = (over.kind, under.kind) if over.weight == under.weight else ()
    if kinds == ("sum", "sum") and over.where == under.where:
        ratio = {"ratio": {"of": over.parts["sum"], "to": under.parts["sum"]}}
        return Figure("ratio", ratio, over.where, over.weight)
    if kinds == (COUNT, COUNT) and over.where and under.where is None:
        return Figure("proportion", {"proportion": over.where.text}, weight=over.weight)
    if kinds == ("sum", COUNT) and _same_records(over.parts["sum"], over.where, under.where, words):
        return Figure("mean", {"mean": over.parts["sum"]}, over.where, over.weight)
    raise words.fault(
        node,
        "/: a quotient is SUM(a) / SUM(b), SUM(a) / COUNT(a), or a condition's COUNT over COUNT(*), of the same "
        "records and weights; ask others by their parts",
    )


def _same_records(column: str, summed: Text | None, counted: Text | None, words: Words) -> bool:
    """Whether exactly those records are counted whose values are summed, nulls aside."""
    present = _has_value(column)
    if counted in (all_of(summed, present), all_of(present, summed)):
        return True
    return counted == summed and not words.has_null(column)
