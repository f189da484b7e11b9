"""Checks of a release that need its record and its files alone: form, seal, hashes, events and prices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from dpqr import __version__
from dpqr.domain.domain import LearnedEntry
from dpqr.domain.text.sources import parse_plain
from dpqr.kernel.accountants.known import ACCOUNTANTS, RELEASING, available
from dpqr.kernel.budget import PrivacyBudget, upward, upward_text
from dpqr.kernel.errors import DocumentError, DpqrError, GoalMissed
from dpqr.kernel.events import Composition
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.wording import count_words
from dpqr.ledger.budgets import parse_display_delta
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.record import Record, require_learned
from dpqr.published.evidence import (
    PROOFS,
    PROVED,
    NotChecked,
    NotRepeated,
    ReleaseEvidence,
    Sameness,
    is_since,
    require_same_text,
    same_documents,
    same_rows,
)
from dpqr.published.repeat import recorded_reason
from dpqr.releases.files.atomic import RECORD
from dpqr.releases.files.read_release import read_release, read_table
from dpqr.releases.files.release_files import CUMULATIVE, FIGURES_FILE, SYNTHETIC, VIEWS_FILE, file_hash
from dpqr.releases.locked_plan import UNCOMPARED_KEYS, read_plan
from dpqr.releases.record.parts import FigurePart, draws_digest, learned_digest, parsed_events, versions_part, written
from dpqr.releases.record.plan_document import SEAL, plan_document, seal_document
from dpqr.releases.record.release_document import Paid, ReleaseRecord, figure_parts, parsed_record
from dpqr.releases.sentences import budget_words

AFTER_NEAR_ANSWERS = "the answers are equal within the tolerance alone"
DIGITS = 6
ROUNDING = 1e-9
"""Relative difference of two prices that were computed with floats, by other versions of the libraries below them."""


def record(evidence: ReleaseEvidence) -> str:
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


def files(evidence: ReleaseEvidence) -> str:
    """Nothing is missing, nothing came, nothing was changed."""
    stated, kept = evidence.record.files, evidence.document.get("hashes")
    listed, there = {*stated, *(kept or ()), RECORD}, set(os.listdir(evidence.path))
    if missing := sorted(listed - there):
        raise GoalMissed(f"{missing[0]!r} is listed by the record and does not lie beside it; restore it")
    if extra := sorted(there - listed):
        raise GoalMissed(f"{extra[0]!r} lies beside the record, which does not list it; move it away")
    if kept is None:
        raise NotChecked(f"{len(stated)} files are there, and the record holds no hashes of them")
    if unnamed := sorted({*stated} - {*kept}):
        raise GoalMissed(f"the record lists {unnamed[0]!r}, and holds no hash of it")
    for name, digest in kept.items():
        if file_hash(evidence.path / name) != digest:
            raise GoalMissed(f"{name} is not the file that the record was written for; restore it")
    return f"{len(kept)} files have the hashes that the record states"


def events(evidence: ReleaseEvidence) -> str:
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
    if found.person_tables:
        yield found.person_tables.charge
    for drawn in found.errors.draws if found.errors else ():
        yield drawn.charge


def prices(evidence: ReleaseEvidence) -> str:
    """The planned events, added up again under every accountant; the guarantee is no less than what was charged."""
    found, document = evidence.record, evidence.document
    budget = PrivacyBudget(*map(_exact, (found.plan.budget.epsilon, found.plan.budget.delta)))
    planned, delta = evidence.events(document["plan"]["events"]), _exact(found.spent.delta)
    today = prices_today(planned, delta, found.spent.charged)
    shared = [name for name in found.spent.epsilon if name in today]
    for name in shared:
        exactly = name == "basic" or found.version == __version__
        _require_price(name, found.spent.epsilon[name], today[name], exactly=exactly)
    charged, proved = found.spent.epsilon.get(found.spent.charged), _exact(found.plan.proved_epsilon)
    if charged is None or _exact(charged) > budget.epsilon or proved > budget.epsilon:
        raise GoalMissed(f"under {found.spent.charged}, which was charged, the events cost more than the guarantee")
    if found.private and found.rehearsal is not True and not found.guarantee.startswith(budget_words(budget)):
        raise GoalMissed(f"the guarantee is not the one of the budget: {budget_words(budget)}")
    if _exact(found.spent.delta) != budget.delta or found.spent.charged != found.plan.accountant:
        raise GoalMissed("the prices are not those at the plan's delta and accountant")
    missing = [name for name in found.spent.epsilon if name not in today]
    beside = f"; not {', '.join(missing)}, which is not installed here" if missing else ""
    return f"{_number(planned)} events give the stated epsilon under {', '.join(shared)}{beside}"


def _exact(figure: FigurePart) -> Fraction:
    """An exact figure. GoalMissed where the float beside it is not the one that belongs to it."""
    value = Fraction(figure.exact)
    if upward(value) != figure.rounded:
        raise GoalMissed(f"{figure.rounded!r} stands beside {figure.exact}, and is not that number rounded up")
    return value


def _require_price(name: str, stated: FigurePart | None, today: Fraction | None, *, exactly: bool) -> None:
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


# Checks of a release against what lies elsewhere: the ledger that paid for it, and the plan that was locked before.

PLANNED, BINDING = (0, 10), (0, 11)
"""Versions of dpqr from which on every reservation names its plan, and every settlement what was drawn."""


def ledger(evidence: ReleaseEvidence) -> str:
    """The whole ledger is sound, and its entry has paid for this release."""
    stated, given = evidence.record.ledger, evidence.request.ledger
    if isinstance(stated, str):
        expected = given is not None and not evidence.request.usual
        raise (GoalMissed if expected else NotChecked)("none paid for this release")
    if given is None:
        raise NotChecked(f"entry {stated.entry} of dataset {stated.dataset!r} paid; give the ledger, or its export")
    walked = evidence.walked
    paid = walked.entries[stated.entry] if stated.entry < len(walked.entries) else None
    if paid is None or paid.hash != stated.seal or (paid.kind, paid.dataset) != ("reserve", stated.dataset):
        raise GoalMissed(f"entry {stated.entry} is not the one whose seal the record states: it is another ledger")
    planned = evidence.events(evidence.document["plan"]["events"])
    if paid.events != planned or not names_plan(paid, _followed(evidence), evidence.record.version):
        raise GoalMissed(f"entry {paid.number} paid for another plan")
    if paid.reason != recorded_reason(evidence.record):
        raise GoalMissed(f"entry {paid.number} was paid for another reason, by or for somebody else")
    end = _end(evidence, walked) + require_learned_domain(walked, evidence.document["plan"])
    return f"{len(walked.entries)} entries are chained and priced; entry {paid.number} paid; {end}"


def require_learned_domain(record: Record, plan: Mapping[str, Any]) -> str:
    """That the entries which a plan's learned domain names have paid for it, in words; empty where it was not learned.

    Raises: GoalMissed as `require_learned`, and where a run has learned this domain that the domain does not name.
    """
    named = learned_entries(plan.get("domain", {}))
    for number in () if named else learning_runs(record, plan):
        paid = record.entries[number]
        raise GoalMissed(
            f"entry {number} of dataset {paid.dataset!r} has paid for a run that learned this domain, and the domain "
            "does not say so"
        )
    return require_learned(record, named)


def learning_runs(record: Record, plan: Mapping[str, Any]) -> list[int]:
    """Numbers of the reservations whose runs have learned the domain of a plan, by what they settled."""
    domain = (plan.get("request") or {}).get("domain")
    try:
        digest = learned_digest(parse_plain(domain))
    except (DpqrError, ValueError, TypeError, AttributeError, RecursionError):  # no domain, or a forged one
        return []
    return [each.settles for each in record.entries if each.settles is not None and each.drawn == digest]


def learned_entries(domain: Mapping[str, Any]) -> list[LearnedEntry]:
    """The entries that paid for what was learned, as a plan's domain names them."""
    found = []
    for stated in domain.get("learned", {}).get("ledger", ()):
        epsilon, delta = (Fraction(stated["budget"][name]["exact"]) for name in ("epsilon", "delta"))
        budget = PrivacyBudget(epsilon, delta)
        found.append(
            LearnedEntry(dataset=stated["dataset"], number=stated["entry"], seal=stated["seal"], budget=budget)
        )
    return found


