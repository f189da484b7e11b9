import traceback

import pytest

from dpqr.errors import BudgetRefused, DataError
from dpqr.io.tables.discreet import discreetly

SECRET = "4711-secret"


def leak() -> None:
    cell = SECRET
    try:
        raise KeyError(cell)
    except KeyError:
        raise ValueError(f"row 7: {cell}") from None


def constant(_: Exception) -> str:
    return "the table cannot be read"


def frames(error: BaseException) -> list[str]:
    return [repr(frame.f_locals) for frame, _ in traceback.walk_tb(error.__traceback__)]


def test_a_result_passes() -> None:
    assert discreetly(lambda: 3, constant) == 3
    assert discreetly(lambda: None, constant) is None


def test_a_failure_leaves_nothing_behind() -> None:
    with pytest.raises(DataError) as caught:
        discreetly(leak, constant)
    error = caught.value
    assert str(error) == "the table cannot be read"
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(error))
    assert not any(SECRET in local for local in frames(error))


def test_an_own_error_keeps_its_words_and_loses_its_history() -> None:
    def refuse() -> None:
        try:
            leak()
        except ValueError:
            raise BudgetRefused("too much") from ValueError(SECRET)

    with pytest.raises(BudgetRefused, match="too much") as caught:
        discreetly(refuse, constant)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert not any(SECRET in local for local in frames(caught.value))


def test_an_interrupt_is_no_fault_of_the_table() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        discreetly(interrupt, constant)
