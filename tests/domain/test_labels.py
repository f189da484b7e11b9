"""Labels, and the texts that stand for them."""

import pytest

from dpqr.domain.attribute import Labels
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError


def axis(kind="string", own=None, missing=("",), **keys) -> Labels:
    field = {"name": "a", "type": kind, "dpqr": own or {}, "missingValues": list(missing), **keys}
    found = read_domain({"fields": [field]}).attributes[0].axis
    assert isinstance(found, Labels)
    return found


TWINS = [{"value": 0, "label": "x"}, {"value": 1, "label": "x"}]
ENUM = {"constraints": {"enum": ["north", "south"]}}
FRUIT = [{"value": 0, "label": "apple"}, {"value": 1, "label": "pear"}, 2]


def test_aliases_are_other_texts_of_a_label() -> None:
    found = axis(own={"aliases": {"north": ["N", "No."]}}, **ENUM)
    assert found == Labels(("north", "south"), texts=(("north", "N", "No."), ("south",)))
    assert found.places() == {"north": 0, "N": 0, "No.": 0, "south": 1}


def test_case_and_blanks() -> None:
    found = axis(own={"caseSensitive": False, "trim": True, "aliases": {"north": ["N ", "n"]}}, **ENUM)
    assert found.folded
    assert found.places() == {"north": 0, "n": 0, "south": 1}
    assert axis("boolean").folded
    assert not axis("boolean", own={"caseSensitive": True}).folded


def test_categories_name_the_cells_and_the_values_are_what_a_table_holds() -> None:
    found = axis("integer", categories=FRUIT, categoriesOrdered=True)
    assert found == Labels(("apple", "pear", "2"), texts=(("0",), ("1",), ("2",)), ordered=True)
    assert axis(categories=["x", "y"]) == axis(constraints={"enum": ["x", "y"]})
    assert axis("integer", categories=FRUIT, constraints={"enum": [2, 0]}).values == ("apple", "2")
    assert axis("integer", own={"aliases": {"apple": ["7"]}}, categories=FRUIT).texts[0] == ("0", "7")


def test_words_for_true_and_false() -> None:
    found = axis("boolean", trueValues=["yes", "1"])
    assert found == Labels(("false", "true"), texts=(("false",), ("yes", "1")))
    assert axis("boolean", trueValues=["J"], constraints={"enum": [True]}) == Labels(("true",), texts=(("J",),))
    assert axis("boolean", trueValues=["J"], falseValues=["N"], own={"caseSensitive": False}).folded


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"own": {"aliases": {"nort": ["N"]}}, **ENUM}, r"aliases.nort: 'nort' is no label .*did you mean 'north'"),
        ({"own": {"aliases": {"north": ["south"]}}, **ENUM}, r"enum\[1\]: 'south' also stands for the label 'north'"),
        ({"own": {"aliases": {"north": ["x"], "south": ["x"]}}, **ENUM}, r"aliases.south\[0\]: 'x' also stands for"),
        ({"own": {"aliases": {"north": []}}, **ENUM}, r"aliases\.\w+: expected a list of length >= 1"),
        ({"own": {"aliases": {"north": [""]}}, **ENUM}, r"aliases.north\[0\]: '' also stands in missingValues"),
        ({"own": {"caseSensitive": False}, "constraints": {"enum": ["a", "A"]}}, r"enum\[1\]: 'A' also stands for"),
        (
            {"own": {"trim": True}, "constraints": {"enum": ["a", " a"]}},
            r"enum\[1\]: ' a' also stands for",
        ),
        ({"own": {"trim": True}, "constraints": {"enum": ["a", " "]}}, r"enum\[1\]: ' ' also stands in missingValues"),
        ({"own": {"caseSensitive": False}, "missing": ["NA"], "constraints": {"enum": ["na"]}}, "missingValues"),
        ({"kind": "integer", "categories": ["0"]}, r"categories\[0\]: '0' is no label of a column of type 'integer'"),
        (
            {"kind": "integer", "categories": [0, {"value": 0, "label": "x"}]},
            r"\[1\].value: the value '0' sta",
        ),
        (
            {"kind": "integer", "categories": TWINS},
            "'x' stands twice",
        ),
        ({"kind": "integer", "categories": FRUIT, "constraints": {"enum": [3]}}, r"enum\[0\]: '3' is no value of the"),
        ({"kind": "integer", "categories": FRUIT, "constraints": {"enum": []}}, "enum: lists no label"),
        ({"kind": "boolean", "categories": ["x"]}, "only columns of type 'string' and 'integer' have categories"),
        ({"kind": "number", "categories": ["x"]}, "categories: a column of type 'number' has no labels"),
        ({"categories": []}, "categories: expected a list of length >= 1"),
        ({"kind": "boolean", "trueValues": ["x"], "falseValues": ["x"]}, r"trueValues\[0\]: 'x' also stands for"),
        ({"kind": "boolean", "trueValues": []}, "trueValues: expected a list of length >= 1"),
        ({"groupChar": ",", **ENUM}, "groupChar: only binned columns of numbers have it"),
        ({"categoriesOrdered": True, **ENUM}, "categoriesOrdered: only columns with categories have it"),
    ],
)
def test_what_is_refused(keys, says) -> None:
    with pytest.raises(DocumentError, match=says):
        axis(**keys)
