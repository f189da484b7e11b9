"""Earlier counts: what the release before of a counter hands on, which its caller has verified."""

from __future__ import annotations

from dpqr.app.planning.counters import counter_of
from dpqr.app.requests import ReleaseRequest
from dpqr.construction.answers.cumulative import Earlier
from dpqr.errors import DocumentError, UsageFault
from dpqr.io.outputs.answer_tables.cumulative_table import handed_on
from dpqr.io.outputs.records.plan_document import counter_part
from dpqr.io.outputs.releases.read_release import ReleaseFiles, read_release
from dpqr.privacy.counter import CounterTurn
from dpqr.strategies.plan import Plan


def earlier_counts(request: ReleaseRequest, plan: Plan) -> Earlier | None:
    """What the release before hands on; None: there is none.

    Raises:
        UsageFault: there is no directory for the files that the next release needs, or --after is missing or of
            another period.
        DocumentError: --after is of another counter, or of other queries.
    """
    turn = plan.problem.turn
    if turn is None:
        return None
    if request.output.directory is None:
        raise UsageFault("--cumulative: the next release adds to the files of this one; add --out DIR")
    if turn.before is None:
        return None
    if request.after is None:
        raise UsageFault(f"--cumulative: {turn.period.name} goes on from {turn.before.name}; add --after its release")
    files = read_release(request.after)
    _require_before(files, plan, turn)
    if bool(files.record.get("rehearsal")) != request.rehearse:
        raise DocumentError(f"--after {request.after}: a rehearsal goes on from a rehearsal, and a release from one")
    counts = handed_on(files, turn.counter.tree, turn.number - 1)
    sha256 = str(files.record["sha256"])
    return Earlier(counts=counts, period=turn.before.name, sha256=sha256)


def _require_before(files: ReleaseFiles, plan: Plan, turn: CounterTurn) -> None:
    """The same counter, one period earlier, of the same questions."""
    theirs, mine = counter_of(files), counter_part(turn)["counter"]
    if theirs.get("number") != turn.number - 1:
        raise UsageFault(
            f"--after {files.path}: is release {theirs.get('number')} of its counter, and {turn.period.name} is "
            f"release {turn.number}; give the release of {turn.number - 1}"
        )
    other = next((name for name in mine if name != "number" and theirs.get(name) != mine[name]), None)
    unit, accountant = files.record["plan"]["unit"], files.record["plan"]["accountant"]
    if other is None and (unit["words"], accountant) != (plan.problem.unit.words, plan.roles.accountant.name):
        other = "unit or accountant"
    if other is not None:
        raise DocumentError(f"--after {files.path}: is of another counter ({other} differs); begin one, or go on alike")
    files.require_same(plan.problem.workload, plan.problem.domain)
