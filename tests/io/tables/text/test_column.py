import numpy as np

from dpqr.data.attribute import Attribute, Codes, Labels, Rule
from dpqr.io.tables.fault_codes import DROPPED, FAILED, Encoded
from dpqr.io.tables.text import column as text_column
from dpqr.io.tables.text.column import TextColumn


def column(**rules) -> TextColumn:
    return TextColumn.of(Attribute(name="x", axis=Codes(9), rules=rules, missing=("", "NA")))


def test_missing_texts_are_null_and_others_are_encoded() -> None:
    encoded = column(null=Rule.CELL).encode(["3", "", "8", "NA", "3"])
    assert encoded.codes.tolist() == [3, 9, 8, 9, 3]
    assert encoded.clean


def test_rows_that_a_rule_drops_or_refuses_are_not_clean() -> None:
    encoded = column(null=Rule.DROP, outside=Rule.FAIL).encode(["3", "", "11"])
    assert encoded.codes.tolist() == [3, DROPPED, FAILED]
    assert not encoded.clean


def test_codes_do_not_depend_on_what_came_before() -> None:
    cells = ["1", "2", "", "x", "1e0", " 7", "NA", "9"]
    alone = [column(null=Rule.CELL).encode([cell]).codes.tolist()[0] for cell in cells]
    together = column(null=Rule.CELL)
    assert together.encode(cells).codes.tolist() == alone
    assert together.encode(cells * 9).codes.tolist() == alone * 9
    assert together.encode(cells[::-1]).codes.tolist() == alone[::-1]


def test_each_text_is_encoded_once() -> None:
    seen: list[str] = []

    class Noted:
        def encode(self, texts):
            seen.extend(texts)
            return Encoded(np.array([int(text) for text in texts]), clean=True)

    remembering = TextColumn(encoder=Noted(), null=0, missing=frozenset(), most=9)
    for _ in range(3):
        assert remembering.encode(["4", "5"] * 50).codes.tolist() == [4, 5] * 50
    assert sorted(seen) == ["4", "5"]


def test_what_is_remembered_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(text_column, "_KNOWN", 10)
    labels = TextColumn.of(Attribute(name="x", axis=Labels(("a", "b")), rules={"outside": Rule.CELL}))
    for number in range(0, 1000, 5):
        cells = [str(number + place) for place in range(5)] * 3
        assert labels.encode([*cells, "b"]).codes.tolist() == [labels.encode(["?"]).codes.tolist()[0]] * 15 + [1]
        assert len(labels._codes) <= 12
    assert labels.encode([str(number) for number in range(999)]).codes.shape == (999,)
    assert len(labels._codes) <= 12
