"""Text of codebooks that are JSON or YAML."""

from __future__ import annotations

import pytest

from dpqr.errors import DocumentError
from dpqr.io.codebooks.trees import parse_tree


def test_json_and_yaml():
    assert parse_tree(b' {"a": 1}', "d") == {"a": 1}
    assert parse_tree("\ufeffa: [1, x]".encode(), "d") == {"a": [1, "x"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a: [1,\nb: SECRET", "neither JSON nor YAML at line 3"),
        (b"a: &x [1]\nb: *x", "has aliases"),
        (b"a: !!python/object/apply:os.system [SECRET]", "neither JSON nor YAML"),
        (b"\xff\xfe\xff", "neither JSON nor YAML"),
        (b"a: 2020-99-99", "neither JSON nor YAML"),
        (b'{"a": SECRET}', "not JSON at line 1"),
        (b"[" * 100_000, "nested|ends too early"),
        (b"a: " + b"[" * 100_000 + b"]" * 100_000, "nested deeper"),
    ],
)
def test_what_is_neither_is_refused_without_a_word_of_it(text, said):
    with pytest.raises(DocumentError, match=said) as refused:
        parse_tree(text, "d")
    assert "SECRET" not in str(refused.value)
