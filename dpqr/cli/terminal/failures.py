"""Failures as objects: with --json, what ended a command goes to stdout too, where nothing else went there."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from dpqr.cli.terminal.endings import Ending
from dpqr.cli.terminal.streams import product_json
from dpqr.errors import Fault

_PLACE = r"[^:\n]+: \$(?:\.[\w$]+|\[[^\]\n]*\])*|--[a-z][a-z-]*(?: [^:;\n]+)?|(?:column|dataset) '[^'\n]*'"
_PARTS = re.compile(rf"(?s)(?:(?P<where>{_PLACE}): )?(?P<what>.*?)(?:; (?P<fix>.*))?")


def print_failure(ending: Ending, code: int) -> None:
    """The failure as the one JSON document on stdout. Whether stdout takes it changes nothing.

    code: the one that the process ends with.
    """
    with suppress(Exception):
        product_json({"error": failure_document(ending, code)})


def failure_document(ending: Ending, code: int) -> dict[str, Any]:
    """Plain JSON values.

    what, where and fix are the parts of the message: where is the place that it begins with (a document and JSON path,
    an option, a column, a dataset), fix is what follows its first semicolon or line end: what is allowed, or how to go
    on. Null where the message has no such part, or lists several faults.
    """
    several = len(ending.faults) > 1
    first, _, second = ending.text.partition("\n")
    found = _PARTS.fullmatch(first)
    parts = found.groupdict() if found else {"where": None, "what": first, "fix": None}
    return {
        "code": code,
        "kind": ending.kind,
        "message": ending.text,
        "what": parts["what"],
        "where": parts["where"],
        "fix": None if several else "\n".join(filter(None, (parts["fix"], second))) or None,
        "faults": [_fault(fault) for fault in ending.faults],
        "notes": list(ending.notes),
    }


def _fault(fault: Fault) -> dict[str, Any]:
    """Null: it is a fault of no document, or of one without lines. fixable: by `dpqr check --fix`."""
    return {
        "document": str(fault.file) if fault.file else fault.document or None,
        "path": fault.path or None,
        "line": fault.line,
        "message": fault.message,
        "fixable": fault.fix is not None and fault.line is not None,
    }
