"""Sessions of questions on a disk that fails: no threshold is used after it was passed, and nothing says whether."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from support.disk_faults import Faults, Killed, small_disk
from support.ledger_jobs import ledger_in, terms
from support.paid_releases import payer
from support.session_faults import (
    ABOVE,
    BELOW,
    FREE,
    ONE,
    TABLE,
    Trace,
    calls,
    case,
    ended,
    folder,
    judged,
    old_protocol,
    open_desk,
    pay_and_measure,
)

from dpqr.kernel.errors import DpqrError, UsageFault
from dpqr.releases.requests import OutputRequest
from dpqr.sessions.interactive import close, status


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """It is copied for each case."""
    place = tmp_path_factory.mktemp("opened")
    open_desk(place)
    return place


@pytest.fixture
def copied(opened, tmp_path):
    """In memory where there is a place for that: thousands of syncs take minutes on a disk that others use."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=memory, prefix="dpqr-") as quick:

        def copy(to=Path(quick)):
            place = to / f"case {len(os.listdir(to))}"
            shutil.copytree(opened, place)
            return place

        yield copy


def test_a_free_question_and_a_surprise_write_the_same_files_in_the_same_order(copied):
    free, *paid = (calls(copied(), passed) for passed in (FREE, ABOVE, BELOW))
    assert len(free) > 40
    assert ("write", "secret") in free
    assert [call for call in free if call != ("statement", "UPDATE")] == [
        call for call in paid[0] if call != ("statement", "INSERT")
    ]
    assert paid[0] == paid[1]
    sealed = free.index(("write", "secret"))
    assert free[sealed - 2 : sealed + 2] == [*synced("log"), *synced("secret")], "the ask line first, both on the disk"
    assert free[-4:-2] == synced("secret"), "thresholds come back last"
    given_back = free.index(("ftruncate", "log"), sealed)
    assert free[given_back - 4 : given_back] == [*synced("log"), *synced("log")], "answers, and that the question ended"


def synced(name):
    return [("write", name), ("fsync", name)]


