"""Show: a release looked at again, from its files alone."""

from __future__ import annotations

import os

from msgspec import Struct

from dpqr.domain.text.sources import parse_plain
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.wording import Fact
from dpqr.ledger.codec import JSON
from dpqr.releases.answers.answered import AnsweredBlock
from dpqr.releases.files.atomic import RECORD
from dpqr.releases.files.read_release import (
    BlockEntry,
    ReleaseFiles,
    all_answers,
    block_entries,
    prediction_record,
    read_answers,
    read_figures,
    read_release,
    release_around,
    unverified_predictions,
)
from dpqr.releases.files.tidy import Row
from dpqr.releases.files.views import Nodes, WholeNumberViews, nodes_of, views_of
from dpqr.releases.record.parts import periods_read
from dpqr.releases.sentences import MADE_UP
from dpqr.workload.queries_file import read_queries


class StoredRun(Struct, frozen=True, kw_only=True):
    """What lies on disk of a run. entries: the blocks that it answered; of a prediction run, none. figures: rows of
    their table. unverified: why record and files do not belong together, or may not; empty: their hashes fit."""

    record: JSON
    receipt: tuple[Fact, ...]
    entries: tuple[BlockEntry, ...]
    figures: tuple[Row, ...] = ()
    unverified: str = ""


def show(place: str) -> StoredRun:
    """The record of a release, or of predictions or a model, by any of its files.

    Raises: UsageFault where there is none; DocumentError where it is damaged. Privacy: public files only.
    """
    found = _open_run(place)
    if isinstance(found, dict):
        doubt = unverified_predictions(place, found)
        return StoredRun(record=found, receipt=stored_receipt(found, doubt), entries=(), unverified=doubt)
    figures, doubt = tuple(read_figures(found)), found.unverified
    return StoredRun(
        record=found.record,
        receipt=stored_receipt(found.record, doubt),
        entries=block_entries(found),
        figures=figures,
        unverified=doubt,
    )


def why_unverified(place: str) -> str:
    """Why a release, or predictions, may have been changed since it was made; empty: all hashes fit. Raises: as
    `show`."""
    found = _open_run(place)
    return unverified_predictions(place, found) if isinstance(found, dict) else found.unverified


def rows_shown(place: str) -> str:
    """Of which rows its figures are, where a reader may take them for others: of a rehearsal, and of a counter, which
    counts more than it has read. Empty: of those that it is a release of. Raises: as `show`."""
    found = _open_run(place)
    record = found if isinstance(found, dict) else found.record
    if record.get("rehearsal"):
        return f"rehearsal: {MADE_UP}"
    if not record["plan"].get("counter"):
        return ""
    return f"of the rows of {periods_read(record['plan'])} alone; cumulative answers stand in their own file"


def show_answers(place: str, query: str) -> AnsweredBlock:
    """The answers of one block of a release. Raises: as `show`, and UsageFault where it has no such block."""
    found = _open_run(place)
    if isinstance(found, dict):
        raise UsageFault(f"{place}: predictions answer no queries; leave out --query")
    return read_answers(found, query)


def show_figure(place: str, name: str) -> tuple[Row, ...]:
    """The rows of one figure; none where the release has no figure of this name. One per person is found by the name
    that the queries document gives it, too. Raises: as `show`."""
    kept = show(place)
    taken = {*(one["figure"] for one in kept.figures), *(entry.name for entry in kept.entries)}
    wanted = name if name in taken else f"{name} (persons)"
    return tuple(one for one in kept.figures if one["figure"] == wanted)


def show_views(place: str, base: int) -> WholeNumberViews:
    """The answers of marginals and hierarchies in whole numbers that add up. Raises: as `show`; InfeasiblePlan where
    there are none."""
    found = _open_run(place)
    if isinstance(found, dict):
        raise UsageFault(f"{place}: predictions answer no queries; leave out --views")
    return stored_views(found, base)


def show_bound(place: str, name: str) -> tuple[float, float] | None:
    """The proved bound on a block's L1 error, in records, and its probability; None: none was bought. Raises: as
    `show`."""
    bounds = show(place).record.get("bounds") or {"blocks": ()}
    found = (each["records"] for each in bounds["blocks"] if each["name"] == name)
    records = next(found, None)
    return None if records is None else (float(records), float(bounds["confidence"]))


def _open_run(place: str) -> ReleaseFiles | JSON:
    around = release_around(place)
    record = None if around else prediction_record(place)
    if around is None and record is None:
        raise UsageFault(f"{place}: is no release; give the directory or file that dpqr release or predict has made")
    return record or read_release(place if os.path.isdir(place) else around or place)


def stored_receipt(record: JSON, unverified: str = "") -> tuple[Fact, ...]:
    """As it was printed; of a record that keeps none, what it says in words. unverified: why neither is believed."""
    doubt = (("Not verified", unverified),) if unverified else ()
    lines, trust = record.get("receipt"), record.get("trust")
    lines = lines if isinstance(lines, list) else []
    pairs = [line for line in lines if isinstance(line, list) and len(line) == 2]
    if lines and len(pairs) == len(lines) and all(isinstance(text, str) for pair in pairs for text in pair):
        return (*doubt, *((name, text) for name, text in pairs))
    notes = trust if isinstance(trust, list) else []
    words = [("Warning", record.get("warning")), ("Guarantee", record.get("guarantee"))]
    words += [("Accuracy", record.get("certainty")), *(("Note", note) for note in notes)]
    return (*doubt, *((name, text) for name, text in words if isinstance(text, str)))


# Views of a release on disk, from its answers and the documents in its record.


def stored_views(files: ReleaseFiles, base: int) -> WholeNumberViews:
    """The views that `release_views` makes, of a release on disk. Raises: DocumentError for damaged files;
    InfeasiblePlan where there are no views."""
    try:
        nodes = _nodes(files)
    except (KeyError, TypeError, AttributeError):
        raise DocumentError(f"{files.path / RECORD}: states queries that dpqr cannot read; restore it") from None
    found = zip(block_entries(files), all_answers(files), strict=True)
    # Counts of all cells of the columns that they look at, or of a level's nodes.
    tables = [
        block
        for entry, block in found
        if block.name in nodes.names or {column.name for column in block.columns} == set(entry.columns)
    ]
    return views_of(tables, nodes, base)


def _nodes(files: ReleaseFiles) -> Nodes:
    """The levels that were asked for, by the documents in the record: answers name nodes, and not their parents."""
    request = files.record["plan"].get("request")
    entries = [each for each in request["queries"]["queries"] if "coefficients" not in each] if request else []
    if not any("hierarchy" in each for each in entries):
        return Nodes()
    document = read_queries({"queries": parse_plain(entries)}, parse_plain(request["domain"]))
    return nodes_of(document.workload, document.domain)
