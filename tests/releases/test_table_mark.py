"""The mark of a table: the same for the same bytes under the same key, and of no use without the key."""

from types import SimpleNamespace

import pytest

from dpqr.kernel.errors import DataError
from dpqr.releases.journal import CHUNK, table_mark
from dpqr.tables.source import TableSource

KEY, OTHER = bytes(32), bytes([1]) * 32


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    return TableSource(paths=(str(tmp_path / "a.csv"), str(tmp_path / "b.csv")))


def test_the_same_table_has_the_same_mark(source):
    assert table_mark(source, KEY) == table_mark(source, KEY)
    assert len(table_mark(source, KEY)) == 64


def test_keys_tell_nothing_of_each_other(source):
    assert table_mark(source, KEY) != table_mark(source, OTHER)


def test_every_byte_counts_and_every_file(source, tmp_path):
    marks = {table_mark(source, KEY)}
    (tmp_path / "b.csv").write_text("x\n3\n")
    marks.add(table_mark(source, KEY))
    (tmp_path / "a.csv").write_text("x\n1\nx")
    (tmp_path / "b.csv").write_text("\n2\n")
    marks.add(table_mark(source, KEY))
    marks.add(table_mark(TableSource(paths=source.paths[:1]), KEY))
    assert len(marks) == 4


def test_how_it_is_read_counts(source):
    for more in ({"delimiter": ";"}, {"encoding": "cp1252"}, {"count_column": "x"}):
        assert table_mark(TableSource(paths=source.paths, **more), KEY) != table_mark(source, KEY)


def test_files_that_an_engine_reads_count_by_name_and_by_content(source, tmp_path):
    def mark(name):
        engine = SimpleNamespace(
            name="made", public="made", kind="made", names=("x",), files=lambda: [str(tmp_path / name)]
        )
        return table_mark(TableSource(paths=(), engine=engine), KEY)

    before = mark("a.csv")
    (tmp_path / "b.csv").write_text("x\n1\n")
    assert before == mark("a.csv") != mark("b.csv")
    (tmp_path / "a.csv").write_text("x\n9\n")
    assert mark("a.csv") != before


def test_large_files_are_read_in_pieces(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n" + b"1\n" * 5000)
    source = TableSource(paths=(str(path),))
    whole = table_mark(source, KEY)
    monkeypatch.setattr("dpqr.releases.journal.CHUNK", 7)
    assert table_mark(source, KEY) == whole


def test_standard_input_has_none():
    assert table_mark(TableSource(paths=("-",)), KEY) is None


def test_a_table_that_cannot_be_read(source, monkeypatch):
    def fail(path):
        raise OSError(5, "PRIVATEVALUE")

    monkeypatch.setattr("dpqr.releases.journal._file_digest", fail)
    with pytest.raises(DataError, match="cannot be read") as caught:
        table_mark(source, KEY)
    assert "PRIVATEVALUE" not in str(caught.value)


def test_a_byte_beyond_the_first_piece_counts(tmp_path):
    path = tmp_path / "a.csv"
    marks = set()
    for last in (b"1", b"2"):
        path.write_bytes(b"x\n" + b"0" * CHUNK + last)
        marks.add(table_mark(TableSource(paths=(str(path),)), KEY))
    assert len(marks) == 2
