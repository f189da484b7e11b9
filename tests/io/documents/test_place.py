import pytest

from dpqr.errors import DocumentError
from dpqr.io.documents.place import Place, nearest


def test_paths_are_json_paths() -> None:
    place = Place("f.json").key("queries").item(3).key("ways")
    assert str(place.fault("is wrong")) == "f.json: $.queries[3].ways: is wrong"
    assert Place("f").key("income>50K").path == '$["income>50K"]'


def test_errors_of_nouns_get_the_place() -> None:
    with pytest.raises(DocumentError, match=r"^f: \$\.a: no such column$"), Place("f").key("a").blamed():
        raise DocumentError("no such column")


def test_nearest_suggests_or_lists() -> None:
    assert nearest("marginl", ("marginal", "prefix")) == "did you mean 'marginal'?"
    assert nearest("xyz", ("a", "b")) == "known: 'a', 'b'"
    assert nearest("xyz", map(str, range(30))).endswith("'19', ...")
    assert nearest("x", ()) == "none are known"


def test_long_words_and_long_lists_are_not_compared() -> None:
    assert nearest("x" * 10**6, ("y" * 10**6,)).startswith("known: ")
    assert nearest("cell 77", [f"cell {each}" for each in range(10**6)]).startswith("known: 'cell 0', ")
