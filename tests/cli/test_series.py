"""`dpqr series`: releases in a row, from a shell."""

from __future__ import annotations

import pytest
from support.command_desk import QUERIES, TABLE, Desk

PAIR = "marginal(sex,age)"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Two releases of one table, in the directories "one" and "two" of a desk."""
    with pytest.MonkeyPatch.context() as patch:
        made = Desk(tmp_path_factory.mktemp("desk"))
        patch.chdir(made.path)
        made.write(table__csv=TABLE, q__json=QUERIES)
        for name in ("one", "two"):
            assert made.release("--out", name).code == 0
        yield made


def test_a_table_on_the_screen_and_files(released):
    ended = released.run("series", "one", "two", "--query", PAIR, "--out", "new.csv")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{PAIR}: 10 answers\ncells")
    header, *lines = (released.path / "new.csv").read_text().splitlines()
    assert header == ('"query","point","sex","age","detail","estimate","error","lower","upper","change","change_error"')
    assert len(lines) == 20


def test_json_and_curves(released):
    ended = released.run("series", "one", "two", "--json")
    assert ended.json["points"] == ["one", "two"]
    assert {one["point"] for one in ended.json["answers"]} == {"one", "two"}
    assert "two" in released.run("series", "one", "two", "--as", "curve").out


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("one",), 2),
        (("one", "nowhere"), 2),
        (("one", "two", "--query", "nothing"), 2),
        (("one", "two", "--out", "new.txt"), 2),
        (("one", "two", "--out", "q.json"), 8),
    ],
)
def test_refusals(released, given, code):
    ended = released.run("series", *given)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("dpqr: ")
    assert len(ended.err.splitlines()) <= 2
