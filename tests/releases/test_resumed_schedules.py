"""Killed releases of schedules whose draws follow each other: continued from what was drawn, paid once, and sound
whatever was lost."""

import json

import numpy as np
import pytest
from support.cases import slow_but
from support.ledger_jobs import ledger_in
from support.paid_releases import begun, killed_at, lay, price, published, run, transcript, unsound

from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.releases import release as release_module

CELLS = 24
CDF = [{"prefix": "v"}]
RANGES = [{"ranges": "v", "random": 20, "seed": 3}]
DESKS = {
    "strategy": ("strategy", 60, CDF),
    "many": ("ordered", 4_000, CDF),
    "few": ("ordered", 60, CDF),
    "queries": ("queries", 60, RANGES),
    "parts": ("parts", 60, [*CDF, {"marginal": ["a"]}, {"marginal": ["a", "b"]}]),
}
"""By name: schedule, records, queries. Few or many records decide what `ordered` looks at before it measures."""

LOST = {"strategy": (1,), "many": (1, 3), "few": (2, 3), "queries": (2, 3), "parts": (1, 3)}
"""Draws that were begun when their job was killed: counts, choices, measurements."""
KEPT = {"strategy": 1, "few": 3, "queries": 3, "parts": 2}
"""The last draw that was recorded before."""

MOMENTS = [
    *((name, (ChainedLedger, "begin", count, True)) for name, counts in LOST.items() for count in counts),
    *((name, (ChainedLedger, "record", count, True)) for name, count in KEPT.items()),
    ("many", (release_module, "write_release", 1, False)),
]


def laid(directory, name):
    """A desk, and the options of its release."""
    schedule, records, queries = DESKS[name]
    lay(directory)
    values = np.random.default_rng(1).binomial(CELLS - 1, 0.3, records)
    beside = {"a": 2, "b": 3} if schedule == "parts" else {}
    rows = "\n".join(",".join(map(str, [value, *(value % size for size in beside.values())])) for value in values)
    (directory / "table.csv").write_text(",".join(["v", *beside]) + f"\n{rows}\n")
    (directory / "q.json").write_text(json.dumps({"domain": {"v": CELLS, **beside}, "queries": queries}))
    return {"schedule": schedule, "rounds": None}


def named(moment):
    return f"{'after' if moment[3] else 'before'} {moment[1]} {moment[2]}" if isinstance(moment, tuple) else moment


@pytest.mark.parametrize(("name", "moment"), slow_but({0, 7}, MOMENTS), ids=named)
def test_a_killed_release_is_continued_and_paid_once(tmp_path, name, moment):
    asked, lost = laid(tmp_path, name), moment[1] == "begin"
    assert killed_at(tmp_path, moment, **asked) == 9
    assert ledger_in(tmp_path).account("survey").spent == 1
    kept = [json.loads(line)["value"] for line in transcript(tmp_path).read_text().splitlines()[2:]]
    made = run(tmp_path, resume=True, **asked)
    entries, account = ledger_in(tmp_path).entries(), ledger_in(tmp_path).account("survey")
    (events,) = begun(entries).values()
    assert published(tmp_path)[: len(kept)] == kept
    assert len(published(tmp_path)) == len(events) - lost
    assert made.transcript.lost == lost == any("lost a draw" in sentence for sentence in made.trust)
    assert account.reservations == 1
    assert price(entries, events) <= account.spent <= 1
    assert account.spent == (1 if lost else price(entries, events))
    assert all(np.isfinite(block.estimate).all() for block in made.answers)
    assert unsound(tmp_path) is None
    assert not transcript(tmp_path).exists()


@pytest.mark.slow
def test_a_release_whose_only_draw_was_lost_says_that_it_knows_nothing(tmp_path):
    asked = laid(tmp_path, "strategy")
    assert killed_at(tmp_path, (ChainedLedger, "begin", 1, True), **asked) == 9
    made = run(tmp_path, resume=True, **asked)
    assert made.trust[-1] == "nothing was measured: the estimates are those of an empty start, not of the table"
