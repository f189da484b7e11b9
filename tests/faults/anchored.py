"""Faults by definition and statement, so that moving or wrapping lines of the source leaves them in place.

The lists are `planted/*.txt`, one for each subject. A line without indent names a definition (`Counter.node`: a class,
function or constant, wherever it lies); below it stands a fault a line, what is wrong then and what is exchanged:

    Basic.largest
        the filter admits twice the budget: budget.epsilon => 2 * budget.epsilon

or, where that is long, the words with a colon at their end and the exchange in the lines below, further in. What is
sought must be there exactly once in the whole package: an expression, a keyword argument (`name=value`), one statement
or several that follow each other. Both sides are compared as syntax: blanks, quotes and brackets do not count. `...`
stands for what does not matter: for a body, on both sides (`if found: ...` becomes `if False: ...`), and for the
arguments of a call that is sought (`raise TypeError(...)`, whatever it says). Nothing after the arrow removes. With
`~>` in place of `=>` both sides are parts of a text in the source, such as SQL, written as strings.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "dpqr"
LISTS = Path(__file__).parent / "planted"
_ARROW = re.compile(r"\s*(?<![^\s])([=~])>(?!\S)[^\S\n]*\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One wrong line. file: below dpqr/. where: the definition. text: the file's source with the fault in it."""

    file: str
    where: str
    text: str
    words: str

    @property
    def room(self) -> str:
        """The room of the house whose tests must notice."""
        return self.file.partition("/")[0]

    @property
    def line(self) -> str:
        """The first line that is another than in the sound source, as it stands with the fault."""
        pairs = zip((SOURCE / self.file).read_text().splitlines(), self.text.splitlines(), strict=False)
        return next((after.strip() for before, after in pairs if before != after), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """A fault as the lists have it: where, what stands there, and what takes its place. quoted: parts of a text."""

    where: str
    before: str
    after: str
    words: str
    quoted: bool = False

    def fault(self) -> Fault:
        """The fault in today's source. Raises: as `match`; SyntaxError: it is no Python."""
        found = self.match()
        sound, new = getattr(found.parent, found.field), found.new(self)
        wrong = new[0] if found.index is None else [*sound[: found.index], *new, *sound[found.index + len(found.old) :]]
        setattr(found.parent, found.field, wrong)
        try:
            text = ast.unparse(_tree(found.file))
        finally:
            setattr(found.parent, found.field, sound)
        compile(text, found.file, "exec")
        return Fault(file=found.file, where=self.where, text=f"{text}\n", words=self.words)

    def match(self) -> "Match":
        """Where it stands.

        Raises:
            ValueError: the fault does not match there once, or changes nothing. SyntaxError: a side is no Python.
        """
        found = [each for file in _defining(self.where) for each in _matches(file, self)]
        if len(found) != 1:
            raise ValueError(f"{self.where}: {self.before!r} stands there {len(found)} times, not once")
        if _same(found[0].old, found[0].new(self)):
            raise ValueError(f"{self.where}: {self.after!r} changes nothing")
        return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Nodes of a file. old: the nodes, which hang at parent.field, from index on."""

    file: str
    old: list[ast.AST]
    parent: ast.AST
    field: str
    index: int | None

    def new(self, fault: Anchored) -> list[ast.AST]:
        """What takes the place of the nodes."""
        node = self.old[0]
        if fault.quoted:
            assert isinstance(node, ast.Constant)
            assert isinstance(node.value, str)
            return [ast.Constant(node.value.replace(fault.before, fault.after))]
        if isinstance(node, ast.expr):
            return [_expression(fault.after)]
        if isinstance(node, ast.keyword):
            return [_keyword_argument(fault.after)] if fault.after else []
        return _filled(ast.parse(fault.after).body, node) or [ast.Pass()]


def planted() -> list[Anchored]:
    """Every fault of the lists."""
    return [fault for name in subjects() for fault in planted_of(name)]


def subjects() -> list[str]:
    """The names of the lists."""
    return sorted(path.stem for path in LISTS.glob("*.txt"))


def planted_of(subject: str) -> list[Anchored]:
    """Every fault of one list."""
    return [anchored(*each) for each in entries(LISTS / f"{subject}.txt")]


def entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """Definition, words and the text after them of each entry of a list; lines that begin with # are left out."""
    where, words, text = "", "", []
    for line in [*path.read_text().splitlines(), "."]:
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" " * 8):
            text.append(line[8:])
            continue
        if words:
            yield where, words, "\n".join(text)
            words = ""
        if line.startswith("    "):
            words, _, first = line.strip().partition(": " if ": " in line else ":")
            text = [first] if first else []
        else:
            where = line


def anchored(where: str, words: str, exchange: str) -> Anchored:
    """A fault of a list. ValueError: its exchange has no arrow, or several."""
    parts = _ARROW.split(exchange)
    if len(parts) != 3:
        raise ValueError(f"{where}: {words}: one arrow is wanted in {exchange!r}")
    before, arrow, after = parts
    if arrow == "~":
        before, after = (ast.literal_eval(side) for side in (before, after or "''"))
    return Anchored(where=where, before=before, after=after, words=words, quoted=arrow == "~")


_DEFINED = re.compile(r"^[ ]*(?:(?:async[ ]+)?def|class)[ ]+(\w+)|^(\w+)(?=(?:,[ ]*\w+)*[ ]*[:=])", re.MULTILINE)