def names_plan(paid: LedgerEntry, followed: str, version: object) -> bool:
    """Whether a reservation was made for the plan of this hash; of versions before PLANNED some name none."""
    return paid.plan == followed or (not paid.plan and not is_since(version, PLANNED))


def settlement(evidence: ReleaseEvidence) -> str:
    """The entry that settled the run names the draws of this record: another run by the same plan has others."""
    stated = evidence.record.ledger
    if isinstance(stated, str):
        raise NotChecked("none paid for this release")
    return require_bound(evidence.walked, stated.entry, evidence.document)


def require_bound(walked: Record, number: int, record: Mapping[str, Any]) -> str:
    """That a reservation's settlement names the draws of a record. Raises: GoalMissed where it names others; NotChecked
    where it names none. A record of a version that binds its draws may not name an entry that binds none."""
    settled = next((entry for entry in walked.entries if entry.settles == number), None)
    if settled is None:
        raise NotChecked(f"not bound: entry {number} is not settled yet, so no entry names what was drawn")
    if not settled.drawn and is_since(record["version"], BINDING):
        raise GoalMissed(f"entry {settled.number} names no draws: the run that it settled has released nothing")
    if not settled.drawn:
        raise NotChecked(
            f"not bound: entry {settled.number} is of dpqr 0.10 or older and names no draws; another release by the "
            "same plan could name the same entry"
        )
    if settled.drawn != draws_digest(record):
        raise GoalMissed(f"entry {settled.number} names other draws than the record: it settled another run")
    return f"entry {settled.number} names the draws of the record, {settled.drawn[:12]}"


