import hashlib

import pytest

from dpqr.errors import LedgerError
from dpqr.io.ledger.chain import BEGINNING, links, seal


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
    assert [link.text for link in links(chain("a", "b", "c"))] == ["a", "b", "c"]
    assert links([]) == ()


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
        links(broken(chain("a", "b", "c")))


def test_moving_text_over_the_border_of_two_entries_is_found():
    assert seal(seal("", "a"), "b\nc") != seal(seal("", "a\nb"), "c")
