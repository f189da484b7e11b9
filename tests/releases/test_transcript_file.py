"""The transcript's file: whole lines, one holder, a running hash by the ledger's rule."""

import os
from types import SimpleNamespace

import pytest
from support.disk_calls import recorded

from dpqr.kernel.errors import DataError, LedgerError, UsageFault
from dpqr.ledger.chain import BEGINNING, seal
from dpqr.releases.journal import CHUNK, LARGEST, open_transcript, table_mark
from dpqr.tables.source import TableSource


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".out.transcript"


def written(path, *documents):
    with open_transcript(path) as file:
        for document in documents:
            file.append(document)
        return file.digest


def test_the_running_hash_is_that_of_a_chain(path):
    digest = written(path, {"a": 1}, {"b": 2})
    first, second = path.read_text().splitlines()
    assert digest == seal(seal(BEGINNING, first), second)
    with open_transcript(path) as file:
        assert (file.digest, file.digest_of(1), file.digest_of(0)) == (digest, seal(BEGINNING, first), BEGINNING)


def test_what_a_crash_cut_off_is_no_line_and_is_overwritten(path):
    written(path, {"a": 1})
    with path.open("a") as opened:
        opened.write('{"b":22222222222222')
    with open_transcript(path) as file:
        assert file.lines == ['{"a":1}']
        file.append({"c": 3})
    assert path.read_text() == '{"a":1}\n{"c":3}\n'


def test_an_empty_file_is_not_left_behind(path):
    with open_transcript(path):
        assert path.exists()
    assert not path.exists()
    written(path, {"a": 1})
    assert path.exists()
    with open_transcript(path) as file:
        file.cut(0)
    assert not path.exists()


def test_nobody_else_holds_it_meanwhile_or_reads_it(path):
    with open_transcript(path) as file:
        file.append({})
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(UsageFault, match="another job"), open_transcript(path):
            raise AssertionError
    with open_transcript(path) as file:
        assert len(file.lines) == 1


def test_a_line_of_other_than_an_object_is_damage(path):
    for text in ("[]", "1", "{", "[" * 100_000, "\x00"):
        path.write_text(f"{text}\n")
        with open_transcript(path) as file, pytest.raises(LedgerError):
            file.document(0)
    with open_transcript(path) as file, pytest.raises(LedgerError):
        file.document(5)


def test_a_file_beyond_any_transcript_is_not_read(path):
    path.touch()
    os.truncate(path, LARGEST + 1)
    with pytest.raises(LedgerError, match="larger than any"), open_transcript(path):
        raise AssertionError


def test_a_missing_directory_is_a_fault_of_usage(tmp_path):
    with pytest.raises(UsageFault, match="cannot be opened"), open_transcript(tmp_path / "missing" / "x"):
        raise AssertionError


def test_a_disk_that_fails_is_told_and_leaves_whole_lines(path, monkeypatch):
    with open_transcript(path) as file:
        file.append({"a": 1})
        with monkeypatch.context() as broken:
            broken.setattr(os, "write", fail)
            with pytest.raises(UsageFault, match="cannot be written"):
                file.append({"b": 2})
        assert len(file.lines) == 1
        file.append({"c": 3})
    assert path.read_text() == '{"a":1}\n{"c":3}\n'


def fail(*_):
    raise OSError(28, "No space left on device")


def test_every_change_is_cut_written_and_synced_in_this_order(path, monkeypatch):
    with open_transcript(path) as file:
        file.append({"a": 1})
        with path.open("a") as opened:
            opened.write("half a li")
        calls = recorded(monkeypatch, path.parent)
        file.append({"b": 2})
        kept, whole = b'{"a":1}\n', b'{"a":1}\n{"b":2}\n'
        assert calls == [("ftruncate", path.name, kept), ("fsync", path.name, whole)]
        calls.clear()
        file.cut(1)
        assert calls == [("ftruncate", path.name, kept), ("fsync", path.name, kept)]


