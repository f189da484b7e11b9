import pytest

from dpqr.errors import UsageFault
from dpqr.io.ledger.naming import LONGEST_NAME, LONGEST_NOTE, require_name, require_text


@pytest.mark.parametrize("name", ["survey", "Adult-2024_v1.2", "0", "x" * LONGEST_NAME])
def test_plain_names_pass(name):
    assert require_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "-x",
        "_x",
        "a b",
        "a/b",
        "a\n",
        "\u0430dult",
        "ädult",
        "a\0",
        "\u0663",
        "x" * (LONGEST_NAME + 1),
        "a\u200b",
    ],
)
def test_names_that_could_be_mistaken_for_another_do_not(name):
    with pytest.raises(UsageFault, match="ASCII"):
        require_name(name)


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "x" * (LONGEST_NOTE + 1), "\u202e", "\ud800"])
def test_notes_are_one_printable_line(text):
    assert require_text("release ü of 7 blocks", what="a note")
    with pytest.raises(UsageFault, match="a note"):
        require_text(text, what="a note")
