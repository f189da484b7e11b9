"""Obvious fixes in files: what changes, what stays to the byte, and what is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.cases import in_one_test

from dpqr.domain.text.documents import write_fixes
from dpqr.kernel.errors import Fault, Fix, UsageFault
from dpqr.releases.documents import fix_documents
from dpqr.workload.queries_file import read_queries


def fixed(tmp_path: Path, text: str, *fixes: Fix) -> tuple[str, list[tuple[int, str, str]]]:
    """The text of a file after these fixes, and what was said of them."""
    file = tmp_path / "q.json"
    file.write_bytes(text.encode())
    written = write_fixes([Fault(message="", file=file, fix=fix) for fix in fixes])
    return file.read_bytes().decode(), [(one.line, one.before, one.after) for one in written]


def test_only_the_words_at_fault_change(tmp_path: Path) -> None:
    text = '\ufeff{ "a" :\r\n\t[1,  2 , 3],  "b":{"c": "x"} }\r\n\r\n'
    found, said = fixed(tmp_path, text, Fix(path="$.b.c", text='"\u00e9"'), Fix(path="$.a", text='"z"', key=True))
    assert found == text.replace('"a"', '"z"').replace('"x"', '"\u00e9"')
    assert said == [(1, '"a"', '"z"'), (2, '"x"', '"\u00e9"')]


def test_an_item_goes_with_its_comma_and_what_is_not_there_is_left_alone(tmp_path: Path) -> None:
    for index, left in ((0, "[2,\n 3]"), (1, "[1, 3]"), (2, "[1, 2]")):
        assert fixed(tmp_path, '{"a": [1, 2,\n 3]}', Fix(path=f"$.a[{index}]"))[0] == f'{{"a": {left}}}'
    assert fixed(tmp_path, "[ [1] ]", Fix(path="$[0][0]"))[0] == "[ [] ]"
    found, said = fixed(tmp_path, "[1, 2, 3]", Fix(path="$[1]"), Fix(path="$[2]"))  # the second one waits
    assert (found, len(said)) == ("[1, 3]", 1)
    for text in ("a: 1\nb: 2\n", "{", "", "{}"):
        assert fixed(tmp_path, text, Fix(path="$.a", text="2")) == (text, [])


def test_the_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "q.json"
    target.write_text('{"a": 1}')
    target.chmod(0o640)
    link.symlink_to(target)
    write_fixes([Fault(message="", file=link, fix=Fix(path="$.a", text="2"))])
    assert link.is_symlink()
    assert target.read_text() == '{"a": 2}'
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["q.json", "real.json"]


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpqr.domain.text.documents.os.fsync", full)
    with pytest.raises(UsageFault, match=r"--fix: .*q\.json cannot be written \(No space left on device\)"):
        fixed(tmp_path, '{"a": 1}', Fix(path="$.a", text="2"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"q.json": '{"a": 1}'}


DOMAIN = {
    "malformd": "dropp",
    "fields": [
        {"nmae": "sex", "type": "text", "constraints": {"enum": ["F", "M", "F", "F"]}, "missingValues": "NA"},
        {"name": "Age", "type": "int", "constraints": {"minimum": "0", "maximun": "9"}, "dpqr": {"bins": "5"}},
        {"name": "rooms", "type": "integer", "constraints": {"enum": ["1", "2"]}},
        {"name": "home region", "type": "string", "constraints": {"enum": [1, "b"]}, "dpqr": {"NULL": "cel"}},
    ],
}
ENTRIES = [
    {"margnal": ["age", "Sex"], "weight": "2"},
    {"where": "home region = 'b' and Age <= 9", "by": "sex"},
    {"ranges": "Age", "betwen": [[0, 9]]},
]
SOUND_DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "missingValues": ["NA"]},
        {"name": "Age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"bins": 5}},
        {"name": "rooms", "type": "integer", "constraints": {"enum": [1, 2]}},
        {"name": "home region", "type": "string", "constraints": {"enum": ["1", "b"]}, "dpqr": {"null": "cell"}},
    ],
}
SOUND_ENTRIES = [
    {"marginal": ["Age", "sex"], "weight": 2},
    {"where": "`home region` = 'b' and Age <= 9", "by": ["sex"]},
    {"ranges": "Age", "between": [[0, 9]]},
]


def documents(tmp_path: Path, domain: Any, entries: Any) -> tuple[Path, Path]:
    queries, file = tmp_path / "q.json", tmp_path / "d.json"
    queries.write_text(json.dumps({"domain": "d.json", "queries": entries}, indent=1))
    file.write_text(json.dumps(domain))
    return queries, file


def test_documents_are_fixed_until_nothing_obvious_is_left(tmp_path: Path) -> None:
    queries, domain = documents(tmp_path, DOMAIN, ENTRIES)
    assert len(fix_documents(str(queries), None)) == 24
    assert json.loads(domain.read_text()) == SOUND_DOMAIN
    assert json.loads(queries.read_text())["queries"] == SOUND_ENTRIES
    read_queries(queries)
    assert fix_documents(str(queries), None) == []


@in_one_test(
    ("field", "entry"),
    [
        ({"name": "q1", "type": "boolean"}, {"marginal": ["q2"]}),
        ({"name": "q1", "type": "string", "constraints": {"enum": ["yes"]}}, {"where": "q1 = 'yas'"}),
        ({"name": "q1", "type": "integer", "dpqr": {"edges": [0, 1, 1, 3]}}, {"prefix": "q1"}),
        ({"name": "q1", "type": "integer", "dpqr": {"edges": [0, 3]}}, {"ranges": "q1", "between": [[3, 0]]}),
        ({"name": "q1", "type": "integer", "dpqr": {"edges": [0, 3]}}, {"marginale": ["q1"]}),
        ({"name": "q1", "type": "geopoint"}, {"marginal": []}),
        ({"name": "q1", "type": "number", "constraints": {"minimum": "01", "maximum": 3}}, {"marginal": []}),
        ({"name": "q1", "type": "boolean", "dpqr": {"null": "cell", "nul": "drop"}}, {"marginal": []}),
    ],
)
def test_what_could_mean_something_else_is_left_to_its_writer(field: Any, entry: Any, tmp_path: Path) -> None:
    queries, domain = documents(tmp_path, {"fields": [field]}, [entry])
    before = queries.read_bytes(), domain.read_bytes()
    assert fix_documents(str(queries), None) == []
    assert (queries.read_bytes(), domain.read_bytes()) == before


def test_a_later_version_is_no_misspelling(tmp_path: Path) -> None:
    queries, _ = documents(tmp_path, {"dpqr": "domain/2", **SOUND_DOMAIN}, SOUND_ENTRIES)
    assert fix_documents(str(queries), None) == []
