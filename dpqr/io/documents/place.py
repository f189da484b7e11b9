"""Place: where in which document something stands, so that every error can name it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

from dpqr.errors import DocumentError

_COMPARED, _LONGEST = 2000, 200
"""Words among which, and letters up to which, a nearest one is looked for."""
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class Place:
    """A JSON path in a named document, `$` being its top."""

    document: str
    path: str = "$"

    def key(self, name: str) -> Place:
        step = f".{name}" if _PLAIN_KEY.fullmatch(name) else f"[{json.dumps(name)}]"
        return Place(self.document, self.path + step)

    def item(self, index: int) -> Place:
        return Place(self.document, f"{self.path}[{index}]")

    def fault(self, message: str) -> DocumentError:
        """An error that blames this place."""
        return DocumentError(f"{self.document}: {self.path}: {message}")

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors of the nouns know no document: inside this block they get this place."""
        try:
            yield
        except DocumentError as error:
            raise self.fault(str(error)) from None


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint after an unknown word: the nearest known one, or all of them."""
    known = tuple(known)
    near = get_close_matches(word, known, n=1) if len(known) <= _COMPARED and len(word) <= _LONGEST else []
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(map(repr, known[:20]))
    return f"known: {shown}{', ...' if len(known) > 20 else ''}" if known else "none are known"
