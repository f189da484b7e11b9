"""The examples in docstrings are run, and every public noun has one."""

import ast
import doctest
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from architecture import Nodes, parsed, product

SOURCE = Path(__file__).resolve().parents[1] / "dpqr"
MODULES = sorted(
    ".".join(("dpqr", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text()
)
UNASKED = ("tables", "ledger", "releases", "sessions", "published", "report", "cli")
"""Rooms whose examples are the commands of the guide, which `test_readme.py` runs."""
UNSHOWN = {
    *("Ballast", "And", "Location", "Faults", "Sources", "DomainDraft", "Constraints", "Category", "Treatment"),
    *("UnitForm", "FitCache", "OnePoint", "NoisyMoments", "PaidTable"),
}
"""Nouns of the other rooms that nobody makes but the documents' readers and the planners: seen in the guide."""


def _room(path: str) -> str:
    return path.removesuffix(".py").partition("/")[0]


def _made(nodes: Nodes) -> Iterator[str]:
    """Classes and functions of the product that a file calls, or names in a text, as module:name."""
    imported = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        if isinstance(node, ast.Call):
            called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if isinstance(called, ast.Name):
                yield imported.get(called.id, "")


def _examples(nodes: Iterable[ast.AST]) -> str:
    documented = [node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    texts = (ast.get_docstring(node) or "" for node in documented)
    shown = (doctest.DocTestParser().get_examples(text) for text in texts if ">>> " in text)
    return " ".join(example.source + example.want for examples in shown for example in examples)


def nouns(files: Mapping[str, str]) -> dict[str, bool]:
    """Every public class that another room makes, or that others import from dpqr or its extension module, and whether
    its own module shows it."""
    walked = {path: parsed(source) for path, source in files.items()}
    users: dict[str, set[str]] = {}
    for path, nodes in walked.items():
        for name in _made(nodes):
            users.setdefault(name, set()).add(_room(path))
    for door in ("extension.py", "__init__.py"):
        for node in walked.get(door, ()):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                users.setdefault(f"{node.module}:{alias.name}", set()).add(_room(door))
    found = {}
    for path, nodes in walked.items():
        if _room(path) in UNASKED:
            continue
        examples, module = _examples(nodes), nodes[0]
        for node in module.body:
            noun = f"dpqr.{path.removesuffix('.py').replace('/', '.')}:{getattr(node, 'name', '')}"
            if getattr(node, "name", "") in UNSHOWN:
                continue
            if isinstance(node, ast.ClassDef) and users.get(noun, set()) - {_room(path)}:
                bases = " ".join(map(ast.unparse, node.bases))
                if not re.search(r"Protocol|Enum|Exception|Error\b", bases):
                    found[noun] = bool(_examples(ast.walk(node)) or re.search(rf"\b{node.name}\b", examples))
    return found


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_hold(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_every_public_noun_is_shown_in_its_module():
    bare = [noun for noun, shown in nouns(product()).items() if not shown]
    assert bare == [], "give each an example (>>>) in its docstring, or in one of its module's"


def test_a_noun_without_an_example_is_found():
    example = '"""One.\n\n>>> f(Named())\n"""'
    files = {
        "data/a.py": f"{example}\nclass Named: ...\nclass Bare: ...\nclass Own: ...\nOwn()",
        "app/b.py": "from dpqr.data.a import Bare, Named\nNamed()\nBare.of()",
        "extension.py": "from dpqr.data.c import Published",
        "data/c.py": "class Published: ...\nclass Handed: ...",
        "__init__.py": "from dpqr.data.c import Handed",
    }
    bare = dict.fromkeys(("dpqr.data.a:Bare", "dpqr.data.c:Published", "dpqr.data.c:Handed"), False)
    assert nouns(files) == {"dpqr.data.a:Named": True, **bare}
