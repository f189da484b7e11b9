import copy

import pytest

from dpqr.data.attribute import Bins
from dpqr.errors import DocumentError
from dpqr.io.documents.domain import PLACEHOLDER, read_domain
from dpqr.io.documents.skeleton import skeleton_from_schema

COLUMNS = [
    ("age", "integer"),
    ("income", "number"),
    ("sex", "string"),
    ("rich", "boolean"),
    ("day", "date"),
    ("seen", "datetime"),
    ("blob", "binary"),
]
KNOWN = {
    "age": {"minimum": 0, "maximum": 99},
    "income": {"minimum": 0, "maximum": 1.5},
    "sex": {"enum": ["F"]},
    "day": {"minimum": "2024-01-01", "maximum": "2024-12-31"},
    "seen": {"minimum": "2024-01-01", "maximum": "2024-12-31T23:59:59"},
    "blob": {"enum": ["x"]},
}


def test_a_skeleton_is_refused_until_each_placeholder_is_filled_in() -> None:
    document = skeleton_from_schema(COLUMNS)
    for field in document["fields"]:
        if field["name"] not in KNOWN:
            continue
        for bound in KNOWN[field["name"]]:
            with pytest.raises(DocumentError, match=rf"\$\.fields\[\d\]\.constraints\.\w+.*placeholder {PLACEHOLDER}"):
                read_domain(copy.deepcopy(document))
            field["constraints"][bound] = KNOWN[field["name"]][bound]
    domain = read_domain(document)
    assert domain.names == tuple(name for name, _ in COLUMNS)
    assert isinstance(domain.attributes[5].axis, Bins)
    assert all(attribute.own_cells == ("null",) for attribute in domain.attributes)


def test_a_skeleton_depends_on_names_and_types_alone() -> None:
    assert skeleton_from_schema([("a", "integer")]) == {
        "dpqr": "domain/1",
        "malformed": "drop",
        "fields": [
            {
                "name": "a",
                "type": "integer",
                "constraints": {"minimum": PLACEHOLDER, "maximum": PLACEHOLDER},
                "dpqr": {"bins": 10, "null": "cell", "otherwise": "drop"},
            }
        ],
    }
