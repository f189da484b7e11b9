"""Views of a release on disk, from its answers and the documents in its record."""

from __future__ import annotations

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.errors import DocumentError
from dpqr.io.documents.entries.queries import read_queries
from dpqr.io.documents.sources import parsed
from dpqr.io.outputs.answer_tables.views_table import Nodes, Views, nodes_of, views_of
from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.releases.read_answers import BlockEntry, all_answers, block_entries
from dpqr.io.outputs.releases.read_release import ReleaseFiles


def kept_views(files: ReleaseFiles, base: int) -> Views:
    """The views that `release_views` makes, of a release on disk. Raises: DocumentError for damaged files;
    InfeasiblePlan where there are no views."""
    try:
        nodes = _nodes(files)
    except (KeyError, TypeError, AttributeError):
        raise DocumentError(f"{files.path / RECORD}: states queries that dpqr cannot read; restore it") from None
    found = zip(block_entries(files), all_answers(files), strict=True)
    return views_of([block for entry, block in found if _is_table(entry, block, nodes)], nodes, base)


def _is_table(entry: BlockEntry, block: AnsweredBlock, nodes: Nodes) -> bool:
    """Whether the answers are counts of all cells of the columns that they look at, or of a level's nodes."""
    return block.name in nodes.asked or {column.name for column in block.columns} == set(entry.columns)


def _nodes(files: ReleaseFiles) -> Nodes:
    """The levels that were asked for, by the documents in the record: answers name nodes, and not their parents."""
    request = files.record["plan"].get("request")
    entries = [each for each in request["queries"]["queries"] if "coefficients" not in each] if request else []
    if not any("hierarchy" in each for each in entries):
        return Nodes()
    document = read_queries({"queries": parsed(entries)}, parsed(request["domain"]))
    return nodes_of(document.workload, document.domain)
