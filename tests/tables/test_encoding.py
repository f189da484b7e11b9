import codecs
import io
import random

import pytest

from dpqr.domain.attribute import Attribute, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.tables.csv_table import Recoded

TEXT = "näme;städt\nMüller;Köln\n€;„Łódź“\n"


class Pieces(io.BytesIO):
    """Reads that end anywhere."""

    def __init__(self, data, seed):
        super().__init__(data)
        self.random = random.Random(seed)

    def read(self, size=-1):
        return super().read(self.random.randint(1, 5))


def recoded(data: bytes, encoding: str, seed: int = 0) -> bytes:
    stream, found = Recoded(Pieces(data, seed), encoding), b""
    while piece := stream.read(100):
        found += piece
    return found


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "utf-8"])
def test_text_is_the_same_however_it_is_cut(encoding) -> None:
    for seed in range(5):
        assert recoded(TEXT.encode(encoding), encoding, seed) == TEXT.encode()


def test_bytes_that_are_no_character_are_no_utf_8() -> None:
    assert recoded(b"a\x81b\x8d\xe9", "cp1252") == b"a\xffb\xff" + "é".encode()
    assert recoded("é".encode(), "ascii") == b"\xff\xff"
    assert recoded("ab".encode("utf-16-le") + b"\x00\xd8" + "c".encode("utf-16-le"), "utf-16-le") == b"ab\xffc"
    assert recoded(b"a\x00b", "utf-16-le") == b"a\xff"


CITIES = Domain((Attribute(name="städt", axis=Labels(("Köln", "Łódź")), rules={"outside": Rule.CELL}),))


@pytest.mark.parametrize("encoding", ["cp1250", "utf-16", "utf-16-le", "utf-32"])
def test_tables_in_other_encodings(load, tmp_path, encoding) -> None:
    table = "näme;städt\n" + "Müller;Köln\n" * 3 + '"a\n;b";Łódź\n' * 2 + "x;\x7f\n"
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    (tmp_path / "t.csv").write_bytes(mark + table.encode(encoding))
    source = {"delimiter": ";", "encoding": encoding}
    assert load(CITIES, tmp_path / "t.csv", source=source).tolist() == [3, 2, 1]


def test_a_row_with_bytes_that_are_no_text_is_malformed_as_in_utf_8(load, tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes("näme;städt\n".encode("cp1252") + b"a;K\xf6ln\nb;K\x81ln\n\x81;K\xf6ln\n")
    source = {"delimiter": ";", "encoding": "cp1252"}
    assert load(CITIES, tmp_path / "t.csv", source=source).tolist() == [2, 0, 0]


def test_the_wrong_encoding_is_named_beside_the_delimiter(load, tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes("näme,städt\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"read as utf-8 with the delimiter ','\nname another with .* or --encoding"):
        load(CITIES, tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes("näme,städt\n".encode("utf-16"))
    with pytest.raises(DataError, match="is not UTF-8 text; state --encoding utf-16"):
        load(CITIES, tmp_path / "t.csv")
