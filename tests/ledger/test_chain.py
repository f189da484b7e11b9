import hashlib

import pytest

from dpqr.kernel.errors import LedgerError
from dpqr.ledger.chain import BEGINNING, ChainSegment, chain_segment, seal


def chain(*texts):
    rows, previous = [], BEGINNING
    for number, text in enumerate(texts):
        previous = seal(previous, text)
        rows.append((number, text, previous))
    return rows


def test_the_seal_is_the_documented_digest():
    first = hashlib.sha256(b"\none").hexdigest()
    assert chain("one", "two")[1][2] == hashlib.sha256(f"{first}\ntwo".encode()).hexdigest()


def test_a_sound_chain_is_read_in_order():
    found = chain_segment(chain("a", "b", "c"))
    assert [link.text for link in found.links] == ["a", "b", "c"]
    assert (found.length, found.seal_after(0), found.seal_after(2)) == (3, BEGINNING, chain("a", "b")[1][2])
    assert chain_segment([]) == ChainSegment()


def test_a_stretch_goes_on_from_the_seal_before_it():
    rows = chain("a", "b", "c")
    found = chain_segment(rows[1:], 1, rows[0][2])
    assert (found.length, found.seal_after(1), found.seal_after(3)) == (3, rows[0][2], rows[2][2])
    for first, before in ((1, "other"), (0, rows[0][2]), (2, rows[0][2])):
        with pytest.raises(LedgerError):
            chain_segment(rows[1:], first, before)


@pytest.mark.parametrize(
    "broken",
    [
        lambda rows: rows[1:],
        lambda rows: [rows[0], rows[2]],
        lambda rows: [rows[1], rows[0], rows[2]],
        lambda rows: [rows[0], (1, "B", rows[1][2]), rows[2]],
        lambda rows: [rows[0], (1, "b", rows[1][2].upper()), rows[2]],
        lambda rows: [rows[0], (1, b"b", rows[1][2]), rows[2]],
        lambda rows: [rows[0], (1, "b", None), rows[2]],
        lambda rows: [*chain("A"), rows[1], rows[2]],
        lambda rows: [(0, "a\nb", rows[0][2]), *rows[1:]],
        lambda rows: [rows[0], (1.5, "b", rows[1][2])],
        lambda rows: [*rows, (3, "", rows[2][2])],
    ],
)
def test_a_change_is_found(broken):
    with pytest.raises(LedgerError):
        chain_segment(broken(chain("a", "b", "c")))


def test_moving_text_over_the_border_of_two_entries_is_found():
    assert seal(seal("", "a"), "b\nc") != seal(seal("", "a\nb"), "c")
