"""A key that is settled is in no file: not in the ledger, nor in a journal that a killed job has left."""

import os
import random
import signal

import pytest
from ledgers import draws, ledger_in, reserve, terms

from dpqr.io.ledger import turn
from dpqr.io.ledger.anchor import Anchor
from dpqr.io.ledger.database import commit, writing
from dpqr.io.ledger.keys import BYTES, erase_key, store_key


@pytest.fixture
def ledger(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="1000"))
    return ledger


def holding(directory, key):
    """Names of the files whose bytes hold the key."""
    return {path.name for path in directory.iterdir() if key in path.read_bytes()}


def settle(ledger, paid):
    ledger.settle(paid, draws("1/2"), note="released")


def killed(owner, name, ledger, paid, *, after):
    """Settle in a child that is killed before or after its only call of owner.name; which files are left."""
    child = os.fork()
    if child == 0:
        original = getattr(owner, name)

        def fatal(*given):
            if after:
                original(*given)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, fatal)
        try:
            settle(ledger, paid)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return {path.name for path in ledger.path.parent.iterdir()}


def test_a_settlement_erases_the_key(ledger, tmp_path):
    paid = reserve(ledger, 1)
    key = ledger.key(paid)
    assert holding(tmp_path, key) == {"ledger.sqlite"}
    settle(ledger, paid)
    assert holding(tmp_path, key) == set()
    assert "ledger.sqlite-journal" not in {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("owner", "name", "after"), [(turn, "commit", True), (Anchor, "publish", False)])
def test_a_job_that_is_killed_after_its_commit_leaves_no_key(ledger, tmp_path, owner, name, after):
    """The journal is there until the connection closes, and the commit has cut it to nothing."""
    paid = reserve(ledger, 1)
    key = ledger.key(paid)
    assert "ledger.sqlite-journal" in killed(owner, name, ledger, paid, after=after)
    assert holding(tmp_path, key) == set()
    ledger.verify()


def test_a_job_that_is_killed_before_its_commit_has_settled_nothing_and_the_next_erases(ledger, tmp_path):
    paid = reserve(ledger, 1)
    key = ledger.key(paid)
    killed(turn, "commit", ledger, paid, after=False)
    assert holding(tmp_path, key) == {"ledger.sqlite", "ledger.sqlite-journal"}
    assert ledger.account("survey").unsettled == 1
    assert ledger.key(paid) == key
    settle(ledger, paid)
    assert holding(tmp_path, key) == set()


def test_no_key_outlives_its_reservation_whatever_pages_it_was_moved_through(ledger, tmp_path):
    """More keys than two pages hold, erased in any order: pages split, are moved and are given back."""
    keys = {number: random.Random(number).randbytes(BYTES) for number in range(2, 220)}
    order = random.Random(0).sample(sorted(keys), len(keys))
    with writing(ledger.path, 5) as connection:
        for number in order:
            store_key(connection, number, keys[number])
        commit(connection)
    for part in range(0, 200, 25):
        with writing(ledger.path, 5) as connection:
            for number in order[part : part + 25]:
                erase_key(connection, number)
            commit(connection)
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert {number for number, key in keys.items() if key in content} == set(order[part + 25 :])
