import os

import numpy as np
import pytest
from support.forged_parquet import I32, PACKED, VALUES, chunk_facts, forged, table_bytes, with_page

from dpqr.io.tables.parquet.footer import BadParquet, read_footer
from dpqr.io.tables.parquet.pages import Page, chunk_pages

NUMBERS = {"a": np.arange(1000, dtype=np.int64)}
TEXTS = {"a": [f"name {each % 10}" for each in range(1000)]}


def pages(tmp_path, data):
    (tmp_path / "t.parquet").write_bytes(data)
    descriptor = os.open(tmp_path / "t.parquet", os.O_RDONLY)
    try:
        footer = read_footer(descriptor, ["a"], {"a"})
        return [page for group in footer.groups for chunk in group.chunks for page in chunk_pages(descriptor, chunk)]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_plain_pages(tmp_path, version, compression) -> None:
    data = table_bytes(
        NUMBERS, use_dictionary=False, data_page_size=1000, write_batch_size=100, data_page_version=version
    )
    found = pages(tmp_path, data)
    assert sum(page.values for page in found) == 1000
    assert all(8 * page.values <= page.unpacked <= 8 * page.values + 16 for page in found)
    assert len(found) > 3
    assert all(page.data and not page.prefixed for page in found)


def test_a_dictionary_comes_first(tmp_path) -> None:
    first, *others = pages(tmp_path, table_bytes(TEXTS))
    assert first == Page(unpacked=10 * 10, values=10, data=False, prefixed=False)
    assert [page.data for page in others] == [True]


def test_texts_as_differences(tmp_path) -> None:
    data = table_bytes(TEXTS, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")
    assert all(page.prefixed for page in pages(tmp_path, data))


def set_to(number, value):
    return lambda header: header[number].__setitem__(1, value)


PAGES = {
    "a negative size": set_to(2, -1),
    "a negative packed size": set_to(3, -1),
    "a page beyond its chunk": set_to(3, 10**6),
    "a size of 64 bits": lambda header: header.update({2: [6, 5]}),
    "no size": lambda header: header.pop(2),
    "no values": lambda header: header[5][1].pop(1),
    "no header of its kind": lambda header: header.pop(5),
    "too many fields": lambda header: header.update({50 + each: [I32, 1] for each in range(200)}),
}


@pytest.mark.parametrize("change", PAGES.values(), ids=PAGES)
def test_bad_headers(tmp_path, change) -> None:
    with pytest.raises(BadParquet):
        pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), change))


def test_what_a_header_asks_for_is_told(tmp_path) -> None:
    """The footer of this file is sound; its page claims to unpack to a gigabyte."""
    (page,) = pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), set_to(2, 2**30)))
    assert page.unpacked == 2**30


def test_a_dictionary_of_more_values_than_bytes(tmp_path) -> None:
    def change(header):
        header[7][1][1][1] = 10**6

    with pytest.raises(BadParquet):
        pages(tmp_path, with_page(table_bytes(TEXTS), change))


def test_a_long_header_is_read_to_its_end(tmp_path) -> None:
    def change(header):
        header[99] = [8, b"x" * 5000]

    assert pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), change))[0].values == 1000

    def endless(header):
        header[99] = [8, b"x" * 2**21]

    with pytest.raises(BadParquet):
        pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), endless))


@pytest.mark.parametrize(("field", "value"), [(VALUES, 10**9), (PACKED, 2**62)])
def test_chunks_that_claim_more_than_there_is(tmp_path, field, value) -> None:
    def change(footer):
        chunk_facts(footer)[field][1] = value
        chunk_facts(footer)[VALUES][1] = 10**9

    with pytest.raises(BadParquet):
        pages(tmp_path, forged(table_bytes(NUMBERS), change))