MOMENTS = range(64)
"""More than a question makes calls."""
KINDS = {
    "full": {"fault": errno.ENOSPC},
    "full once": {"fault": errno.ENOSPC, "lasting": False},
    "quota": {"fault": errno.EDQUOT},
    "broken": {"fault": errno.EIO},
    "broken once": {"fault": errno.EIO, "lasting": False},
    "broken after its work": {"fault": errno.EIO, "after": True},
    "no file names": {"fault": "names"},
    "short": {"fault": "short"},
    "killed": {"fault": Killed},
    "killed after its work": {"fault": Killed, "after": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_at_every_call_the_end_says_nothing_and_no_threshold_is_used_after_it_was_passed(copied, kind):
    ends = []
    for at in MOMENTS:
        free, surprise = (case(copied(), sides, at=at, **KINDS[kind]) for sides in (FREE, ABOVE))
        assert not free.replayed + surprise.replayed, at
        assert not free.repeated | surprise.repeated, at
        assert free.end == surprise.end, at
        ends.append(free.end)
    assert ends[-1] is None
    assert any(ends) != (kind == "short")


def test_the_protocol_of_0_10_fails_this_test(copied):
    with old_protocol():
        free, surprise = (case(copied(), sides, at=0, **KINDS["no file names"]) for sides in (FREE, ABOVE))
    assert surprise.replayed
    assert surprise.repeated
    assert free.end is None
    assert surprise.end is not None


SEVERAL = {"queries": [{"marginal": ["age"]}, {"where": "sex = 1"}]}


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as made:
        yield made


def on_disk(opened, disk, passed, fill, moment=None, queries=ONE):
    """A question to a session whose ledger, folder and anchor lie on a small disk.

    fill: what takes the space, before the question begins, or at its call number `moment`.
    """
    place, trace = disk.place / "case", Trace()
    shutil.copytree(opened, place)
    try:
        with pytest.MonkeyPatch.context() as patched:
            if moment is None:
                fill()
            else:
                Faults(place, moment, fault=fill, lasting=False).watched(patched)
            end = ended(place, passed, trace, queries)
        disk.clear()
        return judged(place, end, trace)
    finally:
        disk.clear()
        shutil.rmtree(place)


def require_alike(free, surprise, where):
    assert not free.replayed + surprise.replayed, where
    assert not free.repeated | surprise.repeated, where
    assert free.end == surprise.end, where
    return free.end


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fill_blocks", "fill_files"])
@pytest.mark.parametrize("every", [13, 1])
def test_on_a_disk_of_any_fullness_free_questions_and_surprises_end_alike(opened, disk, what, every):
    """Until nothing is refused, and some more."""
    ends, free = [], 0
    while ends[-3:] != [None] * 3:
        fill = partial(getattr(disk, what), free)
        ends.append(require_alike(*(on_disk(opened, disk, sides, fill) for sides in (FREE, ABOVE)), (what, free)))
        free += every if what == "fill_blocks" else 1
    assert len(ends) > 3
    words = {end for end in ends if end}
    assert len(words) <= 3
    assert all(code in (2, 7) for _, code, _ in words), words


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fill_blocks", "fill_files"])
@pytest.mark.parametrize("every", [9, 1])
def test_a_disk_that_somebody_fills_while_a_question_is_answered(opened, copied, disk, what, every):
    """A question that has begun is answered from what was set aside. Only in the milliseconds after this is released
    may somebody else take it, and then nothing but the one sentence is said, and no threshold lives on."""
    made = calls(copied(), FREE)
    _, begun, *_ = (place for place, call in enumerate(made) if call == ("fsync", "log"))
    released = made.index(("unlink", ".ledger.sqlite.desk.room"), made.index(("write", "secret")))
    for moment in MOMENTS[::every]:
        both = [on_disk(opened, disk, sides, getattr(disk, what), moment) for sides in (FREE, ABOVE)]
        if moment <= released:
            assert require_alike(*both, moment) is None or moment <= begun, moment
        for found in both:
            assert not found.replayed, moment
            assert not found.repeated, moment
            assert found.end is None or found.end[2].startswith("session 'desk': "), moment


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fill_blocks", "fill_files"])
def test_a_document_of_several_queries_on_a_disk_that_fills(opened, disk, what):
    for moment in range(0, 160, 3):
        for sides in (FREE, ABOVE, (1, -1)):
            found = on_disk(opened, disk, sides, getattr(disk, what), moment, SEVERAL)
            assert not found.replayed, (moment, sides)
            assert not found.repeated, (moment, sides)
            assert found.end is None or found.end[1] in (2, 7), (moment, sides, found.end)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no file names", "full", "broken once", "killed"])
def test_an_opening_on_a_disk_that_fails_ends_in_words_and_is_given_up(tmp_path, kind):
    """Or it has ended before: then the session answers questions."""
    (tmp_path / "desk").mkdir()
    place, moment, ends = tmp_path / "desk" / "base", 0, []
    place.mkdir()
    (place / "table.csv").write_text(TABLE)
    ledger_in(place).open(terms(epsilon="100"))
    while ends[-2:] != [None] * 2:
        copy = shutil.copytree(place, tmp_path / str(moment))
        with pytest.MonkeyPatch.context() as patched:
            Faults(copy, moment, **KINDS[kind]).watched(patched)
            ends.append(opening(copy))
        goes_on(copy)
        ledger_in(copy).verify()
        moment += 1
    assert moment > 20


def opening(place):
    try:
        pay_and_measure(place)
    except Killed:
        return "killed"
    except DpqrError as error:
        return error.exit_code
    return None


def goes_on(place):
    """A session that was opened answers; what was paid and not opened is given up."""
    try:
        opened = folder(place).is_opened and status("desk", payer(place))
    except UsageFault:  # nothing was paid yet
        return
    if opened:
        assert ended(place, FREE, Trace()) is None
    with suppress(UsageFault):
        assert close("desk", payer(place), OutputRequest()) is None or opened
    assert ledger_in(place).account("survey").spent.amount <= 40


COMMAND = ["interactive", "ask", "desk", "--where", "sex = 1 and age = 3", "--ledger", "ledger.sqlite"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fill_blocks", "fill_files"])
def test_the_command_on_a_full_disk_says_the_same_of_tables_that_differ(disk, what):
    """One of which has twice the records that the session's model expects."""
    expected = "\n".join(["sex,age", *(f"{n % 2},{n // 2 % 4}" for n in range(200))]) + "\n"
    full, well = [], []
    for table in (TABLE, expected):
        place = disk.place / "case"
        place.mkdir()
        open_desk(place, table)
        getattr(disk, what)()
        full.append(command(place))
        disk.clear()
        well.append(command(place))
        shutil.rmtree(place)
    assert full[0] == full[1]
    code, shown, said = full[0]
    assert (code, shown) == (2, "")
    assert "no room for what a question writes" in said
    assert [code for code, _, _ in well] == [0, 0]
    assert well[0] != well[1]


def command(place):
    """As a user types it."""
    options = {"capture_output": True, "text": True, "cwd": place, "check": False}
    anchored = ["--anchor", str(place / "outside.anchor")]
    done = subprocess.run([sys.executable, "-m", "dpqr", *COMMAND, *anchored], **options)
    return done.returncode, done.stdout, done.stderr
