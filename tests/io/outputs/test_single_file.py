import os

import pytest

from dpqr.errors import UsageFault
from dpqr.io.outputs.single_file import reserve_file


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_appears_whole(place):
    reserve_file("a.csv").write(lambda path: path.write_text("1"))
    assert os.listdir(place) == ["a.csv"]
    assert (place / "a.csv").read_text() == "1"


@pytest.mark.parametrize(
    "given", ["", ".", "/", "a\0b", "x/a", "x" * 300, "x" * 5000 + "/a", "pipe", "link", "/dev/full", "room"]
)
def test_what_is_no_place_for_a_file(place, given):
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to("nowhere")
    (place / "room").mkdir()
    before = sorted(os.listdir(place))
    with pytest.raises(UsageFault, match=r"^--out"):
        reserve_file(given)
    assert sorted(os.listdir(place)) == before


def test_a_name_that_is_no_utf_8_is_written_or_refused_before_anything_is_paid(place):
    try:
        target = reserve_file("caf\udce9")
    except UsageFault:
        return
    target.write(lambda path: path.write_text("1"))
    assert os.listdir(place) == ["caf\udce9"]


def test_what_fails_leaves_nothing(place):
    def fail(path):
        path.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        reserve_file("a.csv").write(fail)
    assert os.listdir(place) == []
