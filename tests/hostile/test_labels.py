"""Labels, column names and query names that a spreadsheet would run: no cell of a CSV file starts a formula."""

import csv
import json

import pytest
from support.cases import thinned

RUN = ("=cmd|'/c calc'!A0", "+1+cmd", "-2+3+cmd", "@SUM(A1)", "\t=1", "'=1", "\uff1d1", '=HYPERLINK("x","y")')
STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def document(name):
    field = {"name": name, "type": "string", "constraints": {"enum": ["F", *RUN]}, "dpqr": {"otherwise": "drop"}}
    return {"domain": {"fields": [field]}, "queries": [{"name": "=1+1", "marginal": [name]}]}


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", thinned(["sex", "=sex", "@sex", "-sex"], 4))
def test_no_cell_starts_a_formula(desk, name):
    desk.write(q__json=document(name), table__csv=f"{name}\nF\n=1\n")
    assert desk.release("--out", "out").code == 0
    with (desk.path / "out" / "answers.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert [cell for cell in cells if cell.startswith(STARTS) and not is_number(cell)] == []
    for label in RUN:
        assert "'" + label in cells, "an apostrophe, and the label whole behind it"


def test_other_forms_hold_the_labels_as_they_are(desk):
    desk.write(q__json=document("sex"))
    assert desk.release("--out", "out", "--format", "json").code == 0
    answers = json.loads((desk.path / "out" / "answers.json").read_bytes())
    assert [answer["sex"] for answer in answers] == ["F", *RUN]
