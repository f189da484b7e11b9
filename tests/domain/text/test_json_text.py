import os
from decimal import Decimal
from pathlib import Path

import pytest

from dpqr.domain.text.documents import parse_json, read_regular_file
from dpqr.domain.text.faults import MAX_DEPTH
from dpqr.kernel.errors import DocumentError, UsageFault


def test_numbers_stay_exact() -> None:
    assert parse_json(b'[0.1, 1e-3, 7, true, null, "\xc3\xa9"]', "d") == [
        Decimal("0.1"),
        Decimal("0.001"),
        7,
        True,
        None,
        "é",
    ]


def test_a_byte_order_mark_is_no_content() -> None:
    assert parse_json(b"\xef\xbb\xbf{}", "d") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a": 1,\n  "b" 2}', "d.json: $: not JSON at line 2 column 7"),
        (b'{"a": [1, 2}', "line 1 column 12"),
        (b"", "d.json: $: the file is empty"),
        (b"  \n", "d.json: $: the file is empty"),
        (b'{"a": "\xff"}', "d.json: $: byte 7 is not UTF-8"),
        (b'{"a": {"b": [0, {"c": 1, "c": 2}]}}', "d.json: $.a.b[1]: the key 'c' stands twice"),
        (b'{"a": 1, "a": 1}', "d.json: $: the key 'a' stands twice"),
        (b'{"a b": [NaN]}', 'd.json: $["a b"][0]: NaN is not a JSON number'),
        (b'{"a": -Infinity}', "d.json: $.a: -Infinity is not a JSON number"),
        (b'{"a": 1e999999999}', "d.json: $.a: a number of more than 60 digits"),
        (b'{"a": 0.' + b"3" * 200 + b"}", "d.json: $.a: a number of more than 60 digits"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "d.json: $.a: a number of more than 60 digits"),
        (b"[" * 100_000, "nested deeper than 32 levels"),
        (b"[" * 40 + b"]" * 40, "nested deeper than 32 levels"),
        (b'{"a": "\\ud800"}', "d.json: $.a: holds half of a surrogate pair"),
        (b'{"\\udc00": 1}', "d.json: $: a key holds half of a surrogate pair"),
        (b"{'a': 1}", "line 1 column 2"),
        (b'{"a": 1} x', "line 1 column 10"),
    ],
)
def test_what_is_no_strict_json_is_refused_with_its_place(text: bytes, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_json(text, "d.json")
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "line 1 column 2: the text ends too early"),
        ("[1,]", "line 1 column 4: a comma too many before ']'"),
        ('{"a": 1 ,\n}', "line 2 column 1: a comma too many before '}'"),
        ("[,]", "line 1 column 3: a comma too many before ']'"),
        ("[1,,2]", "line 1 column 4: expected a value or a key, got ','"),
        ("[1 2]", "line 1 column 4: expected a comma, a colon, a closing bracket or the end, got '2'"),
        ('{"a" 1}', "line 1 column 6: expected a comma, a colon, a closing bracket or the end, got '1'"),
        ("{'a': 1}", 'line 1 column 2: expected a key in double quotes, got "\'"'),
        ('{"a":}', "line 1 column 6: expected a value, got '}'"),
        ("-", "line 1 column 1: expected a value, got '-'"),
        ('{"a": "x', "line 1 column 7: a text that is not closed"),
        ('{"a": "\\', "line 1 column 7: a text that is not closed"),
        ('["a" "b"]', "line 1 column 6: expected a comma, a colon, a closing bracket or the end, got '\"'"),
        ('{"a": "x\ny"}', "line 1 column 9: a control character; write it as an escape"),
        ('{"a": "\\q"}', "line 1 column 8: an escape that JSON does not know"),
        ("\ufeff\ufeff{}", "line 1 column 1: expected a value, got '\\ufeff'"),
    ],
)
def test_the_words_are_ours_and_the_same_under_every_python(text: str, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_json(text.encode(), "d.json")
    assert str(caught.value) == f"d.json: $: not JSON at {expected}; correct it there"


def test_nesting_up_to_the_limit_is_read() -> None:
    assert parse_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "d")


def test_the_first_of_several_faults_is_named() -> None:
    with pytest.raises(DocumentError, match=r"\$\.a\[0\]"):
        parse_json(b'{"a": [NaN, NaN], "b": NaN}', "d")


def test_unreadable_files_are_usage_faults(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="No such file"):
        read_regular_file(tmp_path / "none.json", 9)
    with pytest.raises(UsageFault, match="not a regular file"):
        read_regular_file(tmp_path, 9)
    with pytest.raises(UsageFault, match="cannot name a file"):
        read_regular_file(Path("a\0b"), 9)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageFault, match="not a regular file"):
        read_regular_file(tmp_path / "pipe", 9)


def test_a_file_above_its_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_bytes(b"1234")
    assert read_regular_file(path, 4) == b"1234"
    with pytest.raises(DocumentError, match=r"big\.json: larger than 3 bytes"):
        read_regular_file(path, 3)
