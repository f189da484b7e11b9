import pytest
from support.forged_parquet import BINARY, I32, I64, LIST, STRUCT, TRUE, written_struct

from dpqr.io.tables.parquet.thrift import BadThrift, Compact

WHOLE = {1: (I32, Compact.whole)}
INNER = {5: (STRUCT, lambda at: at.struct(WHOLE))}


def told(fields, taken):
    return Compact(written_struct(fields)).struct(taken)


def test_the_fields_that_are_asked_for() -> None:
    fields = {
        1: [I32, -7],
        2: [BINARY, b"a name"],
        3: [LIST, [STRUCT, [{1: [TRUE, True]}, {}]]],
        4: [LIST, [TRUE, []]],
        5: [STRUCT, {2: [I64, 2**40], 1: [I32, 9]}],
    }
    assert told(fields, {}) == {}
    assert told(fields, {**WHOLE, **INNER}) == {1: -7, 5: {1: 9}}


def test_short_forms_of_field_numbers() -> None:
    assert Compact(bytes([0x15, 0x0E, 0x15, 0x10, 0])).struct({**WHOLE, 2: (I32, Compact.whole)}) == {1: 7, 2: 8}


@pytest.mark.parametrize(
    "data",
    [
        written_struct({1: [I64, 5]}),
        written_struct({1: [I32, 5]})[:-1] * 2 + b"\0",
        bytes([0x1B, 0, 0]),
        bytes([0x15, *[0xFF] * 10, 0, 0]),
        b"\x2c" * 40,
        b"\x29\x19" + b"\x19" * 40,
        bytes([0x25, 0] * 200),
    ],
    ids=["another type", "twice", "a map", "an endless number", "deep", "deep lists", "too many fields"],
)
def test_what_no_footer_holds_is_refused(data) -> None:
    with pytest.raises((BadThrift, IndexError)):
        Compact(data).struct(WHOLE)


@pytest.mark.parametrize("length", range(12))
def test_bytes_that_end_too_early(length) -> None:
    whole = written_struct({1: [I32, 300], 2: [BINARY, b"abc"], 3: [LIST, [I32, [1]]]})
    with pytest.raises(IndexError):
        Compact(whole[:length]).struct(WHOLE)


def test_a_list_that_claims_more_than_there_is() -> None:
    with pytest.raises(IndexError):
        Compact(bytes([0x29, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0])).struct({})
