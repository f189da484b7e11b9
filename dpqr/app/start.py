"""Start: what a published release hands to a later one of the same domain, which starts from it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from dpqr.app.verifying.evidence import Evidence, NotChecked, VerifyRequest, release_files
from dpqr.app.verifying.verify import require_verified, verify
from dpqr.construction.loop import Outcome
from dpqr.errors import UsageFault
from dpqr.fitting.earlier_tables import EarlierTables
from dpqr.fitting.evidence import gather, merged
from dpqr.fitting.interactions import put_together
from dpqr.io.outputs.releases.start_file import start_bytes
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.record_count import measured_total


def start_of(place: str) -> bytes:
    """The start file of a release on disk, which is verified first.

    Raises:
        UsageFault: there is no release, or one that has measured no table, or whose noise is not private.
        GoalMissed, LedgerError: it cannot be verified.

    Privacy:
        Post-processing of its record. A rehearsal and a release without private noise are refused: the one knows
        nothing, and of the other nobody may know.
    """
    record = release_files(place).record
    if record.get("rehearsal") or not record.get("private"):
        raise UsageFault(f"--start {place}: is a rehearsal, or has noise that is not private; give a release")
    require_verified(verify(VerifyRequest(release=place)))
    with TemporaryDirectory(prefix="dpqr-start-") as scratch:
        evidence = Evidence(VerifyRequest(release=place), Path(scratch))
        try:
            domain, plan = evidence.planned_from["domain"], evidence.plan
        except NotChecked as reason:
            raise UsageFault(f"--start {place}: cannot be started from: {reason}") from None
        tables = handed_on(plan.problem, evidence.outcome, str(record["sha256"]))
    if tables is None:
        raise UsageFault(f"--start {place}: has measured no table of columns, or no records; leave --start out")
    return start_bytes(tables, plan.problem.domain.names, domain)


def handed_on(problem: Problem, outcome: Outcome, sha256: str) -> EarlierTables | None:
    """The marginals that a run has measured, and those that it has started from, as far as its own draws leave them
    alive. None: it has measured none, or no records.

    Args:
        sha256: of the release.
    """
    history = outcome.transcript.measurements
    records = float(problem.n) if problem.n is not None and problem.unit.rows_public else measured_total(history)
    if records is None or records < 1.0:
        return None
    seen = put_together(gather(history, problem.domain.shape), records)
    whole = merged([*seen, *(problem.start.aged(seen, records) if problem.start else ())])
    tables = tuple(each for each in whole if each.block is None)
    return EarlierTables(sha256=sha256, records=records, tables=tables) if tables else None
