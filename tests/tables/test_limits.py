"""What is told of reading a table: always the same numbers, for a file's size is private."""

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import in_one_test

from dpqr.kernel.errors import BudgetRefused, DataError, UsageFault
from dpqr.tables.limits import Limits, Percent, constantly, discreetly


def test_limits_are_positive_and_keep_sums_exact() -> None:
    assert (Limits().cells, Limits().records) == (2**24, 2**36)
    wrong = dict.fromkeys(("cells", "columns", "bytes", "batch_rows"), (0,))
    for name, values in {**wrong, "records": (0, 2**52 + 1), "row_bytes": (0, 2**30 + 1)}.items():
        for value in values:
            with pytest.raises(UsageFault, match=name):
                Limits(**{name: value})


@in_one_test("more", [0, 1])
def test_bombs_and_crowds(more) -> None:
    """Who states a limit has said what is meant."""
    for packed, unpacked in ((1, 2**28), (2**26, 100 * 2**26)):
        assert Limits().is_decompression_bomb(packed, unpacked + more) == bool(more)
        assert not Limits(bytes=2**40 - 1).is_decompression_bomb(packed, unpacked + more)
    for packed, rows in ((1, 2**25), (2**24, 2**29)):
        assert Limits().is_crowd(packed, rows + more) == bool(more)
        assert not Limits(records=2**36 - 1).is_crowd(packed, rows + more)


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


def test_a_result_passes_and_an_interrupt_is_no_fault_of_the_table() -> None:
    def interrupt() -> None:
        row = SECRET  # noqa: F841 (looked for in the frames of what is raised)
        raise KeyboardInterrupt

    assert discreetly(lambda: 3, constant) == 3
    assert discreetly(lambda: None, constant) is None
    for guarded in (lambda: discreetly(interrupt, constant), lambda: constantly(interrupt, "constant")):
        with pytest.raises(KeyboardInterrupt) as caught:
            guarded()
        assert not any(SECRET in local for local in frames(caught.value))


ALL = list(range(0, 101, 10))


@given(total=st.integers(0, 1000), pieces=st.lists(st.integers(0, 300)))
def test_every_table_is_told_alike(total, pieces) -> None:
    told: list[int] = []
    watch = Percent(total=total, tell=told.append)
    watch.begin()
    for piece in pieces:
        watch.read(piece)
    assert 100 not in told
    watch.end()
    assert told == ALL


def test_what_is_read_shows_on_the_way_but_of_standard_input_only_beginning_and_end() -> None:
    told: list[int] = []
    watch = Percent(total=1000, tell=told.append)
    watch.begin()
    watch.read(251)
    assert told == [0, 10, 20]
    for pieces in ([], [5, 10**9]):
        told.clear()
        watch = Percent(total=None, tell=told.append)
        watch.begin()
        for piece in pieces:
            watch.read(piece)
        watch.end()
        assert told == [0, 100]
