"""A ledger, its directory or its anchor that may not be written or read: one line, exit code 7 or 2, nothing spent."""

import os
import tempfile
from pathlib import Path

import pytest
from support.cases import slow_but
from support.ledger_jobs import ledger_in, reserve, terms

from dpqr.kernel.errors import DpqrError

NOBODY = 65534


@pytest.fixture
def place():
    """Where somebody else may look, too: pytest's own directories are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o755)
        ledger_in(made).open(terms())
        (made / "outside.anchor").chmod(0o644)
        yield made


def as_nobody(use):
    """What a user without rights is told: the exit code and the words; (0, "") where it works."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setegid(NOBODY)
                os.seteuid(NOBODY)
            use()
            os._exit(0)
        except DpqrError as error:
            os.write(writer, str(error).encode())
            os._exit(error.exit_code)
        except BaseException as error:
            os.write(writer, repr(error).encode())
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        words = said.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), words


CASES = [
    ("ledger.sqlite", 0o444, "or its directory, is read-only", True),
    ("ledger.sqlite", 0o000, "cannot be opened", False),
    (".", 0o555, "is read-only", True),
    (".", 0o000, "Permission denied", False),
    ("outside.anchor", 0o000, "fix its permissions", False),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # threads that other tests have left are idle
@pytest.mark.parametrize(("name", "mode", "words", "readable"), slow_but({0, 2}, CASES), ids=lambda value: str(value))
def test_what_may_not_be_written_is_said_in_a_line(place, name, mode, words, readable):
    (place / "ledger.sqlite").chmod(0o666)
    (place / name).chmod(mode)
    anchored = name != "."
    try:
        code, said = as_nobody(lambda: reserve(ledger_in(place, anchored=anchored), 1))
        assert code in (2, 7)
        assert words in said
        assert "\n" not in said
        code, said = as_nobody(ledger_in(place, anchored=anchored).verify)
        assert (code == 0) == readable, said
    finally:
        place.chmod(0o755)
    (place / "outside.anchor").chmod(0o644)
    (place / "ledger.sqlite").chmod(0o644)
    assert ledger_in(place).account("survey").spent == 0