def _end(evidence: ReleaseEvidence, walked: Record) -> str:
    """How the run was settled. GoalMissed where its settlement does not cover what the record says was charged."""
    number = evidence.record.ledger.entry if isinstance(evidence.record.ledger, Paid) else None
    settled = next((entry for entry in walked.entries if entry.settles == number), None)
    if settled is None:
        return "it is not settled yet"
    drawn, planned = (
        evidence.events(part) for part in (evidence.document["events"], evidence.document["plan"]["events"])
    )
    if settled.events not in (drawn, planned):
        raise GoalMissed(f"entry {settled.number} settled other events than the record says were charged")
    # What the record says that the ledger keeps.
    stated = evidence.record.ledger
    if isinstance(stated, Paid) and stated.charged and settled.cost is not None:
        kept = walked.state.accounts[stated.dataset].terms.currency.words(settled.cost, upward_text)
        if kept != stated.charged:
            raise GoalMissed(f"entry {settled.number} keeps {kept}, and the record says {stated.charged}")
    return f"entry {settled.number} settled {'what was charged' if settled.events == drawn else 'all that was planned'}"


def locked_plan(evidence: ReleaseEvidence) -> str:
    """The plan of the record is the one that was reviewed."""
    given = evidence.request.plan
    if given is None:
        raise NotChecked("give the plan that was reviewed, if there is one")
    kept = read_plan(given).document
    require_same_text(kept, Path(given))
    followed = evidence.document["plan"]
    same = kept[SEAL] == _followed(evidence) and all(kept[part] == followed[part] for part in ("budget", "events"))
    if kept != followed and not (evidence.of_session and same):
        raise GoalMissed(f"{given}: is another plan than the one that the release followed")
    return f"the release followed it; its sha256 is {kept[SEAL]}"


def _followed(evidence: ReleaseEvidence) -> str:
    """The SHA-256 of the plan that was paid for: of a session, that of its opening."""
    return evidence.questions.plan if evidence.questions else str(evidence.record.plan.sha256)


# Checks of a release that make it again: its plan from the public request, its figures from the recorded draws.

UNREPEATED_KEYS = ("version", "versions", "date", "publisher", "hashes", "sha256", "plan", "transcript")
"""Keys of the record that say how it was made, or that have a check of their own."""


def plan(evidence: ReleaseEvidence) -> str:
    """The documents and options of the record give its plan; what it says beside, nothing gives again."""
    kept = evidence.document["plan"]
    if seal_document(kept) != kept and (SEAL in kept or is_since(evidence.record.version, PROVED)):
        raise GoalMissed("the plan in the record was changed after its sha256 was written into it; restore the record")
    _ = evidence.planned_from

    def compared() -> Sameness:
        made = {
            name: part
            for name, part in plan_document(evidence.plan).items()
            if name not in (*UNCOMPARED_KEYS, "version")
        }
        older = {} if evidence.record.version == __version__ else dict.fromkeys(made)
        return same_documents(older | {name: kept[name] for name in made if name in kept}, made, "$.plan")

    return f"the request in the record gives it; {_require_same(evidence, compared).words('values')}"


