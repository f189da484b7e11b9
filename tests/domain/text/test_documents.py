from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
from support.cases import in_one_test

from dpqr.domain.domain_file import domain_text, read_domain
from dpqr.domain.text.documents import parse_json, read_document, read_regular_file, write_fixes
from dpqr.domain.text.faults import MAX_DEPTH, NoYaml, line_of, spans, yaml_as_json
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.workload.queries_file import read_queries


def test_numbers_stay_exact_and_nesting_is_read_up_to_its_limit() -> None:
    text, value = b'[0.1, 1e-3, 7, true, null, "\xc3\xa9"]', [Decimal("0.1"), Decimal("0.001"), 7, True, None, "é"]
    assert parse_json(text, "d") == value
    assert parse_json(b"\xef\xbb\xbf{}", "d") == {}  # a byte order mark is no content
    assert parse_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "d")
    with pytest.raises(DocumentError, match=r"\$\.a\[0\]"):  # the first of several faults
        parse_json(b'{"a": [NaN, NaN], "b": NaN}', "d")


@in_one_test(
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


@in_one_test(
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


def test_unreadable_files_are_usage_faults(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, said in (
        (tmp_path / "none.json", "No such file"),
        (tmp_path, "not a regular file"),
        (tmp_path / "pipe", "not a regular file"),
        (Path("a\0b"), "cannot name a file"),
    ):
        with pytest.raises(UsageFault, match=said):
            read_regular_file(path, 9)
    (tmp_path / "big.json").write_bytes(b"1234")
    assert read_regular_file(tmp_path / "big.json", 4) == b"1234"
    with pytest.raises(DocumentError, match=r"big\.json: larger than 3 bytes"):
        read_regular_file(tmp_path / "big.json", 3)


# The JSON text of a YAML document has every part on its own line; what is refused stands below.

TEXT = """\
# a comment
a: 1

b:
  - x   # another
  -
    c: >
      folded
      text
    d: "two
      lines"
  - {e: [1,
         2], f: ~}
? g
: h
"""


def test_every_part_keeps_its_line() -> None:
    text = yaml_as_json(TEXT)
    assert json.loads(text)["b"][1] == {"c": "folded text\n", "d": "two lines"}
    found = {path: line_of(text, span.start) for path, span in spans(text)}
    inner = {"$.b[0]": 5, "$.b[1]": 7, "$.b[1].c": 7, "$.b[1].d": 10, "$.b[2]": 12, "$.b[2].e": 12, "$.b[2].e[1]": 13}
    assert found == {"$": 2, "$.a": 2, "$.b": 4, **inner, "$.b[2].e[0]": 12, "$.b[2].f": 13, "$.g": 14}


def test_what_json_has_not_is_refused() -> None:
    with pytest.raises(NoYaml, match="line 2: anchors and aliases"):
        yaml_as_json("a: 1\nb: &x 2\n")


@in_one_test(("name", "line"), [("d.yml", 3), ("d.toml", None)])
def test_a_fault_has_its_line_and_is_fixed_by_hand(tmp_path, name, line) -> None:
    """TOML has paths alone."""
    made = {"d.yml": "fields:\n- name: a\n  type: bool\n", "d.toml": "[[fields]]\nname = 'a'\ntype = 'bool'\n"}
    (tmp_path / name).write_text(made[name])
    with pytest.raises(DocumentError) as refused:
        read_domain(tmp_path / name)
    first = refused.value.faults[0]
    assert (first.path, first.line, first.by_hand, first.fix is not None) == ("$.fields[0].type", line, True, True)
    with pytest.raises(UsageFault, match="fixes are written into JSON files only; correct it by hand"):
        write_fixes(refused.value.faults)
    assert (tmp_path / name).read_text() == made[name]


# YAML and TOML documents are the JSON documents that they stand for, as strict, and refused at the same places.

DOMAIN = {
    "fields": [
        {"name": "no", "type": "string", "constraints": {"enum": ["yes", "no", "007", "1e"]}, "dpqr": {"null": "cell"}},
        {"name": "pay", "type": "number", "dpqr": {"edges": [0, 0.1, 30]}},
        {"name": "day", "type": "date", "dpqr": {"edges": ["2024-01-31", "2025-01-01"]}},
    ],
    "missingValues": ["", "NA"],
}
YAML = """
# what is known
fields:
  - name: no
    type: string
    constraints: {enum: [yes, no, 007, 1e]}
    dpqr:
      "null": cell
  - {name: pay, type: number, dpqr: {edges: [0, 0.1, 3e1]}}
  - name: day
    type: date
    dpqr: {edges: [2024-01-31, "2025-01-01"]}
missingValues: ["", NA]
"""
TOML = """
missingValues = ["", "NA"]
[[fields]]
name = "no"
type = "string"
constraints.enum = ["yes", "no", "007", "1e"]
dpqr.null = "cell"
[[fields]]
name = "pay"
type = "number"
dpqr = {edges = [0, 0.1, +3_0.0]}
[[fields]]
name = "day"
type = "date"
[fields.dpqr]
edges = [2024-01-31, "2025-01-01"]
"""


@in_one_test(("name", "text"), [("d.yaml", YAML), ("d.YML", YAML), ("d.toml", TOML)])
def test_the_same_domain_in_every_language(tmp_path, name, text) -> None:
    (tmp_path / name).write_text(text)
    assert read_domain(tmp_path / name) == read_domain(DOMAIN)
    assert read_domain(json.loads(domain_text(str(tmp_path / name)), parse_float=Decimal)) == read_domain(DOMAIN)


def test_json_is_what_any_other_file_holds(tmp_path) -> None:
    (tmp_path / "d.txt").write_text("\ufeff" + json.dumps(DOMAIN), encoding="utf-8")
    assert read_domain(tmp_path / "d.txt") == read_domain(DOMAIN)
    assert json.loads(domain_text(str(tmp_path / "d.txt"))) == DOMAIN


def test_queries_in_yaml_name_a_domain_in_toml(tmp_path) -> None:
    (tmp_path / "d.toml").write_text(TOML)
    (tmp_path / "q.yml").write_text("domain: d.toml\nqueries:\n- marginal: [pay, no]\n- {where: pay < 0.1, by: [no]}")
    assert read_queries(tmp_path / "q.yml").workload.rows == 2 * 5 + 5
    (tmp_path / "q.yml").write_text("domain: d.toml\nqueries:\n- marginal: [pay, dya]\n")
    with pytest.raises(DocumentError, match=r"^q\.yml: \$\.queries\[0\]\.marginal\[1\]: .*did you mean 'day'"):
        read_queries(tmp_path / "q.yml")


def read(tmp_path, name: str, text: str | bytes):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(tmp_path / name)


@in_one_test(
    ("text", "value"),
    [
        ("a: [null, ~, '~', , ]", None),
        ("", None),
        ("a:\nb: ~\nc: null\nd: Null", {"a": None, "b": None, "c": None, "d": "Null"}),
        ("[true, True, yes, on, off, n]", [True, "True", "yes", "on", "off", "n"]),
        ("[1, -0, 01, 0x1f, 0o7, 1_000, +1, 1:30]", [1, 0, "01", "0x1f", "0o7", "1_000", "+1", "1:30"]),
        ("[0.10, 1e-3, 1., .5, .inf, .nan]", [Decimal("0.10"), Decimal("0.001"), "1.", ".5", ".inf", ".nan"]),
        ("['1', \"\\u00e9\\n\", >-\n a]", None),
        ("1: x\nnull: y\n[1]: z", None),
        ("1: x\nnull: y\n2024-01-31: z", {"1": "x", "null": "y", "2024-01-31": "z"}),
        ("t: |\n  a\n  b\n", {"t": "a\nb\n"}),
        ("- - 1\n  - 2\n- {}\n- []\n- {a: {b: []}}", [[1, 2], {}, [], {"a": {"b": []}}]),
        ("--- 5\n...\n", 5),
    ],
)
def test_scalars_of_yaml_are_those_of_json(tmp_path, text, value) -> None:
    if value is None:
        with pytest.raises(DocumentError):
            read(tmp_path, "d.yaml", text)
    else:
        assert read(tmp_path, "d.yaml", text) == value


NO_YAML = [
    ("a: b: c", "not YAML at line 1 column 5: mapping values are not allowed"),
    ("a: [1\nb: 2", "not YAML at line 2"),
    ("a: \x07", "not YAML: a character that YAML does not allow"),
    ("a: 1\nb: 2\na: 3", "the key 'a' stands twice"),
    ("a: &x [1]\nb: *x", "line 1: anchors and aliases"),
    ("a: *x", "line 1: anchors and aliases"),
    ("<<: {a: 1}\n<<: {b: 1}", "the key '<<' stands twice"),
    ("a: !!python/object/apply:os.system [ls]", "line 1: tags"),
    ("a: !!float 1", "line 1: tags"),
    ("? [1, 2]\n: 3", "line 1: a key is a list or an object"),
    ("a: 1\n---\nb: 1", "line 2: a second document begins here"),
    ("[" * 10**6, "line 1: nested deeper than 32 levels"),
    ("- " * 10**5, "line 1: nested deeper than 32 levels"),
    ("a: " + "9" * 100, "more than 60 digits"),
    ("a: 1e-999999", "more than 60 digits"),
    ('a: "\\0"', "null character"),
    ('a: "\\ud800"', "not YAML at line 1 column 7: found invalid Unicode"),
    (b"a: \xff", "byte 3 is not UTF-8"),
    ("# nothing", "the file is empty"),
]
NO_TOML = [
    ("a = ", "not TOML: Invalid value (at end of document); correct it there"),
    ("a = 1\na = 2", "not TOML: Cannot overwrite a value (at end of document)"),
    ("a = nan", "NaN is not a JSON number"),
    ("a = -inf", "-Infinity is not a JSON number"),
    ("a = " + "[" * 10**5, "nested deeper than 32 levels"),
    ("a = " + "{a=" * 10**5, "nested deeper than 32 levels"),
    ("a." * 10**6 + "a = 1", "nested deeper than 32 levels"),
    ("[" + '"=" . ' * 10**5 + "a]", "nested deeper than 32 levels"),
    ("a." * 32 + "a = 1", "nested deeper than 32 levels"),
    ("a = " + "9" * 100, "more than 60 digits"),
    ("a = " + "9" * 10**5, "more than 60 digits"),
    ("a = 0x" + "f" * 10**5, "more than 60 digits"),
    ("a = 1e-999999", "more than 60 digits"),
    ('a = "\\u0000"', "null character"),
    (b"a = \xff", "byte 4 is not UTF-8"),
]


@in_one_test(
    ("name", "text", "says"),
    [*(("d.yaml", *case) for case in NO_YAML), *(("d.toml", *case) for case in NO_TOML)],
)
def test_yaml_and_toml_that_is_refused(tmp_path, name, text, says) -> None:
    with pytest.raises(DocumentError) as refused:
        read(tmp_path, name, text)
    assert str(refused.value).startswith(f"{name}: $")
    assert says in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.slow
def test_long_lines_of_toml_are_searched_in_their_length(tmp_path) -> None:
    for text in ("a" * 10**6, '"' * 10**6, '\\"' * 10**5, "'a" * 10**5, "a " * 10**5, "- . " * 10**5):
        with pytest.raises(DocumentError):
            read(tmp_path, "d.toml", text)
    assert len(read(tmp_path, "d.toml", f"a = [{'0.25, ' * 1000}]\nb.c.d = 1")["a"]) == 1000
