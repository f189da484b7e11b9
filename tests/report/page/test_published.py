"""Published files as a report shows them."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpqr.kernel.errors import DocumentError
from dpqr.releases.read_release import ReleaseFiles
from dpqr.report.page.parts import file_hashes, first_rows, table_columns


@pytest.fixture
def files(tmp_path):
    (tmp_path / "release.json").write_text("{}")
    (tmp_path / "answers.csv").write_text('"query","sex","estimate"\n"a","F",1.5\n')
    parquet.write_table(pa.table({"sex": ["F", None, "M"], "age": [1, 2, 3]}), tmp_path / "synthetic.parquet")
    return ReleaseFiles(path=tmp_path, record={"files": ["answers.csv", "synthetic.parquet"]})


def test_the_first_rows_are_texts(files):
    assert first_rows(files, 2) == (("sex", "age"), [("F", "1"), ("", "2")])


def test_a_release_without_synthetic_rows_has_none(files):
    assert first_rows(ReleaseFiles(path=files.path, record={"files": ["answers.csv"]}), 2) is None


def test_columns_of_every_table(files):
    assert table_columns(files) == {"answers.csv": ["query", "sex", "estimate"], "synthetic.parquet": ["sex", "age"]}


def test_every_file_is_hashed_and_the_record_too(files):
    found = file_hashes(files)
    assert list(found) == ["answers.csv", "release.json", "synthetic.parquet"]
    assert found["release.json"] == hashlib.sha256(b"{}").hexdigest()


@pytest.mark.parametrize("ask", [lambda files: first_rows(files, 1), table_columns, file_hashes])
def test_a_file_that_is_gone_is_named(files, ask):
    (files.path / "synthetic.parquet").unlink()
    with pytest.raises(DocumentError, match=r"synthetic\.parquet: cannot be read"):
        ask(files)
