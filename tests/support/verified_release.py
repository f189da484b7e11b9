"""A small release with everything that can be verified: files, ledger, export, plan; and bytes of them flipped."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from pathlib import Path

from dpqr.ledger.budgets import export
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import verify
from dpqr.releases.files.atomic import document_text
from dpqr.releases.loop import SILENT
from dpqr.releases.release import release
from dpqr.releases.requests import LedgerRequest, OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.source import TableSource
from support.command_desk import DOMAIN, TABLE
from support.ledger_jobs import ledger_in, terms
from support.repeatable_noise import repeatable_noise

ASKED = {
    "domain": DOMAIN,
    "queries": [{"marginals": {"ways": 2, "columns": ["sex", "age", "income"]}}, {"prefix": "income", "by": ["sex"]}],
}


def make(directory: Path, *, paid=True, **options):
    """A release in `directory`/out, and what it can be held against; the request that checks it all."""
    (directory / "table.csv").write_text(TABLE)
    ledger = ledger_in(directory)
    ledger.open(terms())
    payer = LedgerRequest(dataset="survey", ledger=str(ledger.store.path), anchor=str(ledger.anchor.path))
    plan = PlanRequest(**{"queries": ASKED, "epsilon": "1", "schedule": "rounds", "rounds": 2, **options})
    request = ReleaseRequest(
        source=TableSource(paths=(str(directory / "table.csv"),)),
        plan=plan,
        output=OutputRequest(directory=str(directory / "out"), synthetic="rows"),
        payer=payer if paid else None,
    )
    with repeatable_noise():
        release(request, SILENT)
    record = json.loads((directory / "out/release.json").read_text())
    (directory / "plan.json").write_text(document_text(record["plan"]))
    (directory / "ledger.jsonl").write_text("".join(f"{line}\n" for line in export(ledger)))
    named = {"ledger": str(directory / "ledger.jsonl")} if paid else {}
    return VerifyRequest(release=str(directory / "out"), plan=str(directory / "plan.json"), **named)


@contextmanager
def changed(path: Path, content: bytes):
    """The file with other content, and as it was afterwards."""
    sound = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(sound)


def flips(paths, count, seed):
    """Flips: a file, a place in it and a byte that stands there instead; every file as often as the others."""
    chosen = random.Random(seed)
    for number in range(count):
        path = paths[number % len(paths)]
        sound = path.read_bytes()
        place = chosen.randrange(len(sound))
        yield path, sound[:place] + bytes([sound[place] ^ chosen.randrange(1, 256)]) + sound[place + 1 :]


def same_but_blanks(path, content):
    """Whether JSON says the same with other blanks between its parts, which the record's seal does not cover."""
    if path.suffix not in (".json",):
        return False
    try:
        held = content.decode()
        return json.loads(held) == json.loads(path.read_text()) and held.split() == path.read_text().split()
    except ValueError:
        return False


def code_of(request, path, content):
    """The exit code of `dpqr verify` where a file holds something else."""
    with changed(path, content):
        return verify(request).code
