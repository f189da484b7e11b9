import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.ledger.ledger import LONGEST_REASON, NO_REASON, Reason


def test_words_say_what_was_stated():
    assert Reason(purpose="report", by="R. J\u00f8nes").words == "report, by R. J\u00f8nes"
    assert Reason(purpose="report").words == "report"
    assert Reason(by="the team").words == "by the team"
    assert NO_REASON.words == ""


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "\u202e", "x" * (LONGEST_REASON + 1)], ids=repr)
@pytest.mark.parametrize("name", ["purpose", "by"])
def test_it_is_one_printable_line(name, text):
    with pytest.raises(UsageFault, match=f"--{name}: give one line of at most 200 printable characters"):
        Reason(**{name: text})
