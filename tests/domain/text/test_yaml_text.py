"""The JSON text of a YAML document has every part on its own line; what is refused stands in test_document_text."""

from __future__ import annotations

import json

import pytest

from dpqr.domain.domain_file import read_domain
from dpqr.domain.text.documents import write_fixes
from dpqr.domain.text.faults import NoYaml, line_of, spans, yaml_as_json
from dpqr.kernel.errors import DocumentError, UsageFault

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


@pytest.mark.parametrize(("name", "line"), [("d.yml", 3), ("d.toml", None)])
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
