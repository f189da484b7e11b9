"""Groups: GROUP BY as the sets of columns and conditions that each answer is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from typing import Any

from dpqr.io.sql.conditions import Text, all_of, any_of, true, untrue
from dpqr.io.sql.words import Words, called

MOST_SETS, MOST_BRANCHES = 4096, 256
"""Groups of one statement, by sets and branches; branches of one CASE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What one entry is asked for: every combination of cells of `by`, among the records of `where`.

    labels: of the branches of CASE that `where` stands for.
    """

    by: tuple[str, ...] = ()
    where: Text | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """All groups of a statement. keys: the grouped expressions. sets: how many there are."""

    groups: tuple[Group, ...]
    keys: tuple[Any, ...]
    sets: int


def grouping(select: Any, condition: Text | None, words: Words) -> Grouping:
    """The groups that a statement asks for, among the records of its condition. Raises: DocumentError."""
    from sqlglot import exp

    asked = select.args.get("group")
    if asked is None:
        return Grouping(groups=(Group(),), keys=(), sets=1)
    items = [_meant(each, select, words) for each in asked.expressions]
    if asked.args.get("all"):
        items += [each.unalias() for each in select.expressions if not each.find(exp.AggFunc)]
    parts = [list(_sets(each, words)) for each in items]
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if asked.args.get(name):  # WITH ROLLUP: of all that was listed before
            parts = [list(_sets(kind(expressions=items), words))]
    if math.prod(map(len, parts)) > MOST_SETS:
        raise words.fault(asked, f"GROUP BY: makes more than {MOST_SETS} grouping sets; list fewer columns")
    sets = tuple(dict.fromkeys(tuple(dict.fromkeys(chain(*each))) for each in product(*parts)))
    known = frozenset() if condition is None else condition.known
    groups = tuple(islice((group for each in sets for group in _groups(each, known, words)), MOST_SETS + 1))
    if len(groups) > MOST_SETS:
        raise words.fault(asked, f"GROUP BY: makes more than {MOST_SETS} groups; list fewer columns or branches")
    return Grouping(groups=groups, keys=tuple(dict.fromkeys(chain(*sets))), sets=len(sets))


def _meant(item: Any, select: Any, words: Words) -> Any:
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


def _sets(item: Any, words: Words) -> Iterator[tuple[Any, ...]]:
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
        raise words.fault(item, f"{called(item)}: of {len(parts)} columns; list at most {int(math.log2(MOST_SETS))}")
    sizes = range(len(parts), -1, -1)
    cube = isinstance(item, exp.Cube)
    for chosen in chain.from_iterable(combinations(parts, size) if cube else [tuple(parts[:size])] for size in sizes):
        yield tuple(chain(*chosen))


def _keys(item: Any, words: Words) -> tuple[Any, ...]:
    """Columns and CASE expressions. DocumentError for anything else."""
    from sqlglot import exp

    if isinstance(item, exp.Tuple):
        return tuple(chain.from_iterable(_keys(each, words) for each in item.expressions))
    item = item.unnest()
    if isinstance(item, exp.Column | exp.Case):
        return (item,)
    words.refuse_unquoted(item)
    raise words.fault(item, f"{called(item)}: GROUP BY takes columns of the domain and CASE; bins stand in the domain")


def _groups(keys: Sequence[Any], known: frozenset[str], words: Words) -> Iterator[Group]:
    """One group for each combination of branches."""
    from sqlglot import exp

    by = tuple(dict.fromkeys(words.column(each) for each in keys if isinstance(each, exp.Column)))
    cases = [branches(each, known, words) for each in keys if isinstance(each, exp.Case)]
    for chosen in product(*cases):
        yield Group(by=by, where=all_of(*(text for _, text in chosen)), labels=tuple(label for label, _ in chosen))


def branches(case: Any, known: frozenset[str], words: Words) -> tuple[tuple[str, Text], ...]:
    """Each label of a CASE with the condition of its records: the first WHEN that is true decides, else ELSE.

    known: columns that have a value in every record that is looked at.
    """
    if len(case.args["ifs"]) > MOST_BRANCHES:
        raise words.fault(case, f"CASE: more than {MOST_BRANCHES} branches; state bins in the domain")
    found: dict[str, list[Text]] = {}
    passed: list[Any] = []
    for branch in case.args["ifs"]:
        when = _when(case, branch)
        met = true(when, words)
        others = [untrue(each, words, met.known | known) for each in passed]
        found.setdefault(_label(branch.args["true"], words), []).append(all_of(*others, met) or met)
        passed.append(when)
    otherwise = "NULL" if case.args.get("default") is None else _label(case.args["default"], words)
    rest = all_of(*(untrue(each, words, known) for each in passed))
    found.setdefault(otherwise, []).extend([rest] if rest else [])
    return tuple((label, any_of(*texts)) for label, texts in found.items())


def _when(case: Any, branch: Any) -> Any:
    """The condition of a branch; CASE column WHEN value compares with the value."""
    from sqlglot import exp

    return branch.this if case.this is None else exp.EQ(this=case.this.copy(), expression=branch.this.copy())


def _label(node: Any, words: Words) -> str:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Neg | exp.Literal | exp.Boolean):
        return str(node.sql() if not isinstance(node, exp.Literal) else node.name)
    raise words.fault(node, f"{called(node)}: a branch of CASE is called by a constant here; write 'text' or a number")
