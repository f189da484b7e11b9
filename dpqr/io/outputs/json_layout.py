"""JSON text of documents: indented, but a list of plain values keeps to one line (noisy answers are long lists)."""

from __future__ import annotations

import json
from typing import Any

STEP = "  "


def document_text(document: Any) -> str:
    """Strict JSON (no NaN) with a final newline; equal documents give equal text."""
    return _laid_out(document, "") + "\n"


def _laid_out(value: Any, indent: str) -> str:
    if not value or not isinstance(value, dict | list) or _is_plain_list(value):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = indent + STEP
    if isinstance(value, dict):
        members = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(part, deeper)}" for key, part in value.items()]
        opening, closing = "{", "}"
    else:
        members = [_laid_out(part, deeper) for part in value]
        opening, closing = "[", "]"
    body = f",\n{deeper}".join(members)
    return f"{opening}\n{deeper}{body}\n{indent}{closing}"


def _is_plain_list(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(part, dict | list) for part in value)
