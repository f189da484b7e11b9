import zipfile
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.sparse import csr_array, save_npz
from support.cases import in_one_test, slow_but, thinned

from dpqr.kernel.errors import DocumentError
from dpqr.workload import coefficients
from dpqr.workload import coefficients as coefficient_arrays
from dpqr.workload.coefficients import quantised

DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"null": "cell"}},
        {"name": "hours", "type": "integer", "dpqr": {"edges": [0, 20, 40]}},
    ]
}
TABLE = np.array([[0.5, 0, 0, 1, 0, 0], [0, 0.25, 0, 0, 0, 0.75]])
LONG = [
    ("first", "F", "[0, 20)", "0.5"),
    ("first", "M", "[20, 40]", "1"),
    ("second", "F", "[20, 40]", "0.25"),
    ("second", "(null)", "[20, 40]", ".75"),
]


def csv_text(rows=LONG, header="query,sex,hours,coefficient") -> str:
    return "\n".join([header, *(",".join(f'"{cell}"' for cell in row) for row in rows)]) + "\n"


def write(folder: Path, ending: str) -> None:
    if ending == "dense.npz":
        np.savez(folder / ending, coefficients=TABLE)
    elif ending == "sparse.npz":
        save_npz(folder / ending, csr_array(TABLE))
    elif ending == "long.csv":
        (folder / ending).write_text(csv_text(), encoding="utf-8-sig")
    else:
        query, sex, hours, value = zip(*LONG, strict=True)
        columns = {"sex": sex, "coefficient": [float(v) for v in value], "hours": hours, "query": query}
        parquet.write_table(pa.table(columns), folder / ending)


@pytest.mark.parametrize("ending", ["dense.npz", "sparse.npz", "long.csv", "long.parquet"])
def test_all_formats_say_the_same(ending: str, ask, tmp_path: Path) -> None:
    write(tmp_path, ending)
    document = ask({"coefficients": ending, "columns": ["sex", "hours"]}, domain=DOMAIN)
    (block,) = document.workload.blocks
    (factor,) = block.factors
    assert block.scale == Fraction(1, 4)
    np.testing.assert_array_equal(factor.matrix.coefficients, TABLE * 4)
    assert factor.sizes == (3, 2)
    assert document.notes == ()
    named = ("first", "second") if ending.startswith("long") else ("query 0", "query 1")
    assert factor.labels == named