def test_a_write_that_ends_early_goes_on(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:3]))
    written(path, {"a": "long enough"})
    assert path.read_text() == '{"a":"long enough"}\n'


def test_what_was_cut_leaves_no_trace_in_the_hash(path):
    with open_transcript(path) as file:
        for number in range(4):
            file.append({"n": number})
        file.set_aside(500)
        file.cut(1)
        file.append({"n": 9})
        assert file.digest == seal(seal(BEGINNING, '{"n":0}'), '{"n":9}')
    assert path.read_text() == '{"n":0}\n{"n":9}\n', "what was set aside is given back"
    with open_transcript(path) as again:
        assert again.digest == file.digest


def test_lines_go_where_space_was_set_aside(path, monkeypatch):
    written(path, {"a": 1})
    with open_transcript(path) as file:
        file.set_aside(4_000)
        size = path.stat().st_size
        file.rehearse()
        monkeypatch.setattr(os, "ftruncate", lambda *given: pytest.fail("what was set aside is given back"))
        digest = file.digest
        file.append({"b": 2})
        assert file.digest == seal(digest, '{"b":2}')
        assert path.stat().st_size == size
    with open_transcript(path) as file:
        assert file.lines == ['{"a":1}', '{"b":2}'], "a killed process leaves what it has set aside"


def test_what_was_set_aside_is_given_back_and_a_longer_line_needs_its_own(path):
    with open_transcript(path) as file:
        file.set_aside(10)
        file.append({"a": 1})
        file.append({"text": "x" * 100})
        file.set_aside(500)
        file.append({"b": 2})
        file.trim()
        file.append({"c": 3})
    assert path.read_text() == '{"a":1}\n{"text":"' + "x" * 100 + '"}\n{"b":2}\n{"c":3}\n'


# The mark of a table: the same for the same bytes under the same key, and of no use without the key.


KEY, OTHER = bytes(32), bytes([1]) * 32


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    return TableSource(paths=(str(tmp_path / "a.csv"), str(tmp_path / "b.csv")))


def test_a_mark_is_of_every_byte_of_every_file_under_one_key(source, tmp_path):
    mark = table_mark(source, KEY)
    assert (mark, len(mark)) == (table_mark(source, KEY), 64)
    marks = {mark, table_mark(source, OTHER), table_mark(TableSource(paths=source.paths[:1]), KEY)}
    for more in ({"delimiter": ";"}, {"encoding": "cp1252"}, {"count_column": "x"}):
        marks.add(table_mark(TableSource(paths=source.paths, **more), KEY))
    (tmp_path / "b.csv").write_text("x\n3\n")
    marks.add(table_mark(source, KEY))
    (tmp_path / "a.csv").write_text("x\n1\nx")
    (tmp_path / "b.csv").write_text("\n2\n")
    marks.add(table_mark(source, KEY))
    assert len(marks) == 8
    assert table_mark(TableSource(paths=("-",)), KEY) is None, "standard input has none"


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


def test_large_files_are_read_in_pieces_and_a_byte_beyond_the_first_one_counts(tmp_path, monkeypatch):
    path, marks = tmp_path / "a.csv", set()
    source = TableSource(paths=(str(path),))
    for last in (b"1", b"2"):
        path.write_bytes(b"x\n" + b"0" * CHUNK + last)
        marks.add(table_mark(source, KEY))
    assert len(marks) == 2
    path.write_bytes(b"x\n" + b"1\n" * 5000)
    whole = table_mark(source, KEY)
    monkeypatch.setattr("dpqr.releases.journal.CHUNK", 7)
    assert table_mark(source, KEY) == whole


def test_a_table_that_cannot_be_read(source, monkeypatch):
    def fail(path):
        raise OSError(5, "PRIVATEVALUE")

    monkeypatch.setattr("dpqr.releases.journal._file_digest", fail)
    with pytest.raises(DataError, match="cannot be read") as caught:
        table_mark(source, KEY)
    assert "PRIVATEVALUE" not in str(caught.value)