def draws(evidence: ReleaseEvidence) -> str:
    """The noisy draws are those that the plan makes, in their order, and lead to the choices that were made."""
    kept = evidence.document["transcript"]
    if evidence.of_session and evidence.questions is None:
        return _draws_of_session(evidence)
    found = _same(evidence, lambda: same_documents(kept, evidence.made[1]["transcript"], "$.transcript"))
    return f"{count_words(len(kept), 'step')}, as the plan makes them; {found.words('values')}"


def _draws_of_session(evidence: ReleaseEvidence) -> str:
    """Every answer that was measured is a recorded draw of its own. Records of dpqr 0.6 and 0.7 hold no more."""
    draws = [(each.law, found) for each in evidence.record.transcript for found in (each.measured or ())[:1]]
    recorded = Counter(
        (float(found.values[0] * Fraction(found.grid)), float(law["deviation"] * Fraction(found.grid)))
        for law, found in draws
        if law
    )
    table = read_table(evidence.path / evidence.record.files[0])
    columns = (table[name].to_pylist() for name in ("estimate", "measured", "noise_deviation"))
    paid = [row for row in zip(*columns, strict=True) if row[1] is not None]
    if Counter(row[1:] for row in paid) - recorded or any(estimate != value for estimate, value, _ in paid):
        raise GoalMissed("an answer that was measured is not one of the recorded draws")
    return f"{len(paid):,} measured answers are recorded draws; {table.num_rows - len(paid):,} free ones: not repeated"


def statements(evidence: ReleaseEvidence) -> str:
    """What the record says beside plan and draws: guarantee, prices, receipt, certificate, warnings."""
    kept = {name: part for name, part in evidence.document.items() if name not in UNREPEATED_KEYS}

    def compared() -> Sameness:
        return same_documents(
            kept, {name: part for name, part in evidence.made[1].items() if name not in UNREPEATED_KEYS}
        )

    return _same(evidence, compared).words("values")


def answers(evidence: ReleaseEvidence) -> str:
    """Estimates, errors, measured values and intervals follow from the draws."""
    return f"{_same(evidence, lambda: evidence.answers, 'rows').words('rows')}{_understated_noise(evidence)}"


def synthetic(evidence: ReleaseEvidence) -> str:
    """Synthetic data follows from the draws and the public seed.

    A row is drawn after another, so where the fit ends a little elsewhere many come out otherwise.
    """
    name = next((name for name in evidence.record.files if name.endswith(SYNTHETIC)), None)
    if name is None:
        raise NotChecked("the release holds none")

    def said(found: Sameness) -> str:
        return f"{found.near:,} of {found.compared:,} rows come out otherwise{_elsewhere(evidence)}"

    def compare() -> Sameness:
        found = same_rows(evidence.path / name, evidence.made[0] / name)
        if found.near and not evidence.answers.near:
            raise GoalMissed(said(found))
        return found

    found = _here(evidence, compare)
    if found.near:
        raise NotRepeated(f"{said(found)}; {AFTER_NEAR_ANSWERS}", accepted="not checked")
    return found.words("rows")


def figures_and_views(evidence: ReleaseEvidence) -> str:
    """Figures, views and a counter's cumulative answers follow from the answers that were made again."""
    kinds = (FIGURES_FILE, VIEWS_FILE, f"{CUMULATIVE}.")
    names = [name for name in evidence.record.files if any(kind in name for kind in kinds)]
    if not names:
        raise NotChecked("the release holds none")
    found = [_here(evidence, partial(same_rows, evidence.path / name, evidence.made[0] / name)) for name in names]
    other = [name for name, each in zip(names, found, strict=True) if each.near]
    if other and evidence.answers.near:
        raise NotRepeated(f"rows of {other[0]} come out otherwise; {AFTER_NEAR_ANSWERS}", accepted="not checked")
    if other:
        raise GoalMissed(f"rows of {other[0]} come out otherwise{_elsewhere(evidence)}")
    return f"{sum(each.compared for each in found):,} rows equal bit for bit"


def _understated_noise(evidence: ReleaseEvidence) -> str:
    """What a record of 0.10.0 or before states too small: of a session where records are replaced, the noise of answers
    that were measured with the table of their parts."""
    questions, made = evidence.questions, evidence.repeated
    if questions is None or questions.rule or made.plan.problem.unit.neighbours is not Neighbours.REPLACE:
        return ""
    if all(len(each.measurement.values[0]) == 1 for each in made.transcript.rounds if each.measurement):
        return ""
    return (
        "; noise_deviation of measured answers is too small: dpqr 0.10.0 and before stated that of the query alone, "
        "and drew more; the intervals are those of what was drawn"
    )


