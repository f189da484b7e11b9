import json

import pytest

from dpqr.io.outputs.json_layout import document_text

DOCUMENT = {"a": 1, "list": [1, 2, 3], "none": None, "deep": {"rows": [{"x": []}, {"é": {}}], "pair": [[1, 2], [3]]}}


def test_lists_of_plain_values_keep_to_one_line():
    assert document_text({"v": [1, None, "x"], "w": [{"y": 2}]}) == (
        '{\n  "v": [1, null, "x"],\n  "w": [\n    {\n      "y": 2\n    }\n  ]\n}\n'
    )


@pytest.mark.parametrize("document", [DOCUMENT, {}, [], [[], {}], "text", 10**30])
def test_the_text_is_the_document(document):
    assert json.loads(document_text(document)) == document


def test_no_nan_is_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        document_text({"x": [float("nan")]})
