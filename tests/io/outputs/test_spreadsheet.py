import pytest

from dpqr.io.outputs.spreadsheet import inert


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