def _elsewhere(evidence: ReleaseEvidence) -> str:
    """What made the release, where it is not what runs here."""
    made_with, here = evidence.document["versions"], versions_part()
    other = [f"{name} {made_with[name]}" for name in here if made_with.get(name, here[name]) != here[name]]
    return f"; made with {', '.join(other)}" if other else "; made elsewhere, or changed since"


def _same(evidence: ReleaseEvidence, compare: Callable[[], Sameness], noun: str = "figures") -> Sameness:
    """What a comparison found. NotRepeated where figures are equal within the tolerance alone."""
    found = _here(evidence, compare)
    if found.near:
        raise NotRepeated(f"{found.words(noun)}{_elsewhere(evidence)}", accepted="ok")
    return found


def _here(evidence: ReleaseEvidence, compare: Callable[[], Sameness]) -> Sameness:
    """What a comparison found. On the versions and the arithmetic that the record names nothing may differ by a bit."""
    found = _require_same(evidence, compare)
    if found.near and evidence.document["versions"] == versions_part():
        raise GoalMissed(
            f"{found.near:,} of {found.compared:,} figures differ, within the tolerance; but the record names the "
            "versions and the arithmetic that run here, which give the same figures bit for bit: it was changed"
        )
    return found


def _require_same(evidence: ReleaseEvidence, compare: Callable[[], Sameness]) -> Sameness:
    """What a comparison found. Another version of dpqr may rightly make another release of the same draws.

    A plan may be older than its release, and from elsewhere: its figures in floating point have a tolerance anywhere.
    """
    made_by = evidence.record.version
    try:
        return compare()
    except DpqrError as mismatch:
        if made_by == __version__:
            raise
        raise NotRepeated(
            f"dpqr {made_by} made it and can repeat it; {__version__} does otherwise: {mismatch}"
        ) from None


# Reprice: the events of an old release, priced by the accountants of today.

Prices = Mapping[str, Fraction | None]
"""Epsilon by accountant; None where its theorem does not cover the events."""


class RepricedRelease(Struct, frozen=True, kw_only=True):
    """version: of dpqr, that made the release. charged: the accountant that its guarantee rests on, which stays as it
    is. before: at `delta_before`, as the record states it. now: at `delta`. unverified: why the record may have been
    changed since it was written; empty: its hashes fit."""

    version: str
    charged: str
    delta_before: Fraction
    before: Prices
    delta: Fraction
    now: Prices
    unverified: str = ""

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        stated, now = (
            written({"delta": FigurePart.of(delta), "epsilon": figure_parts(prices)})
            for delta, prices in ((self.delta_before, self.before), (self.delta, self.now))
        )
        return {
            "version": self.version,
            "charged": self.charged,
            "not_verified": self.unverified or None,
            "stated": stated,
            "now": now,
        }


def prices_today(events: Composition, delta: Fraction, charged: str) -> Prices:
    """Epsilon of the events under every accountant that is installed here, and under the one that was charged."""
    shown = available({name: one for name, one in RELEASING.items() if name in (*ACCOUNTANTS, charged)})
    return {name: accountant.epsilon(events, delta) for name, accountant in shown.items()}


def reprice(release: str, delta: str | None = None) -> RepricedRelease:
    """Price the planned events of a release again. delta: where; None: at the release's own.

    Raises: UsageFault where there is no release, or no such delta; DocumentError where its record is damaged.
    """
    at, files = parse_display_delta(delta), read_release(release)
    record = parsed_record(files.record, str(files.path / RECORD))
    try:
        events = parsed_events(files.record["plan"]["events"])
        before = Fraction(record.spent.delta.exact)
        stated = {name: Fraction(each.exact) if each else None for name, each in record.spent.epsilon.items()}
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        raise DocumentError(f"{files.path / RECORD}: states events or prices that dpqr does not know") from None
    return RepricedRelease(
        version=record.version,
        charged=record.spent.charged,
        delta_before=before,
        before=stated,
        delta=before if at is None else at,
        now=prices_today(events, before if at is None else at, record.spent.charged),
        unverified=files.unverified,
    )
