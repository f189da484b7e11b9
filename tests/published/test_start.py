"""--start: a release starts from the tables of an earlier one, says so, and can be made again."""

import json
import shutil

import pytest
from support.command_desk import QUERIES, TABLE, Desk
from support.refusal_form import assert_refusal

CERTAIN = "100"
MARGINALS = ("--schedule", "marginals")
ASKED = {**QUERIES, "queries": [{"marginals": [["sex", "age"], ["sex", "income"]]}]}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A release that others may start from."""
    desk = Desk(tmp_path_factory.mktemp("earlier"))
    desk.write(table__csv=TABLE * 50, q__json=ASKED)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk.path)
        assert desk.release(*MARGINALS, "--out", "one", eps=CERTAIN).code == 0
    return desk.path / "one"


@pytest.fixture
def desk(tmp_path, monkeypatch, earlier):
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE * 50, q__json=ASKED)
    shutil.copytree(earlier, tmp_path / "one")
    return made


def record(place):
    return json.loads((place / "release.json").read_text())


@pytest.mark.slow
def test_the_release_says_what_it_started_from_and_verifies(desk):
    """Another start is another request; a chain goes on, and starts cost nothing; a changed start file is found."""
    start = (*MARGINALS, "--start", "one", "--out", "two")
    assert desk.release(*start, eps=CERTAIN).code == 0
    found, first = record(desk.path / "two"), record(desk.path / "one")
    name = found["plan"]["request"]["options"]["start"]
    assert found["hashes"][name] == name.removesuffix(".json")
    assert json.loads((desk.path / "two" / name).read_text())["release"] == first["sha256"]
    assert any(first["sha256"][:12] in note for note in found["plan"]["notes"])
    assert desk.run("verify", "two").code == 0
    skip = ("--if-exists", "skip")
    assert desk.release(*start, *skip, eps=CERTAIN).code == 0
    assert_refusal(desk.release(*MARGINALS, "--out", "two", *skip, eps=CERTAIN), 8, "a release of another request")
    assert desk.release(*MARGINALS, "--start", "two", "--out", "three", eps=CERTAIN).code == 0
    assert record(desk.path / "three")["spent"] == first["spent"]
    place = desk.path / "two" / name
    place.write_text(place.read_text().replace("1", "2"))
    ended = desk.run("verify", "two")
    assert (ended.code, name in ended.out) == (6, True)


@pytest.mark.slow
def test_a_reviewed_plan_holds_the_start(desk):
    stated = ("--queries", "q.json", "--eps", "1", *MARGINALS, "--start", "one")
    assert desk.run("plan", *stated, "--out", "p.json").code == 0
    assert desk.run("release", "table.csv", "--plan", "p.json", "--out", "two").code == 0
    assert desk.run("verify", "two", "--plan", "p.json").code == 0


@pytest.mark.slow
def test_a_release_of_another_domain_is_refused(desk):
    sex, age, income = QUERIES["domain"]["fields"]
    desk.write(q__json={**ASKED, "domain": {"fields": [sex, {**age, "title": "years"}, income]}})
    ended = desk.release(*MARGINALS, "--start", "one", "--out", "two")
    assert_refusal(ended, 3, "another domain (column 'age' differs)")


def test_what_is_no_sound_release_is_refused(desk):
    """Nor a start for a schedule that fits no model."""
    unfitted = desk.release("--schedule", "strategy", "--start", "one", "--out", "two")
    assert_refusal(unfitted, 2, "add --schedule marginals")
    assert_refusal(desk.release(*MARGINALS, "--start", "nowhere", "--out", "two"), 2, "is no release")
    assert desk.release(*MARGINALS, "--rehearse", "--out", "tried").code == 0
    assert_refusal(desk.release(*MARGINALS, "--start", "tried", "--out", "two"), 2, "is a rehearsal")
    text = (desk.path / "one" / "answers.csv").read_text()
    (desk.path / "one" / "answers.csv").write_text(text.replace("1", "2"))
    assert desk.release(*MARGINALS, "--start", "one", "--out", "two").code != 0
    assert not (desk.path / "two").exists()