@cache
def _index() -> dict[str, list[str]]:
    """Files by the names that they define, of classes, functions and constants."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in {function or constant for function, constant in _DEFINED.findall(path.read_text())}:
            found.setdefault(name, []).append(path.relative_to(SOURCE).as_posix())
    return found


def _defining(where: str) -> list[str]:
    return _index().get(where.rpartition(".")[2], [])


def is_defined(where: str) -> bool:
    """Whether any file defines this qualified name."""
    return any(_definitions_in(file, where) for file in _defining(where))


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text())


@cache
def _definitions_in(file: str, where: str) -> tuple[ast.AST, ...]:
    return tuple(_definitions(_tree(file), where.split(".")))


def _matches(file: str, wanted: Anchored) -> Iterator[Match]:
    """What a fault names in a file, in the order in which it stands there."""
    for definition in _definitions_in(file, wanted.where):
        for old, parent, field, index in _found(definition, wanted):
            yield Match(file=file, old=old, parent=parent, field=field, index=index)


def _found(definition: ast.AST, wanted: Anchored) -> Iterator[tuple[list[ast.AST], ast.AST, str, int | None]]:
    if wanted.quoted:
        for node, parent, field, index in _inside(definition):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for _ in range(node.value.count(wanted.before)):
                    yield [node], parent, field, index
        return
    statements = ast.parse(wanted.before).body
    if not statements:
        raise ValueError(f"{wanted.where}: nothing is sought")
    keyword = _keyword(statements)
    removed = not isinstance(statements[0], ast.Expr) or _is_statement(wanted.after)
    alone = statements[0].value if isinstance(statements[0], ast.Expr) and len(statements) == 1 else None
    for node, parent, field, index in _inside(definition):
        if isinstance(node, ast.stmt) and index is not None and (alone is None or removed):
            run = getattr(parent, field)[index : index + len(statements)]
            if len(run) == len(statements) and all(map(_stands, statements, run)):
                yield run, parent, field, index
        elif alone is not None and not removed and isinstance(node, ast.expr) and _same(alone, node):
            yield [node], parent, field, index
        if keyword is not None and isinstance(node, ast.keyword) and _same(keyword, node):
            yield [node], parent, field, index


def _is_statement(text: str) -> bool:
    """Whether a text can stand for a statement alone: nothing, several, or one that is no expression."""
    body = ast.parse(text).body
    return len(body) != 1 or not isinstance(body[0], ast.Expr)


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
            if len(names) == 1 and any(names[0] in _constants(each) for each in targets):
                yield node
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node, names)


def _constants(target: ast.expr) -> list[str]:
    """Names that an assignment gives: one, or several at once."""
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


_UNSEEN = ("ctx", "kind", "type_comment")
"""Fields of a node that the text of the source does not show."""
_BODIES = ("body", "orelse", "handlers", "finalbody")


def _same(one: object, other: object) -> bool:
    """Whether two nodes, or lists of nodes, are written alike; `one` may be a call of `...`."""
    if isinstance(one, ast.Call) and isinstance(other, ast.Call) and _is_any_call(one):
        return _same(one.func, other.func)
    if isinstance(one, ast.AST):
        fields = [field for field in one._fields if field not in _UNSEEN]
        return type(one) is type(other) and all(
            _same(getattr(one, each, None), getattr(other, each, None)) for each in fields
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def _stands(pattern: ast.stmt, node: ast.stmt) -> bool:
    """Whether a statement is as the pattern; of one with a body of `...` its head alone counts."""
    if not _has_any_body(pattern):
        return _same(pattern, node)
    fields = [field for field in pattern._fields if field not in (*_UNSEEN, *_BODIES)]
    return type(pattern) is type(node) and all(_same(getattr(pattern, each), getattr(node, each)) for each in fields)


def _has_any_body(statement: ast.AST) -> bool:
    body = getattr(statement, "body", None)
    return isinstance(body, list) and len(body) == 1 and _is_any(body[0])


def _is_any_call(call: ast.Call) -> bool:
    return len(call.args) == 1 and not call.keywords and _same(call.args[0], ast.Constant(...))


def _is_any(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and _same(statement.value, ast.Constant(...))


def _filled(statements: Sequence[ast.stmt], old: ast.AST) -> list[ast.AST]:
    """The statements with the body of the old one in the place of `...`; one of its kind keeps its other branches."""
    found: list[ast.AST] = []
    for each in statements:
        if _is_any(each):
            found += getattr(old, "body", [])
            continue
        if _has_any_body(each):
            bodies = _BODIES if type(each) is type(old) else ("body",)
            for field in bodies:
                if hasattr(each, field):
                    setattr(each, field, getattr(old, field, []))
        found.append(each)
    return found


def _expression(text: str) -> ast.expr:
    body = ast.parse(text).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ValueError(f"no expression: {text!r}")
    return body[0].value


def _keyword_argument(text: str) -> ast.keyword:
    found = _keyword(ast.parse(text).body)
    if found is None:
        raise ValueError(f"no keyword argument: {text!r}")
    return found


def _keyword(statements: Sequence[ast.stmt]) -> ast.keyword | None:
    """`name=value`, as it stands in a call."""
    first = statements[0] if len(statements) == 1 else None
    if isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name):
        return ast.keyword(arg=first.targets[0].id, value=first.value)
    return None


def definition_of(file: str, text: str) -> str:
    """The qualified name of the innermost definition that the first wrong line of a file lies in; "" for none."""
    lines = zip((SOURCE / file).read_text().splitlines(), text.splitlines(), strict=False)
    line = next((number for number, (sound, wrong) in enumerate(lines, 1) if sound != wrong), 0)
    body: Sequence[ast.stmt] = ast.parse(text).body
    names: list[str] = []
    while node := next((each for each in body if each.lineno <= line <= (each.end_lineno or 0)), None):
        names += _own_names(node)
        body = node.body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else ()
    return ".".join(names)


def _own_names(node: ast.stmt) -> list[str]:
    """The name that a statement defines: of a class, a function, or the first of its constants."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return _constants(node.targets[0])[:1]
    return []
