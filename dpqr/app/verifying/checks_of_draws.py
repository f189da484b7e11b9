"""Checks of a release that make it again: its plan from the public request, its figures from the recorded draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dpqr import __version__
from dpqr.app.releasing.locked_plan import SPOKEN
from dpqr.app.verifying.evidence import PROVED, Evidence, NotChecked, NotRepeated, is_since
from dpqr.data.unit import Neighbours
from dpqr.errors import DpqrError, GoalMissed
from dpqr.io.outputs.records.document_parts import versions_part
from dpqr.io.outputs.records.plan_document import SEAL, plan_document, sealed
from dpqr.io.outputs.records.sameness import Sameness, same_documents, same_rows
from dpqr.io.outputs.releases.read_answers import read_table
from dpqr.io.outputs.releases.release_files import CUMULATIVE, FIGURES_FILE, SYNTHETIC, VIEWS_FILE

STATED = ("version", "versions", "date", "publisher", "hashes", "sha256", "plan", "transcript")
"""Keys of the record that say how it was made, or that have a check of their own."""


def plan(evidence: Evidence) -> str:
    """The documents and options of the record give its plan; what it says beside, nothing gives again."""
    kept = evidence.document["plan"]
    if sealed(kept) != kept and (SEAL in kept or is_since(evidence.record.version, PROVED)):
        raise GoalMissed("the plan in the record is not what its seal was made of")
    _ = evidence.planned_from

    def compared() -> Sameness:
        made = {name: part for name, part in plan_document(evidence.plan).items() if name not in (*SPOKEN, "version")}
        older = {} if evidence.record.version == __version__ else dict.fromkeys(made)
        return same_documents(older | {name: kept[name] for name in made if name in kept}, made, "$.plan")

    return f"the request in the record gives it; {_repeated(evidence, compared).words('values')}"


def draws(evidence: Evidence) -> str:
    """The noisy draws are those that the plan makes, in their order, and lead to the choices that were made."""
    kept = evidence.document["transcript"]
    if evidence.of_session and evidence.questions is None:
        return _draws_of_session(evidence)
    found = _same(evidence, lambda: same_documents(kept, evidence.made[1]["transcript"], "$.transcript"))
    return f"{len(kept)} rounds follow the plan; {found.words('values')}"


def _draws_of_session(evidence: Evidence) -> str:
    """Every answer that was measured is a recorded draw of its own. Records of dpqr 0.6 and 0.7 hold no more."""
    draws = [(each.law, found) for each in evidence.record.transcript for found in (each.measured or ())[:1]]
    recorded = Counter(
        (float(found.values[0] * Fraction(found.grid)), float(law.deviation * Fraction(found.grid)))
        for law, found in draws
        if law
    )
    table = read_table(evidence.path / evidence.record.files[0])
    columns = (table[name].to_pylist() for name in ("estimate", "measured", "noise_deviation"))
    paid = [row for row in zip(*columns, strict=True) if row[1] is not None]
    if Counter(row[1:] for row in paid) - recorded or any(estimate != value for estimate, value, _ in paid):
        raise GoalMissed("an answer that was measured is not one of the recorded draws")
    return f"{len(paid):,} measured answers are recorded draws; {table.num_rows - len(paid):,} free ones: not repeated"


def statements(evidence: Evidence) -> str:
    """What the record says beside plan and draws: guarantee, prices, receipt, certificate, warnings."""
    kept = {name: part for name, part in evidence.document.items() if name not in STATED}

    def compared() -> Sameness:
        return same_documents(kept, {name: part for name, part in evidence.made[1].items() if name not in STATED})

    return _same(evidence, compared).words("values")


def answers(evidence: Evidence) -> str:
    """Estimates, errors, measured values and intervals follow from the draws."""
    return f"{_same(evidence, lambda: evidence.answers, 'rows').words('rows')}{_understated(evidence)}"


def synthetic(evidence: Evidence) -> str:
    """Synthetic data follows from the draws and the public seed.

    A row is drawn after another, so where the fit ends a little elsewhere many come out otherwise.
    """
    name = next((name for name in evidence.record.files if name.endswith(SYNTHETIC)), None)
    if name is None:
        raise NotChecked("the release holds none")
    found = _here(evidence, lambda: same_rows(evidence.path / name, evidence.made[0] / name))
    said = f"{found.near:,} of {found.compared:,} rows come out otherwise{_elsewhere(evidence)}"
    if found.near and evidence.answers.near:
        raise NotRepeated(f"{said}; the answers are equal within the tolerance alone")
    if found.near:
        raise GoalMissed(said)
    return found.words("rows")


def figures_and_views(evidence: Evidence) -> str:
    """Figures, views and a counter's cumulative answers follow from the answers that were made again."""
    kinds = (FIGURES_FILE, VIEWS_FILE, f"{CUMULATIVE}.")
    names = [name for name in evidence.record.files if any(kind in name for kind in kinds)]
    if not names:
        raise NotChecked("the release holds none")
    found = [_here(evidence, partial(same_rows, evidence.path / name, evidence.made[0] / name)) for name in names]
    other = [name for name, each in zip(names, found, strict=True) if each.near]
    if other and evidence.answers.near:
        raise NotRepeated(f"rows of {other[0]} come out otherwise; the answers are equal within the tolerance alone")
    if other:
        raise GoalMissed(f"rows of {other[0]} come out otherwise{_elsewhere(evidence)}")
    return f"{sum(each.compared for each in found):,} rows equal bit for bit"


def _understated(evidence: Evidence) -> str:
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


def _elsewhere(evidence: Evidence) -> str:
    """What made the release, where it is not what runs here."""
    made_with, here = evidence.document["versions"], versions_part()
    other = [f"{name} {made_with[name]}" for name in here if made_with.get(name, here[name]) != here[name]]
    return f"; made with {', '.join(other)}" if other else "; made elsewhere, or changed since"


def _same(evidence: Evidence, compare: Callable[[], Sameness], noun: str = "figures") -> Sameness:
    """What a comparison found. NotRepeated where figures are equal within the tolerance alone."""
    found = _here(evidence, compare)
    if found.near:
        raise NotRepeated(f"{found.words(noun)}{_elsewhere(evidence)}", within=True)
    return found


def _here(evidence: Evidence, compare: Callable[[], Sameness]) -> Sameness:
    """What a comparison found. On the versions and the arithmetic that the record names nothing may differ by a bit."""
    found = _repeated(evidence, compare)
    if found.near and evidence.document["versions"] == versions_part():
        raise GoalMissed(
            f"{found.near:,} of {found.compared:,} figures differ, within the tolerance; but the record names the "
            "versions and the arithmetic that run here, which give the same figures bit for bit: it was changed"
        )
    return found


def _repeated(evidence: Evidence, compare: Callable[[], Sameness]) -> Sameness:
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
