"""Standard input: what a look at the header takes is read again."""

import io
import sys
from types import SimpleNamespace

from dpqr.tables.files import StandardInput


def test_what_was_looked_at_is_read_again(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n")))
    given = StandardInput()
    given.begin(look=True)
    assert given.read(4) == b"a,b\n"
    given.begin(look=False)
    assert [given.read(3) for _ in range(5)] == [b"a,b", b"\n", b"1,2", b"\n", b""]
