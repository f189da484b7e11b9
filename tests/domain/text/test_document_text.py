"""YAML and TOML documents are the JSON documents that they stand for, as strict, and refused at the same places."""

import json
from decimal import Decimal

import pytest

from dpqr.domain.domain_file import domain_text, read_domain
from dpqr.domain.text.documents import read_document
from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import read_queries

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


@pytest.mark.parametrize(("name", "text"), [("d.yaml", YAML), ("d.YML", YAML), ("d.toml", TOML)])
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
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
    ],
)
def test_yaml_that_is_refused(tmp_path, text, says) -> None:
    with pytest.raises(DocumentError) as refused:
        read(tmp_path, "d.yaml", text)
    assert str(refused.value).startswith("d.yaml: $")
    assert says in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("text", "says"),
    [
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
    ],
)
def test_toml_that_is_refused(tmp_path, text, says) -> None:
    with pytest.raises(DocumentError) as refused:
        read(tmp_path, "d.toml", text)
    assert str(refused.value).startswith("d.toml: $")
    assert says in str(refused.value)
    assert len(str(refused.value)) < 300


def test_long_lines_of_toml_are_searched_in_their_length(tmp_path) -> None:
    for text in ("a" * 10**6, '"' * 10**6, '\\"' * 10**5, "'a" * 10**5, "a " * 10**5, "- . " * 10**5):
        with pytest.raises(DocumentError):
            read(tmp_path, "d.toml", text)
    assert len(read(tmp_path, "d.toml", f"a = [{'0.25, ' * 1000}]\nb.c.d = 1")["a"]) == 1000
