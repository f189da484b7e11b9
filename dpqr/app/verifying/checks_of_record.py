"""Checks of a release that need its record and its files alone: form, seal, hashes, events and prices."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpqr import __version__
from dpqr.app.verifying.evidence import PROOFS, PROVED, Evidence, NotChecked, is_since
from dpqr.app.verifying.reprice import prices_today
from dpqr.construction.sentences import budget_words
from dpqr.errors import GoalMissed
from dpqr.io.outputs.records.plan_form import Figure
from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.records.record_form import ReleaseRecord
from dpqr.io.outputs.releases.release_files import file_hash
from dpqr.privacy.budget import PrivacyBudget, upward, upward_text
from dpqr.privacy.events import Composition

DIGITS = 6
ROUNDING = 1e-9
"""Relative difference of two prices that were computed with floats, by other versions of the libraries below them."""


def record(evidence: Evidence) -> str:
    """Read, of a known form, and what its hash was made of."""
    found, proofs = evidence.record, [name for name in PROOFS if name in evidence.document]
    if len(proofs) != (len(PROOFS) if is_since(found.version, PROVED) else 0):
        raise GoalMissed(
            f"of {', '.join(PROOFS)} the record holds {len(proofs)}, and dpqr {found.version} does otherwise"
        )
    require_one_version(evidence.document)
    seal = "its sha256 is right" if proofs else "it states no sha256"
    return f"{found.dpqr} of dpqr {found.version}, written as dpqr writes it; {seal}"


def require_one_version(document: Mapping[str, Any]) -> None:
    """GoalMissed where the parts of a record state several versions of dpqr."""
    made_by = document["versions"]["dpqr"] if "versions" in document else document["version"]
    if {made_by, document["plan"].get("version", made_by)} != {document["version"]}:
        raise GoalMissed("record, plan and versions name several versions of dpqr")


def files(evidence: Evidence) -> str:
    """Nothing is missing, nothing came, nothing was changed."""
    stated, kept = evidence.record.files, evidence.document.get("hashes")
    odd = sorted({*stated, *(kept or ()), RECORD}.symmetric_difference(os.listdir(evidence.path)))
    if odd:
        raise GoalMissed(f"{odd[0]!r} is in one of the record's list and the directory, and not in the other")
    if kept is None:
        raise NotChecked(f"{len(stated)} files are there, and the record holds no hashes of them")
    if unnamed := sorted({*stated} - {*kept}):
        raise GoalMissed(f"the record lists {unnamed[0]!r}, and holds no hash of it")
    for name, digest in kept.items():
        if file_hash(evidence.path / name) != digest:
            raise GoalMissed(f"{name} is not the file that the record was written for; restore it")
    return f"{len(kept)} files have the hashes that the record states"


def events(evidence: Evidence) -> str:
    """Every draw was paid by an event of its own, and together they cost no more than the plan proves."""
    found, document = evidence.record, evidence.document
    charged = evidence.events(document["events"])
    total, numbers = _number(charged), list(_charges(found))
    if len(set(numbers)) < len(numbers) or any(number >= total for number in numbers):
        raise GoalMissed(f"the draws do not name different ones of the {total} events that paid for them")
    today = prices_today(charged, _exact(found.spent.delta), found.spent.charged).get(found.spent.charged)
    limit = _exact(found.plan.proved_epsilon)
    if today is not None and today > limit:
        raise GoalMissed(f"the charged events cost epsilon {float(today):g}, and the plan proves {float(limit):g}")
    cost = "" if today is None else f" and cost epsilon {upward_text(today, DIGITS)} together"
    return f"{total} were charged{cost}; the plan proves {upward_text(limit, DIGITS)}"


def _number(composition: Composition) -> int:
    return sum(count for _, count in composition)


def _charges(found: ReleaseRecord) -> Iterator[int]:
    """The numbers of the events that the draws name."""
    for finished in found.transcript:
        yield from finished.charges
    if found.dropped:
        yield found.dropped.charge
    for drawn in found.errors.draws if found.errors else ():
        yield drawn.charge


def prices(evidence: Evidence) -> str:
    """The planned events, added up again under every accountant; the guarantee is no less than what was charged."""
    found, document = evidence.record, evidence.document
    budget = PrivacyBudget(*map(_exact, (found.plan.budget.epsilon, found.plan.budget.delta)))
    planned, delta = evidence.events(document["plan"]["events"]), _exact(found.spent.delta)
    today = prices_today(planned, delta, found.spent.charged)
    shared = [name for name in found.spent.epsilon if name in today]
    for name in shared:
        exactly = name == "basic" or found.version == __version__
        _require_price(name, found.spent.epsilon[name], today[name], exactly=exactly)
    _require_guarantee(found, budget)
    missing = [name for name in found.spent.epsilon if name not in today]
    beside = f"; not {', '.join(missing)}, which is not installed here" if missing else ""
    return f"{_number(planned)} events give the stated epsilon under {', '.join(shared)}{beside}"


def _exact(figure: Figure) -> Fraction:
    """An exact figure. GoalMissed where the float beside it is not the one that belongs to it."""
    value = Fraction(figure.exact)
    if upward(value) != figure.rounded:
        raise GoalMissed(f"{figure.rounded!r} stands beside {figure.exact}, and is not that number rounded up")
    return value


def _require_price(name: str, stated: Figure | None, today: Fraction | None, *, exactly: bool) -> None:
    """GoalMissed unless the price is what the events cost; a later version may know that they cost less.

    exactly: whether this version must find the same.
    """
    before = None if stated is None else _exact(stated)
    if before == today or (before is None and not exactly):
        return
    if before is not None and today is not None:
        rounded = name != "basic" and abs(today - before) <= ROUNDING * before
        if rounded or (today < before and not exactly):
            return
    said, found = ("no price" if one is None else f"epsilon {float(one):.12g}" for one in (before, today))
    raise GoalMissed(f"under {name} the events cost {found}, and the record states {said}")


def _require_guarantee(found: ReleaseRecord, budget: PrivacyBudget) -> None:
    charged, proved = found.spent.epsilon.get(found.spent.charged), _exact(found.plan.proved_epsilon)
    if charged is None or _exact(charged) > budget.epsilon or proved > budget.epsilon:
        raise GoalMissed(f"under {found.spent.charged}, which was charged, the events cost more than the guarantee")
    if found.private and found.rehearsal is not True and not found.guarantee.startswith(budget_words(budget)):
        raise GoalMissed(f"the guarantee is not the one of the budget: {budget_words(budget)}")
    if _exact(found.spent.delta) != budget.delta or found.spent.charged != found.plan.accountant:
        raise GoalMissed("the prices are not those at the plan's delta and accountant")
