"""Parts of documents that say how large a run is: its domain and its workload."""

from __future__ import annotations

from typing import Any

from dpqr.data.attribute import Attribute
from dpqr.data.domain import Domain
from dpqr.data.facts import PublicFacts
from dpqr.io.outputs.exact_parts import kind
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Workload


def domain_part(domain: Domain) -> dict[str, Any]:
    """|X| and the columns with their sizes; the titles stand in the domain file and in the answers.

    facts: null where none is declared.
    """
    return {
        "cells": domain.size,
        "columns": [_column(attribute) for attribute in domain.attributes],
        "facts": _facts(domain.facts) if domain.facts else None,
    }


def _facts(facts: PublicFacts) -> dict[str, Any]:
    """As the curator wrote them; records: the least and the most that the totals allow, null for no bound."""
    return {
        "impossible": list(dict.fromkeys(region.text for region in facts.impossible)),
        "totals": [{"where": total.region.text, "count": total.count} for total in facts.totals],
        "records": [facts.least, facts.most],
    }


def _column(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "kind": kind(attribute.axis),
        "cells": attribute.size,
        "own_cells": list(attribute.own_cells),
    }


def workload_part(workload: Workload, domain: Domain) -> dict[str, Any]:
    """|Q| and the blocks, in workload order."""
    return {"queries": workload.rows, "blocks": [_block(block, domain) for block in workload.blocks]}


def _block(block: QueryBlock, domain: Domain) -> dict[str, Any]:
    return {
        "name": block.name,
        "queries": block.rows,
        "columns": [domain.names[axis] for axis in block.axes],
        "weight": str(block.weight),
        "grid": str(block.scale),
    }
