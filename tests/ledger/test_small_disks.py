"""Releases that a ledger pays for, on disks that fail or are full: how one ends says nothing about its rows, and what
was published was paid. Ledgers in a file, and on a server whose own disk is full."""

import errno
import re
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from support.cases import slow_one, thinned
from support.disk_faults import Faults, Killed, small_disk
from support.ledger_jobs import SERVER, ledger_in
from support.paid_releases import TABLE, lay, run
from support.postgres_server import running

from dpqr.kernel.errors import DpqrError, UsageFault

NEIGHBOUR = "".join(TABLE.splitlines(keepends=True)[:-1])
"""Without the last row."""
MOMENTS = range(160)
"""More than a release of two rounds makes calls at its ledger, its anchor, its transcript and its output."""


def ended(place):
    """What a user sees of a release."""
    try:
        run(place)
    except Killed:
        return "killed"
    except OSError:
        return "unexpected", 1, ""
    except DpqrError as error:
        words = re.sub(r"schema=\w+", "schema=S", str(error).replace(str(place), "PLACE"))
        return type(error).__name__, error.exit_code, words
    return None


def laid(place, table):
    place.mkdir()
    lay(place)
    (place / "table.csv").write_text(table)
    return place


def sound(place):
    """What waits is continued or given up; the ledger is whole, and whatever was published was paid."""
    with suppress(DpqrError):
        run(place, resume=True)
    ledger = ledger_in(place)
    with suppress(UsageFault):  # an anchor that was never renewed
        ledger.verify()
    assert not (place / "out").exists() or ledger.account("survey").spent.amount > 0
    assert ledger.account("survey").spent.amount <= 5


KINDS = {
    "full": {"fault": errno.ENOSPC},
    "broken once": {"fault": errno.EIO, "lasting": False},
    "no file names": {"fault": "names"},
    "killed": {"fault": Killed},
}


@pytest.mark.parametrize("kind", thinned(KINDS, 4))
@pytest.mark.parametrize("every", [53, slow_one(1)])
def test_at_every_call_neighbouring_tables_end_alike(tmp_path, kind, every):
    ends = []
    for at in MOMENTS[::every]:
        both = []
        for name, table in (("table", TABLE), ("neighbour", NEIGHBOUR)):
            place = laid(tmp_path / f"{name} {at}", table)
            with pytest.MonkeyPatch.context() as patched:
                Faults(place, at, **KINDS[kind]).watched(patched)
                both.append(ended(place))
            sound(place)
        assert both[0] == both[1], at
        ends.append(both[0])
    assert ends[-1] is None
    assert any(ends)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fill_blocks", "fill_files"])
@pytest.mark.parametrize("every", [3, 1])
def test_a_ledger_on_a_small_disk(tmp_path, monkeypatch, what, every):
    """Its file and its anchor lie there; the release goes elsewhere."""
    with small_disk(tmp_path / "disk") as disk:
        ends, free = [], 0
        while ends[-2:] != [None] * 2:
            both = []
            for name, table in (("table", TABLE), ("neighbour", NEIGHBOUR)):
                place = laid(tmp_path / f"{name} {free}", table)
                for file in ("ledger.sqlite", "outside.anchor"):
                    shutil.move(place / file, disk.place / file)
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr("support.paid_releases.payer", partial(payer_on, disk))
                    getattr(disk, what)(free)
                    both.append(ended(place))
                    disk.clear()
                    with suppress(DpqrError):
                        run(place, resume=True)
                ledger_in(disk.place).verify()
                assert not (place / "out").exists() or ledger_in(disk.place).account("survey").spent.amount > 0
                for file in ("ledger.sqlite", "outside.anchor"):
                    (disk.place / file).unlink()
            assert both[0] == both[1], free
            ends.append(both[0])
            free += every
        assert len(ends) > 2
        assert all(code == 7 for _, code, _ in filter(None, ends))


def payer_on(disk, directory, **more):
    from dpqr.releases.requests import LedgerRequest

    place = disk.place
    return LedgerRequest(
        dataset="survey", ledger=str(place / "ledger.sqlite"), anchor=str(place / "outside.anchor"), **more
    )


@contextmanager
def server_on(disk, server):
    """The server's data lie on the small disk."""
    server.stop("fast")
    data, moved = server.folder / "data", disk.place / "data"
    subprocess.run(["cp", "-a", data, moved], check=True)
    shutil.rmtree(data)
    data.symlink_to(moved)
    server.start()
    try:
        yield
    finally:
        with suppress(subprocess.SubprocessError):
            server.stop()


def restarted(server):
    """After a full disk: a server that has given up is started anew."""
    with suppress(subprocess.SubprocessError):
        server.stop()
    server.start()


@pytest.mark.slow
def test_a_server_whose_disk_is_full(tmp_path, monkeypatch):
    """It fails in a transaction, or as a whole where its log has no room; a job sees one sentence of dpqr's own."""
    with ExitStack() as stack:
        server = stack.enter_context(running())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dpqr-disk-", dir="/tmp")))
        folder.chmod(0o755)
        disk = stack.enter_context(small_disk(folder / "disk", size="160m", files=20_000))
        stack.enter_context(server_on(disk, server))
        monkeypatch.setenv(SERVER, f"postgresql://owner@/postgres?host={server.folder}")
        ends = []
        for free, moment in [*((free, None) for free in (0, 2, 3, 8, 10_000)), *((0, at) for at in range(0, 80, 13))]:
            both = []
            for name, table in (("table", TABLE), ("neighbour", NEIGHBOUR)):
                place = laid(tmp_path / f"{name} {free} {moment}", table)
                server.execute("CHECKPOINT")
                with pytest.MonkeyPatch.context() as patched:
                    if moment is None:
                        disk.fill_blocks(free)
                    else:
                        Faults(place, moment, fault=disk.fill_blocks, lasting=False).watched(patched)
                    both.append(ended(place))
                disk.clear()
                restarted(server)
                sound(place)
            assert both[0] == both[1], (free, moment)
            assert both[0] is None or both[0][1] == 7
            assert not any(word in str(both) for word in ("No space", "could not", "PANIC", "extend"))
            ends.append(both[0])
        assert None in ends
        assert any(ends)
