"""Show: a release looked at again, from its files alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.errors import UsageFault
from dpqr.io.outputs.answer_tables.views_table import Views
from dpqr.io.outputs.releases.kept_views import kept_views
from dpqr.io.outputs.releases.read_answers import BlockEntry, block_entries, read_answers, read_figures
from dpqr.io.outputs.releases.read_release import (
    ReleaseFiles,
    prediction_record,
    read_release,
    release_around,
    unverified_predictions,
)
from dpqr.report.wording import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What lies on disk of a run. entries: the blocks that it answered; of a prediction run, none. figures: rows of
    their table. unverified: why record and files do not belong together, or may not; empty: their hashes fit."""

    record: dict[str, Any]
    receipt: tuple[Fact, ...]
    entries: tuple[BlockEntry, ...]
    figures: tuple[dict[str, Any], ...] = ()
    unverified: str = ""


def show(place: str) -> Kept:
    """The record of a release, or of predictions or a model, by any of its files.

    Raises: UsageFault where there is none; DocumentError where it is damaged. Privacy: public files only.
    """
    found = _found(place)
    if isinstance(found, dict):
        doubt = unverified_predictions(place, found)
        return Kept(record=found, receipt=kept_receipt(found, doubt), entries=(), unverified=doubt)
    figures, doubt = tuple(read_figures(found)), found.unverified
    return Kept(
        record=found.record,
        receipt=kept_receipt(found.record, doubt),
        entries=block_entries(found),
        figures=figures,
        unverified=doubt,
    )


def unverified(place: str) -> str:
    """Why a release, or predictions, may have been changed since it was made; empty: all hashes fit. Raises: as
    `show`."""
    found = _found(place)
    return unverified_predictions(place, found) if isinstance(found, dict) else found.unverified


def show_answers(place: str, query: str) -> AnsweredBlock:
    """The answers of one block of a release. Raises: as `show`, and UsageFault where it has no such block."""
    found = _found(place)
    if isinstance(found, dict):
        raise UsageFault(f"{place}: predictions answer no queries; leave out --query")
    return read_answers(found, query)


def show_figure(place: str, name: str) -> tuple[dict[str, Any], ...]:
    """The rows of one figure; none where the release has no figure of this name. Raises: as `show`."""
    return tuple(one for one in show(place).figures if one["figure"] == name)


def show_views(place: str, base: int) -> Views:
    """The answers of marginals and hierarchies in whole numbers that add up. Raises: as `show`; InfeasiblePlan where
    there are none."""
    found = _found(place)
    if isinstance(found, dict):
        raise UsageFault(f"{place}: predictions answer no queries; leave out --views")
    return kept_views(found, base)


def show_bound(place: str, name: str) -> tuple[float, float] | None:
    """The proved bound on a block's L1 error, in records, and its probability; None: none was bought. Raises: as
    `show`."""
    bounds = show(place).record.get("bounds") or {"blocks": ()}
    found = (each["records"] for each in bounds["blocks"] if each["name"] == name)
    records = next(found, None)
    return None if records is None else (float(records), float(bounds["confidence"]))


def _found(place: str) -> ReleaseFiles | dict[str, Any]:
    around = release_around(place)
    record = None if around else prediction_record(place)
    if around is None and record is None:
        raise UsageFault(f"{place}: is no release; give the directory or file that dpqr release or predict has made")
    return record or read_release(place if os.path.isdir(place) else around or place)


def kept_receipt(record: dict[str, Any], unverified: str = "") -> tuple[Fact, ...]:
    """As it was printed; of a record that keeps none, what it says in words. unverified: why neither is believed."""
    doubt = (("Not verified", unverified),) if unverified else ()
    return (*doubt, *_kept_lines(record))


def _kept_lines(record: dict[str, Any]) -> tuple[Fact, ...]:
    lines, trust = record.get("receipt"), record.get("trust")
    if isinstance(lines, list) and lines and all(_is_line(line) for line in lines):
        return tuple((name, text) for name, text in lines)
    notes = trust if isinstance(trust, list) else []
    words = [("Warning", record.get("warning")), ("Guarantee", record.get("guarantee"))]
    words += [("Accuracy", record.get("certainty")), *(("Note", note) for note in notes)]
    return tuple((name, text) for name, text in words if isinstance(text, str))


def _is_line(line: object) -> bool:
    return isinstance(line, list) and len(line) == 2 and all(isinstance(text, str) for text in line)
