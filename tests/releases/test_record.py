import json
import os

import pytest
from support.one_test import in_one_test

from dpqr.releases import files as record
from dpqr.releases.files import RECORD, document_text, read_record


def test_a_record_is_read_as_it_was_written_and_what_is_no_json_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path)
    (tmp_path / RECORD).write_text('{"dpqr": "release/1", "files": ["a: {b} [c]"]}')
    assert read_record(tmp_path) == {"dpqr": "release/1", "files": ["a: {b} [c]"]}
    for text in ("", "{", "[" * 10**5, "nothing"):
        (tmp_path / RECORD).write_text(text)
        with pytest.raises(ValueError, match=r"Expecting|deeper"):
            read_record(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_is_not_opened(tmp_path, make):
    make(tmp_path / RECORD)
    with pytest.raises(ValueError, match="no regular file"):
        read_record(tmp_path)


@pytest.mark.parametrize(("limit", "most"), [("LONGEST", 40), ("MOST_PARTS", 7)])
def test_the_limits(tmp_path, monkeypatch, limit, most):
    """40 signs; of lists, objects and members 7."""
    (tmp_path / RECORD).write_text('{"a":[1,[2]],"b":{},"c":"' + "d" * 13 + '"}')
    monkeypatch.setattr(record, limit, most)
    assert read_record(tmp_path)["c"] == "d" * 13
    monkeypatch.setattr(record, limit, most - 1)
    with pytest.raises(ValueError, match="record"):
        read_record(tmp_path)


DOCUMENT = {"a": 1, "list": [1, 2, 3], "none": None, "deep": {"rows": [{"x": []}, {"é": {}}], "pair": [[1, 2], [3]]}}


def test_lists_of_plain_values_keep_to_one_line_and_no_nan_is_written():
    assert document_text({"v": [1, None, "x"], "w": [{"y": 2}]}) == (
        '{\n  "v": [1, null, "x"],\n  "w": [\n    {\n      "y": 2\n    }\n  ]\n}\n'
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        document_text({"x": [float("nan")]})


@in_one_test("document", [DOCUMENT, {}, [], [[], {}], "text", 10**30])
def test_the_text_is_the_document(document):
    assert json.loads(document_text(document)) == document
