"""A finished release where another one shall go: what `--if-exists skip` passes over, free of charge."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpqr.app.paying.paid_run import transcript_path
from dpqr.app.planning.counters import with_first
from dpqr.app.planning.planning import plan_with_documents
from dpqr.app.releasing.reading import bound, count_column
from dpqr.app.requests import ReleaseRequest
from dpqr.errors import AlreadyThere, DocumentError, UsageFault
from dpqr.io.documents.entries.queries import QueriesDocument
from dpqr.io.documents.sources import public_documents
from dpqr.io.outputs.records.plan_document import plan_document
from dpqr.io.outputs.releases.read_release import ReleaseFiles, read_release
from dpqr.io.outputs.releases.release_files import file_names
from dpqr.io.outputs.releases.start_file import start_name
from dpqr.io.tables.points import documents_apart

ASKED = ("unit", "n", "most", "persons", "period", "counter", "budget", "domain", "workload", "seed", "accountant")
ROLES = ("schedule", "distinguisher", "check", "update")
"""Parts of a plan that say what was asked for, and strategies by name; the rest follows, and the version of dpqr."""


def already_released(request: ReleaseRequest) -> bool:
    """Whether the request is to be skipped, for its release lies there, finished. The table is not opened.

    Raises:
        AlreadyThere: something else lies there: no release, or one that answers another request.
        UsageFault: a killed release to that place waits for --resume.

    Privacy:
        Public: a function of the request and of a published record.
    """
    output, payer = request.output, request.payer
    given = output.directory
    if output.if_exists != "skip" or given is None or not os.path.isdir(given) or os.path.islink(given):
        return False
    if _waits(Path(os.path.abspath(given))):
        if payer and payer.resume:
            return False
        raise UsageFault(f"--out {given}: a release to it is paid and not finished; --resume continues it")
    if not _answers(_finished(given), request):
        raise AlreadyThere(
            f"--out {given}: holds a release of another request, or a rehearsal (compared are queries, domain, start, "
            "guarantee, strategies, files, base of views, dataset and source)\n"
            "choose another directory, or --if-exists replace"
        )
    return True


def _finished(given: str) -> ReleaseFiles:
    try:
        return read_release(given)
    except (UsageFault, DocumentError):
        raise AlreadyThere(f"--out {given}: exists, and holds no finished release; choose another directory") from None


def _waits(directory: Path) -> bool:
    """Whether a transcript lies beside the directory: of a job that was killed, or is at work."""
    transcript = transcript_path(directory)
    return transcript.is_file() and transcript.stat().st_size > 0


def _answers(found: ReleaseFiles, request: ReleaseRequest) -> bool:
    """Whether it is what the request would release."""
    payer, record = request.payer, found.record
    if bool(record.get("rehearsal")) != request.rehearse:
        return False
    output, views = request.output, record.get("views")
    files = file_names(
        output.format,
        output.synthetic,
        rehearsal=request.rehearse,
        views=output.views is not None,
        cumulative=request.plan.cumulative is not None,
    )
    if output.views is not None and views and views["base"] != output.views:
        return False
    dataset = payer.dataset if payer and not request.rehearse else None
    request = with_first(replace(request, source=bound(request.source, payer)))
    with documents_apart(request.source):
        plan, document = plan_with_documents(replace(request.plan, counts=count_column(request.source, payer)))
    return (
        set(files) <= set(record["files"])
        and found.dataset == dataset
        and _same_documents(record["plan"].get("request"), request, document)
        and _asked(record["plan"]) == _asked(json.loads(json.dumps(plan_document(plan))))
    )


def _same_documents(stated: Any, request: ReleaseRequest, document: QueriesDocument) -> bool:
    """Whether queries and domain say the same, entry by entry, the registered source is the same, and the release
    starts from the same earlier one; those of records before dpqr 0.4, which hold none, do."""
    if not isinstance(stated, dict):
        return True
    public, start = public_documents(document.sources), request.plan.start
    asked = {"queries": public.queries, "domain": public.domain}
    if stated.get("reading", {}).get("source") != request.source.digest:
        return False
    same = all(stated.get(name) == json.loads(json.dumps(value)) for name, value in asked.items())
    return same and stated.get("options", {}).get("start") == (None if start is None else start_name(start))


def _asked(plan: dict[str, Any]) -> list[Any]:
    return [*(plan.get(part) for part in ASKED), *(plan[role]["name"] for role in ROLES)]
