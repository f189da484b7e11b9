"""Domain files written in Python: public things only."""

import numpy as np
import pandas as pd
import pytest
from support.cases import in_one_test

import dpqr
from dpqr.domain.domain_file import read_domain

FRAME = pd.DataFrame(
    {
        "sex": pd.Categorical(["f"], categories=["f", "m"]),
        "work": pd.Categorical([1], categories=[1, 2, 9]),
        "old": [True],
        "maybe": pd.array([None], dtype="boolean"),
        "age": [31],
        "name": ["x"],
        "seen": pd.to_datetime(["2020-01-05"]),
    }
)


def test_types_that_say_something():
    domain = dpqr.domain_from(FRAME.dtypes, public=True)
    assert domain.columns == ("sex", "work", "old", "maybe")
    assert domain.left_out == ("age", "name", "seen")
    assert repr(domain) == "Domain(sex, work, old, maybe; left out: age, name, seen)"
    assert read_domain(domain.document).shape == (2, 3, 2, 2)


def test_bins_and_labels_stated_beside_them():
    days = pd.interval_range(pd.Timestamp("2020-01-01"), periods=3, freq="D", closed="left")
    hours = pd.IntervalIndex.from_breaks(pd.to_datetime(["2020-01-01 00:00", "2020-01-01 12:00"]))
    stated = {
        **FRAME.drop(columns=["sex", "work"]).dtypes,
        "age": range(0, 100, 10),
        "seen": days,
        "at": hours,
        "income": pd.IntervalIndex.from_breaks([0, 10.5, 20], closed="left"),
        "code": np.array([3, 4]).tolist(),
        "plain": {"type": "string", "constraints": {"enum": ["a"]}, "dpqr": {"null": "cell"}},
        "flag": bool,
    }
    domain = dpqr.domain_from(stated, malformed="drop")
    fields = {field["name"]: field for field in domain.document["fields"]}
    assert fields["age"]["dpqr"] == {"width": 10}
    assert fields["seen"] == {
        "name": "seen",
        "type": "date",
        "dpqr": {"edges": ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], "closed": "left"},
    }
    assert (fields["at"]["type"], fields["income"]["dpqr"]["edges"]) == ("datetime", [0, 10.5, 20])
    assert fields["code"] == {"name": "code", "type": "integer", "constraints": {"enum": [3, 4]}}
    assert domain.document["malformed"] == "drop"


def test_categories_of_a_cut_are_the_labels_of_its_column():
    cut = pd.cut(pd.Series([1, 11, 12]), [0, 10, 20])
    domain = dpqr.domain_from({"a": cut.dtype}, public=True)
    made = dpqr.release(pd.DataFrame({"a": cut}), queries=dpqr.queries().marginal("a"), domain=domain, eps=1000)
    assert made.answers["measured"].tolist() == [1, 2]


def test_rules():
    domain = dpqr.domain_from(FRAME.dtypes, public=True).rules(otherwise="drop").rules("sex", null="cell")
    assert [field["dpqr"] for field in domain.document["fields"]] == [
        {"otherwise": "drop", "null": "cell"},
        *[{"otherwise": "drop"}] * 3,
    ]
    with pytest.raises(dpqr.DocumentError):
        domain.rules("sex", outside="clip")
    with pytest.raises(dpqr.UsageFault, match="no column 'age'; known: 'sex'"):
        domain.rules("age", null="drop")


@in_one_test(
    ("stated", "said"),
    [
        (FRAME.dtypes, "may come from the rows"),
        (FRAME[["age"]].dtypes, "nothing is known of any column"),
        ({"a": range(5, 0)}, "holds no number that rises"),
        ({"a": pd.IntervalIndex.from_tuples([(0, 1), (2, 3)])}, "intervals that touch"),
        ({"a": pd.interval_range(0, 2, closed="both")}, "intervals that touch"),
        ({"a": 7}, "int says nothing of a column"),
    ],
)
def test_what_is_refused(stated, said):
    with pytest.raises(dpqr.UsageFault, match=said):
        dpqr.domain_from(stated)


def test_a_dtype_without_categories_and_labels_twice():
    with pytest.raises(dpqr.UsageFault, match="names no categories"):
        dpqr.domain_from({"a": pd.CategoricalDtype()}, public=True)
    with pytest.raises(dpqr.DocumentError, match="twice"):
        dpqr.domain_from({"a": ["x", "x"]})