def test_columns_give_the_order_of_the_cells(ask, tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", coefficients=TABLE.reshape(2, 3, 2).transpose(0, 2, 1).reshape(2, 6))
    document = ask({"coefficients": "c.npz", "columns": ["hours", "sex"]}, domain=DOMAIN)
    (block,) = document.workload.blocks
    counts = np.arange(6).reshape(3, 2) ** 3
    answers = block.apply(counts.transpose(1, 0))
    np.testing.assert_array_equal(answers, (TABLE * 4).astype(int) @ counts.reshape(-1))


def test_one_query_and_fewer_columns(ask, tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", coefficients=np.array([True, False]))
    (tmp_path / "c.csv").write_text('hours,coefficient\n"[0, 20)",1\n', encoding="utf-8")
    from_array, from_table = ask(
        {"coefficients": "c.npz", "columns": ["hours"]}, {"coefficients": "c.csv"}, domain=DOMAIN
    ).workload.blocks
    assert from_array.factors[0].matrix.row(0).tolist() == from_table.factors[0].matrix.row(0).tolist() == [1, 0]
    assert from_array.scale == 1


def test_other_numbers_are_rounded_and_the_plan_says_so(ask, tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", coefficients=np.array([1 / 3, 1]))
    document = ask({"coefficients": "c.npz", "columns": ["hours"]}, domain=DOMAIN)
    (block,) = document.workload.blocks
    assert block.scale == Fraction(1, 2**20)
    assert block.factors[0].matrix.row(0).tolist() == [round(2**20 / 3), 2**20]
    assert "rounded to multiples of 2^-20" in document.notes[0]


@in_one_test(
    ("values", "whole", "grid", "exact"),
    [
        ([0.1, 0.3], [1, 3], Fraction(1, 10), True),
        ([0.000001], [1], Fraction(1, 10**6), True),
        ([0.5, 1.0], [1, 2], Fraction(1, 2), True),
        ([0.6], [1], Fraction(3, 5), True),
        ([0.1000001], [round(0.1000001 * 2**20)], None, False),
        ([], [], Fraction(1, 10**6), True),
    ],
)
def test_quantised(values, whole, grid, exact) -> None:
    found, scale, is_exact = quantised(np.array(values, dtype=float))
    assert is_exact == exact
    if grid is None:
        assert abs(float(found[0] * scale) - values[0]) <= 2**-21
    else:
        assert found.tolist() == whole
        assert scale == grid


def compressed(form="csr", **arrays):
    """A matrix of one query as scipy saves it, with some arrays changed."""
    made = {"format": form.encode(), "shape": [1, 6], "data": [1.0], "indices": [0], "indptr": [0, 1], **arrays}
    return lambda path: np.savez(path, **{name: np.array(value) for name, value in made.items()})


def declaring(shape, dtype="<f8"):
    """An array whose header declares more than there is."""

    def write(path):
        head = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("coefficients.npy", b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + b"\0" * 48)

    return write


def crowded(path):
    with zipfile.ZipFile(path, "w") as archive:
        for each in range(2000):
            archive.writestr(f"{each}.npy", b"")


def crowd_of_ones(path):
    np.savez_compressed(path, coefficients=np.ones((2**23, 6), dtype=np.uint8))


CRAFTED = {
    "indices beyond": compressed(indices=[2**30]),
    "indices negative": compressed(indices=[-5]),
    "indptr falling": compressed(shape=[3, 6], indptr=[0, 2**20, -5, 1]),
    "indptr beyond": compressed(indptr=[0, 2**30]),
    "indptr negative start": compressed(indptr=[-(2**20), 1]),
    "indptr short": compressed(shape=[9, 6]),
    "csc indices beyond": compressed("csc", shape=[1, 6], indptr=[0, 1, 1, 1, 1, 1, 1], indices=[2**30]),
    "bsr indices beyond": compressed("bsr", data=[[[1.0]]], indices=[2**30]),
    "unknown format": compressed("lil"),
    "pickled format": lambda path: np.savez(path, format=np.array([{}]), shape=[1, 6], data=[1.0]),
    "header beyond": declaring("(1000000, 6)"),
    "header overflow": declaring(f"({2**62}, {2**62})"),
    "header negative": declaring("(-1, 6)"),
    "header of objects": declaring("(1, 6)", "|O"),
    "header of code": declaring("__import__('os').getpid()"),
    "crowded": crowded,
    "crowd of ones": crowd_of_ones,
}


def broken_npz(folder: Path, case: str) -> None:
    path = folder / "c.npz"
    arrays = {
        "short": np.ones((1, 5)),
        "above": np.full((1, 6), 1.5),
        "below": np.array([[0, 0, 0, 0, 0, -0.001]]),
        "nan": np.full((1, 6), np.nan),
        "infinite": np.full((1, 6), np.inf),
        "cube": np.ones((1, 2, 3)),
        "complex": np.ones((1, 6), dtype=complex),
        "text": np.full((1, 6), "x"),
        "zero": np.zeros((2, 6)),
        "none": np.zeros((0, 6)),
        "pickle": np.array([[object()] * 6]),
    }
    if case in CRAFTED:
        CRAFTED[case](path)
    elif case == "name":
        np.savez(path, other=np.ones((1, 6)))
    elif case == "no zip":
        path.write_bytes(b"PK nothing")
    elif case == "sparse short":
        save_npz(path, csr_array(np.ones((1, 5))))
    elif case == "sparse astray":
        one = np.array([0])
        np.savez(path, format=b"coo", shape=np.array([1, 6]), data=one + 1.0, row=one, col=one + 9)
    elif case == "sparse huge":
        one = np.array([0])
        np.savez(path, format=b"coo", shape=np.array([10**12, 6]), data=one + 1.0, row=one, col=one)
    else:
        np.savez(path, coefficients=arrays[case])


@pytest.mark.parametrize(
    ("case", "expected"),
    slow_but(
        {0},
        [
            ("short", "c.npz has the shape (1, 5); expected (queries, 6), one coefficient a cell of 'sex', 'hours'"),
            ("sparse short", "c.npz has the shape (1, 5)"),
            ("above", "a coefficient lies outside [0, 1]"),
            ("below", "a coefficient lies outside [0, 1]"),
            ("nan", "a coefficient is NaN or infinite"),
            ("infinite", "a coefficient is NaN or infinite"),
            ("cube", "c.npz has the shape (1, 2, 3)"),
            ("complex", "c.npz holds complex128; coefficients are real numbers"),
            ("text", "coefficients are real numbers"),
            ("zero", "holds no coefficient above 0"),
            ("none", "c.npz holds 0 queries; give from 1 to 1000000"),
            ("sparse huge", "c.npz holds 1000000000000 queries; give from 1 to 1000000"),
            ("sparse astray", "c.npz"),
            ("pickle", "c.npz is no .npz of plain number arrays"),
            ("name", "c.npz has no array 'coefficients'"),
            ("no zip", "c.npz is no .npz of plain number arrays"),
            *(
                (case, "c.npz is no .npz of plain number arrays")
                for case in CRAFTED
                if case not in ("bomb", "crowd of ones")
            ),
            ("crowd of ones", "c.npz holds 8388608 queries; give from 1 to 1000000"),
        ],
    ),
)
def test_broken_arrays_are_refused(case: str, expected: str, ask, tmp_path: Path) -> None:
    broken_npz(tmp_path, case)
    with pytest.raises(DocumentError) as caught:
        ask({"coefficients": "c.npz"}, domain=DOMAIN)
    assert str(caught.value).startswith("queries.json: $.queries[0].coefficients: ")
    assert expected in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "c.csv holds no coefficient"),
        ("sex,coefficient\n", "c.csv holds no coefficient"),
        ("sex,value\nF,1\n", "c.csv has no column 'coefficient'"),
        ("sex,coefficient\nF\n", "c.csv: row 2 has 1 cells; the header has 2"),
        ("sex,sex,coefficient\nF,F,1\n", "c.csv has the column 'sex' twice"),
        ("sxe,coefficient\nF,1\n", "the domain has no column 'sxe'; did you mean 'sex'?"),
        ("sex,coefficient\nf,1\n", "column 'sex' has no cell 'f'"),
        ('hours,coefficient\n"[0, 20]",1\n', "did you mean '[0, 20)'?"),
        ("sex,coefficient\nF,1\nF,0.5\n", "two coefficients for one cell of one query"),
        ("sex,coefficient\nF,one\n", "'one' is no number"),
        ("sex,coefficient\nF,nan\n", "a coefficient is NaN or infinite"),
        ("sex,coefficient\nF,1.01\n", "a coefficient lies outside [0, 1]"),
        ("sex,coefficient\nF,0\n", "holds no coefficient above 0"),
        ('sex,coefficient\n"F,1\n', "c.csv is no CSV in UTF-8"),
    ],
)
def test_broken_tables_are_refused(text: str, expected: str, ask, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        ask({"coefficients": "c.csv"}, domain=DOMAIN)
    assert str(caught.value).startswith("queries.json: $.queries[0].coefficients")
    assert expected in str(caught.value)


def repacked(whole: bytes, method: int) -> bytes:
    """The members of a .npz packed anew by another method."""
    made = BytesIO()
    with ZipFile(BytesIO(whole)) as given, ZipFile(made, "w", method) as archive:
        for name in given.namelist():
            archive.writestr(name, given.read(name))
    return made.getvalue()


@pytest.mark.parametrize("method", thinned([ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA], 4))
def test_every_byte_of_an_array_file_may_be_damaged(method: int, ask, tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", coefficients=np.linspace(0, 1, 6)[None])
    whole = repacked((tmp_path / "c.npz").read_bytes(), method)
    for location in range(0, len(whole), 1 if method == ZIP_DEFLATED else 7):
        for damaged in (
            whole[:location],
            whole[:location] + bytes([whole[location] ^ 1 << location % 8]) + whole[location + 1 :],
        ):
            (tmp_path / "c.npz").write_bytes(damaged)
            said = ""
            try:
                ask({"coefficients": "c.npz"}, domain=DOMAIN)
            except DocumentError as error:
                said = str(error)
            assert said == "" or "c.npz" in said or "a coefficient" in said
            assert len(said.splitlines()) <= 1


def test_other_broken_files(ask, tmp_path: Path) -> None:
    (tmp_path / "c.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "d.csv").write_bytes(b"sex,coefficient\n\xff,1\n")
    (tmp_path / "e.csv").write_text("sex,coefficient\nF,1\n", encoding="utf-8")
    for entry, expected in (
        ({"coefficients": "c.parquet"}, "c.parquet is no Parquet file that can be read, or holds more than"),
        ({"coefficients": "d.csv"}, "d.csv is no CSV in UTF-8"),
        ({"coefficients": "none.csv"}, "cannot read"),
        ({"coefficients": "c.txt"}, "'c.txt' ends in none of .npz, .csv, .parquet"),
        ({"coefficients": "e.csv", "columns": ["hours"]}, "columns: e.csv has the columns 'sex'; name the same"),
    ):
        with pytest.raises(DocumentError) as caught:
            ask(entry, domain=DOMAIN)
        assert expected in str(caught.value)


def test_arrays_that_unpack_to_too_much_are_not_made(ask, tmp_path: Path, monkeypatch) -> None:
    np.savez_compressed(tmp_path / "c.npz", coefficients=np.zeros((10**5, 6), dtype=np.uint8))
    monkeypatch.setattr(coefficient_arrays, "MAX_FILE_BYTES", 10**5)
    with pytest.raises(DocumentError, match="unpacks to more than 100000 bytes"):
        ask({"coefficients": "c.npz"}, domain=DOMAIN)


def test_more_coefficients_than_memory_is_for(ask, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(coefficient_arrays, "MAX_ENTRIES", 5)
    np.savez(tmp_path / "c.npz", coefficients=np.ones((1, 6)))
    save_npz(tmp_path / "d.npz", csr_array(np.ones((1, 6))))
    for name in ("c.npz", "d.npz"):
        with pytest.raises(DocumentError, match="holds more than 5 coefficients"):
            ask({"coefficients": name}, domain=DOMAIN)


def parquet_of(folder: Path, **columns) -> None:
    parquet.write_table(pa.table(columns), folder / "c.parquet")


def test_other_tables_are_refused_in_few_words(ask, tmp_path: Path) -> None:
    def refused(says, name="c.parquet", domain=DOMAIN, **columns):
        if columns:
            parquet_of(tmp_path, **columns)
        with pytest.raises(DocumentError, match=says) as caught:
            ask({"coefficients": name}, domain=domain)
        assert len(str(caught.value)) < 300

    refused("no cell 'xxx", sex=["x" * 10**6], coefficient=[1.0])
    refused(r"c\.parquet is no Parquet file that can be read", sex=[["F"]], coefficient=[1.0])
    (tmp_path / "c.csv").write_text(",".join(["a", *map(str, range(10**5)), "a"]) + "\n1\n", encoding="utf-8")
    refused("has the column 'a' twice", "c.csv")
    refused("the columns have 1000000000000 cells, more than 16777216", "none.npz", {"a": 10**6, "b": 10**6})


def test_tables_beyond_their_caps_are_refused(ask, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(coefficients, "MAX_ROWS", 3)
    text = "sex,coefficient\n" + "F,1\n" * 4
    (tmp_path / "c.csv").write_text(text, encoding="utf-8")
    parquet_of(tmp_path, sex=["F"] * 4, coefficient=[1.0] * 4)
    for name, says in (("c.csv", "holds more than 3 rows"), ("c.parquet", "or holds more than 3 rows")):
        with pytest.raises(DocumentError, match=says):
            ask({"coefficients": name}, domain=DOMAIN)
    monkeypatch.setattr(coefficients, "MAX_TEXTS", 5)
    (tmp_path / "c.csv").write_text("sex,coefficient\n" + "F,1\n" * 3, encoding="utf-8")
    with pytest.raises(DocumentError, match="or 5 cells"):
        ask({"coefficients": "c.csv"}, domain=DOMAIN)
