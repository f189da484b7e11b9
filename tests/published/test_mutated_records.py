"""Every field of every kind of record, changed, retyped and taken out under new seals: verify names it and ends with 6.

Never with 1, for a record may come from anybody, and never with 0, but for the fields of NO_CLAIM.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from published.test_checks_of_predictions import made_predictions
from sessions.test_interactive import DOMAIN as COLUMNS
from sessions.test_interactive import SURPRISE, WHERE
from sessions.test_interactive import TABLE as RECORDS
from support.cases import slowly, thinned
from support.counters import released
from support.ledger_jobs import ledger_in, terms
from support.paid_releases import payer
from support.verified_release import ASKED, changed, make

import dpqr
from dpqr.kernel.noise.source import SeededNoise
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import verify
from dpqr.releases.files.atomic import document_text
from dpqr.releases.loop import SILENT
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.sessions.interactive import AskRequest, ask, close, open_session
from dpqr.sessions.planning import OpenRequest
from dpqr.tables.source import TableSource

VERSIONS = ("python", "numpy", "scipy", "pyarrow", "platform", "arithmetic")
NO_CLAIM = {"date", "publisher", *(f"versions.{name}" for name in VERSIONS)}
"""Fields that nothing follows from, and that follow from nothing: when and for whom it was made, as its publisher says;
and what made it, which widens nothing, for within the tolerance is no success by itself."""
OTHERS = (None, True, 7, -1, 1.5, "7", "", [], [[]], {}, {"a": 1})
"""What takes the place of a value of another type."""
PARTS = 60
"""The plain run tries one mutation of so many."""
KINDS = ("release", "rich", "counter", "questions", "session", "numbers", "labels", "run", "model")


@dataclass(frozen=True)
class Place:
    """A release, its record's file and the ledger that paid."""

    release: Path
    record: Path
    ledger: str | None


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    made, where = {}, tmp_path_factory.mktemp("mutated")
    for kind in KINDS:
        (where / kind).mkdir()
    for kind, options in (("release", {}), ("rich", RICH)):
        request = make(where / kind, **options)
        made[kind] = Place(Path(request.release), Path(request.release) / "release.json", request.ledger)
    for before, month in (None, "2024-01"), ("2024-01", "2024-02"):
        released(where / "counter", month, before, eps="1000", delta="1e-9", accountant="zcdp", cumulative=8)
    made["counter"] = Place(where / "counter/2024-02", where / "counter/2024-02/release.json", None)
    made["questions"] = questions(where / "questions")
    return made | predictions(where / "session")


RICH = {
    "queries": {**ASKED, "queries": [*ASKED["queries"], {"mean": "income"}]},
    "certify": "0.1",
    "delta": "1e-9",
    "count_dropped": "0.2",
    "n": None,
}


def questions(place):
    """A closed session of questions, some of them paid."""
    seeds = count(1)
    (place / "table.csv").write_text(RECORDS)
    ledger_in(place).open(terms(epsilon="100"))
    plan = PlanRequest(epsilon="40", domain=COLUMNS, surprises=6)
    run = ReleaseRequest(source=TableSource(paths=(str(place / "table.csv"),)), plan=plan, payer=payer(place))
    with patch("dpqr.sessions.interactive.SystemNoise", lambda: SeededNoise(next(seeds))):
        open_session(OpenRequest(name="desk", run=run), SILENT)
        for queries in (WHERE, SURPRISE):
            ask(AskRequest(name="desk", payer=payer(place), queries=queries), SILENT)
        close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    return Place(place / "out", place / "out/release.json", str(place / "ledger.sqlite"))


def predictions(place):
    made_predictions(place)
    kinds = ("session", "numbers", "labels", "run")
    kept = {name: (place / f"{name}.csv", place / f"{name}.csv.record.json") for name in kinds}
    kept["model"] = (place / "model.json", place / "model.json")
    return {name: Place(*files, str(place / "l.sqlite")) for name, files in kept.items()}


def leaves(value, path=()):
    """Every part of a document by its path; of long lists the first two, for the others are like them."""
    if path:
        yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in parts:
        yield from leaves(part, (*path, key))


def changes(value, turn):
    """Another value of the same type, and one of another."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value * 2 + 1
    elif isinstance(value, str):
        yield f"{value}x"
    elif value:
        yield type(value)()
    others = [other for other in OTHERS if type(other) is not type(value)]
    yield others[turn % len(others)]


def mutations(document):
    """Every mutation: a path, what stands there now (`...`: nothing), and whether the plan gets a new seal. A change of
    the plan comes twice: under the plan's old seal and under a new one."""
    for turn, (path, value) in enumerate(leaves(document)):
        if path == ("sha256",):
            continue
        for new in (*changes(value, turn), ...):
            if new == value and type(new) is type(value):
                continue
            yield path, new, False
            if path[0] == "plan" and len(path) > 1 and path != ("plan", "sha256"):
                yield path, new, True


def mutated(document, path, new, sealed):
    made = copy.deepcopy(document)
    at = made
    for key in path[:-1]:
        at = at[key]
    if new is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return made | {"plan": seal_document(made["plan"])} if sealed else made


def code(request):
    """The exit code of `dpqr verify`."""
    try:
        return verify(request).code
    except dpqr.DpqrError as error:
        return error.exit_code


@pytest.mark.parametrize("parts", [range(1), *slowly(*(range(first, PARTS, 6) for first in range(1, 7)))])
@pytest.mark.parametrize("kind", thinned(KINDS, 5))
def test_a_mutated_field_is_found(places, kind, parts):
    place = places[kind]
    document = json.loads(place.record.read_text())
    request = VerifyRequest(release=str(place.release), ledger=place.ledger)
    assert code(request) == 0
    missed = []
    for turn, (path, new, sealed) in enumerate(mutations(document)):
        if turn % PARTS not in parts:
            continue
        made = mutated(document, path, new, sealed)
        with changed(place.record, document_text(seal_document(made)).encode()):
            ended = code(request)
        name = ".".join(map(str, path))
        if ended != 6 and not (ended == 0 and name in NO_CLAIM):
            missed.append(f"{ended} {name}: {'left out' if new is ... else repr(new)[:40]}{', sealed anew' * sealed}")
    assert missed == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_seal_itself(places, kind):
    place = places[kind]
    document = json.loads(place.record.read_text())
    for made in (document | {"sha256": "0" * 64}, {k: v for k, v in document.items() if k != "sha256"}):
        with changed(place.record, document_text(made).encode()):
            assert code(VerifyRequest(release=str(place.release), ledger=place.ledger)) == 6
