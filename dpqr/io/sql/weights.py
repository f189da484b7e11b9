"""Survey weights in SQL: LEAST(column, number) as a factor of what is summed. Its number is the largest weight."""

from __future__ import annotations

from typing import Any

from dpqr.io.sql.words import Words

_FORM = "a survey weight is cut to a largest value, which sets the noise: SUM(LEAST(w, 40) * x)"


def weighed(node: Any, words: Words) -> tuple[Any, dict[str, Any] | None]:
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
    return rest, _stated(weights[0], words) if weights else None


def _stated(least: Any, words: Words) -> dict[str, Any]:
    from sqlglot import exp

    parts = [each.unnest() for each in (least.this, *least.expressions)]
    columns = [each for each in parts if isinstance(each, exp.Column)]
    numbers = [each.name for each in parts if isinstance(each, exp.Literal) and not each.is_string]
    if (len(parts), len(columns), len(numbers)) != (2, 1, 1):
        raise words.fault(least, f"LEAST: takes a column and a number; {_FORM}")
    (most,) = numbers
    return {"column": words.column(columns[0]), "maximum": int(most) if most.isdigit() else float(most)}


def is_number(node: Any, *values: float) -> bool:
    """Whether an expression is one of these numbers."""
    from sqlglot import exp

    return isinstance(node, exp.Literal) and not node.is_string and float(node.name) in values
