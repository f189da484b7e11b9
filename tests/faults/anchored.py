"""Faults by definition and statement, so that moving or wrapping lines of the source leaves them in place.

A fault names a definition (`Counter.node`: a class, function or constant, wherever it lies) and one statement,
expression or keyword argument within it. Both sides are compared as `ast.unparse` writes them.
"""

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from faults.fault import SOURCE, Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """One wrong statement, expression or keyword argument.

    room: whose tests must notice. where: the qualified name of the definition. before: what stands there, exactly once,
    or else as the match number `place`, from 0. after: what takes its place. tests: files of the room that are run
    first, below tests/.
    """

    room: str
    where: str
    before: str
    after: str
    words: str
    place: int | None = None
    tests: tuple[str, ...] = ()

    def fault(self) -> Fault:
        """The fault in today's source. ValueError where it does not match there once, or changes nothing."""
        found = [
            (file, number)
            for file in _files(self.where.rpartition(".")[2])
            for number in range(len(_matches(_tree(file), self)))
        ]
        if self.place is None and len(found) != 1:
            raise ValueError(f"{self.where}: {self.before!r} stands there {len(found)} times, not once")
        if self.place is not None and len(found) <= self.place:
            raise ValueError(f"{self.where}: {self.before!r} stands there {len(found)} times, and not in {self.place}")
        file, number = found[self.place or 0]
        changed = copy.deepcopy(_tree(file))
        _replace(changed, _matches(changed, self)[number], self.after)
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text == ast.unparse(_tree(file)):
            raise ValueError(f"{self.where}: {self.after!r} changes nothing")
        compile(text, file, "exec")
        return Fault(file=file, text=f"{text}\n", words=self.words)


def at(
    room: str, where: str, *changes: tuple[str, str, str] | tuple[str, str, str, int], tests: tuple[str, ...] = ()
) -> Iterator[Anchored]:
    """Faults of one definition, each as (before, after, words) or (before, after, words, place)."""
    for before, after, words, *place in changes:
        yield Anchored(
            room=room,
            where=where,
            before=before,
            after=after,
            words=words,
            place=place[0] if place else None,
            tests=tests,
        )


@cache
def _sources() -> dict[str, str]:
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def _files(name: str) -> list[str]:
    """Files that may define this name."""
    defined = re.compile(rf"^\s*(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\b", re.MULTILINE)
    return [file for file, text in _sources().items() if defined.search(text)]


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(_sources()[file])


def _matches(tree: ast.Module, wanted: Anchored) -> list[ast.AST]:
    """The nodes of a module that a fault names, in the order in which they stand."""
    statement = _parsed(wanted.before)
    expression = statement.value if isinstance(statement, ast.Expr) else None
    keyword = _keyword(statement)
    text = ast.unparse(expression or statement)
    found = []
    for definition in _definitions(tree, wanted.where.split(".")):
        for node in _inside(definition):
            if isinstance(node, ast.keyword):
                same = keyword is not None and ast.unparse(node) == ast.unparse(keyword)
            elif isinstance(node, ast.expr):
                same = expression is not None and type(node) is type(expression) and ast.unparse(node) == text
            else:
                same = expression is None and type(node) is type(statement) and ast.unparse(node) == text
            if same:
                found.append(node)
    return found


def _inside(definition: ast.AST) -> Iterator[ast.AST]:
    """Statements, expressions and keyword arguments, parents first, in the order of the text."""
    for child in ast.iter_child_nodes(definition):
        if isinstance(child, ast.stmt | ast.expr | ast.keyword):
            yield child
        yield from _inside(child)


def _definitions(tree: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """Definitions of this qualified name; of a constant the statement that gives it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == names[0]:
                yield from [node] if len(names) == 1 else _definitions(node, names[1:])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(names) == 1 and any(isinstance(each, ast.Name) and each.id == names[0] for each in targets):
                yield ast.Module(body=[node], type_ignores=[])
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node, names)


def _replace(tree: ast.Module, node: ast.AST, after: str) -> None:
    """Put another text in the place of a node; nothing in that of a statement or of a keyword argument removes it."""
    parent, field, index = next(each for each in _places(tree) if _at(*each) is node)
    new: list[ast.AST] = []
    if isinstance(node, ast.keyword):
        changed = _keyword(_parsed(after)) if after else None
        if after and changed is None:
            raise ValueError(f"no keyword argument: {after!r}")
        new = [changed] if changed else []
    elif isinstance(node, ast.expr):
        statement = _parsed(after)
        if not isinstance(statement, ast.Expr):
            raise ValueError(f"no expression: {after!r}")
        new = [statement.value]
    else:
        new = list(ast.parse(after).body) or [ast.Pass()]
    if index is None:
        setattr(parent, field, new[0])
    else:
        getattr(parent, field)[index : index + 1] = new


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                yield from ((parent, field, index) for index in range(len(value)))
            elif isinstance(value, ast.AST):
                yield parent, field, None


def _at(parent: ast.AST, field: str, index: int | None) -> object:
    value = getattr(parent, field)
    return value if index is None else value[index]


def _keyword(statement: ast.stmt) -> ast.keyword | None:
    """`name=value`, as it stands in a call."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return ast.keyword(arg=statement.targets[0].id, value=statement.value)
    return None


def _parsed(text: str) -> ast.stmt:
    """The one statement of a text. SyntaxError, or ValueError where there are several.

    What may stand only within a function, or a loop, is parsed there.
    """
    body = ast.parse(text).body
    if len(body) != 1:
        raise ValueError(f"not one statement: {text!r}")
    return body[0]


def tests_of(patterns: tuple[str, ...], root: Path) -> list[str]:
    """Test files below `root`/tests that the patterns name, each a file, a directory or a glob; in their order.

    ValueError for a pattern that names none.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        paths = sorted((root / "tests").glob(pattern))
        files = [file for path in paths for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
        if not files:
            raise ValueError(f"tests/{pattern} names no test")
        found.update(dict.fromkeys(file.relative_to(root).as_posix() for file in files))
    return list(found)
