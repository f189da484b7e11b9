"""The parsed value of a codebook that is JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpqr.errors import DocumentError
from dpqr.io.documents.decoding import Location
from dpqr.io.documents.json_text import MAX_DEPTH, parse_json


def parse_tree(data: bytes, document: str) -> Any:
    """JSON where the text begins as an object or a list, else YAML without aliases, which could unfold without end.

    Raises:
        DocumentError: it is neither; the message names line and column, and quotes nothing.
    """
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return parse_json(data, document)
    import yaml

    try:
        _refuse_unbounded(yaml.parse(data, yaml.CSafeLoader), Location(document))
        return yaml.load(data, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise DocumentError(f"{document}: $: neither JSON nor YAML{place}; correct it there") from None


def _refuse_unbounded(events: Iterable[Any], location: Location) -> None:
    """Aliases, which can unfold without end, and nesting that would overflow the loader's stack."""
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise location.fault("has aliases (*name); write the value out in each place")
        if depth > MAX_DEPTH:
            raise location.fault(f"nested deeper than {MAX_DEPTH} levels; no codebook needs that")
