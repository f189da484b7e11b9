"""Sections of docstrings have one form and one order."""

import ast
import re

from architecture import parsed, product

SECTIONS = ("Attributes", "Args", "Returns", "Yields", "Raises", "Privacy", "References")
INLINE = re.compile(r"^(\*\*)?(Args|Returns|Raises|Privacy|References)(:|\.|\*\*).*\S", re.MULTILINE)
"""A section that does not stand on lines of its own: "Raises: UsageFault ..." or "**Privacy.** ..."."""
UNASKED = ("tables", "ledger", "releases", "sessions", "published", "report", "cli")
"""Rooms that still write sections in one line."""


def docstrings(source: str) -> list[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in parsed(source) if isinstance(node, documented)]


def headings(text: str) -> list[str]:
    return [line[:-1] for line in text.splitlines() if line[:-1] in SECTIONS and line.endswith(":")]


def test_sections_stand_in_order():
    for path, source in product().items():
        for text in docstrings(source):
            assert headings(text) == sorted(set(headings(text)), key=SECTIONS.index), (path, text)
            if path.partition("/")[0] not in UNASKED:
                assert INLINE.search(text) is None, (path, text)


def test_sections_out_of_order_and_in_one_line_are_seen():
    assert headings("One.\n\nRaises:\n    Fault.\n\nArgs:\n    x: y.") == ["Raises", "Args"]
    assert INLINE.search("One.\n\n**Privacy.** None.")
    assert INLINE.search("One.\nRaises: Fault.")
    assert INLINE.search("One.\n\nPrivacy:\n    None.") is None
