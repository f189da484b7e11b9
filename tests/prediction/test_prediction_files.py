"""Model files that nobody wrote: an error of the document family, or a model, and nothing else."""

import copy
import json
from contextlib import suppress

import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.prediction.record import read_model

DOMAIN = {
    "fields": [
        {"name": "place", "type": "string", "constraints": {"enum": ["a", "b"]}, "dpqr": {"otherwise": "drop"}},
        {"name": "buys", "type": "string", "constraints": {"enum": ["no", "yes"]}, "dpqr": {"otherwise": "drop"}},
        {"name": "age", "type": "integer", "dpqr": {"edges": [0, 9, 99], "otherwise": "drop", "outside": "clip"}},
    ]
}
KERNEL = {"name": "linear", "bandwidth": "1", "degree": 2, "features": None, "seed": 0}
MODEL = {
    "dpqr": "model/1",
    "domain_file": json.dumps(DOMAIN),
    "plan": {
        "target": {"name": "buys", "positive": "yes"},
        "learner": {"name": "logistic", "kernel": KERNEL},
    },
    "step": 0.5,
    "weights": [2, -2, 0, 1],
}
ODD = (None, [], {}, "", "x", -1, 0, 2.5, 1e999, 10**400, True, "1/0", "nan", ["a"], {"a": 1})


def read(tmp_path, document):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    return read_model(path)


def test_a_model_is_read_back(tmp_path):
    model = read(tmp_path, MODEL)
    assert model.weights.tolist() == [1, -1, 0, 0.5]
    assert model.columns.names == ("place", "age")


def places(document, path=()):
    for name, value in document.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from places(value, (*path, name))


@pytest.mark.parametrize("path", list(places(MODEL)), ids="-".join)
def test_whatever_stands_in_a_field(tmp_path, path):
    for odd in ODD:
        changed = copy.deepcopy(MODEL)
        inner = changed
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = odd
        with suppress(DocumentError):
            read(tmp_path, changed)


@pytest.mark.parametrize(
    "change",
    [
        {"plan": MODEL["plan"] | {"target": {"name": "age", "positive": None}}},
        {"plan": MODEL["plan"] | {"learner": {"name": "quantile", "kernel": KERNEL}}},
        {"weights": [2, -2, 0]},
        {"step": float("inf")},
    ],
)
def test_parts_that_do_not_go_together_are_refused(tmp_path, change):
    with pytest.raises(DocumentError, match="no model file"):
        read(tmp_path, MODEL | change)
