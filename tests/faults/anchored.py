"""Faults by definition and statement, so that moving or wrapping lines of the source leaves them in place.

A fault names a definition (`Counter.node`: a class, function or constant, wherever it lies) and one statement,
expression or keyword argument within it. Both sides are compared as `ast.unparse` writes them.
"""

import ast
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
        """The fault in today's source. Raises: as `change`."""
        file, number, changed = self.change()
        texts = [ast.unparse(statement) for statement in _tree(file).body]
        text = "\n\n".join([*texts[:number], changed, *texts[number + 1 :]])
        return Fault(file=file, text=f"{text}\n", words=self.words)

    def change(self) -> tuple[str, int, str]:
        """File, number of its statement, and the text of that with the fault in it.

        Raises:
            ValueError: the fault does not match there once, or changes nothing. SyntaxError: it is no Python.
        """
        found = [match for file in _defining(self.where.rpartition(".")[2]) for match in _matches(file, self)]
        if self.place is None and len(found) != 1:
            raise ValueError(f"{self.where}: {self.before!r} stands there {len(found)} times, not once")
        if self.place is not None and len(found) <= self.place:
            raise ValueError(f"{self.where}: {self.before!r} stands there {len(found)} times, and not in {self.place}")
        match = found[self.place or 0]
        changed = match.changed(self.after)
        if changed == ast.unparse(_tree(match.file).body[match.number]):
            raise ValueError(f"{self.where}: {self.after!r} changes nothing")
        compile(changed, match.file, "exec")
        return match.file, match.number, changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """One node of a file. number: of the file's statement that it lies in. parent, field, index: where it hangs."""

    file: str
    number: int
    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None

    def changed(self, after: str) -> str:
        """The text of that statement with another node in this place; the tree is left as it was."""
        value = getattr(self.parent, self.field)
        new = _new(self.node, after)
        try:
            if self.index is None:
                setattr(self.parent, self.field, new[0])
            else:
                setattr(self.parent, self.field, [*value[: self.index], *new, *value[self.index + 1 :]])
            return ast.unparse(_tree(self.file).body[self.number])
        finally:
            setattr(self.parent, self.field, value)


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


_DEFINED = re.compile(r"^[ ]*(?:(?:async[ ]+)?def|class)[ ]+(\w+)|^(\w+)(?=[ ]*[:=])", re.MULTILINE)


@cache
def _index() -> dict[str, list[str]]:
    """Files by the names that they define, of classes, functions and constants."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in {function or constant for function, constant in _DEFINED.findall(path.read_text())}:
            found.setdefault(name, []).append(path.relative_to(SOURCE).as_posix())
    return found


def _defining(name: str) -> list[str]:
    return _index().get(name, [])


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text())


def _matches(file: str, wanted: Anchored) -> Iterator[_Match]:
    """The nodes of a file that a fault names, in the order in which they stand."""
    statement = _parsed(wanted.before)
    keyword = _keyword(statement)
    sought: list[ast.AST] = [statement.value if isinstance(statement, ast.Expr) else statement]
    sought += [keyword] if keyword else []
    texts = {type(each): ast.unparse(each) for each in sought}
    for number, top in enumerate(_tree(file).body):
        for definition in _definitions(ast.Module(body=[top], type_ignores=[]), wanted.where.split(".")):
            for node, parent, field, index in _inside(definition):
                if type(node) in texts and ast.unparse(node) == texts[type(node)]:
                    yield _Match(file=file, number=number, node=node, parent=parent, field=field, index=index)


def _inside(parent: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, str, int | None]]:
    """Statements, expressions and keyword arguments with where they hang, parents first, in the order of the text."""
    for field, value in ast.iter_fields(parent):
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.stmt | ast.expr | ast.keyword):
                yield child, parent, field, index
            if isinstance(child, ast.AST):
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
                yield node
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node, names)


def _new(node: ast.AST, after: str) -> list[ast.AST]:
    """What takes the place of a node; nothing in that of a statement or of a keyword argument removes it."""
    if isinstance(node, ast.keyword):
        changed = _keyword(_parsed(after)) if after else None
        if after and changed is None:
            raise ValueError(f"no keyword argument: {after!r}")
        return [changed] if changed else []
    if isinstance(node, ast.expr):
        statement = _parsed(after)
        if not isinstance(statement, ast.Expr):
            raise ValueError(f"no expression: {after!r}")
        return [statement.value]
    return list(ast.parse(after).body) or [ast.Pass()]


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


def room_tests(patterns: tuple[str, ...], root: Path) -> list[str]:
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
