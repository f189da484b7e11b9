"""Recoded: a CSV table in another encoding, as the UTF-8 that the reader knows."""

from __future__ import annotations

import codecs
from typing import Protocol

_MALFORMED = "dpqr-malformed"
_NO_UTF8 = "\udcff"
"""Stands for bytes that are no character: it is written as 0xFF, which is in no UTF-8, so that the row is malformed."""


class ByteStream(Protocol):
    """What the CSV reader reads."""

    def read(self, size: int) -> bytes:
        """About `size` bytes; none at the end only."""
        ...


class Recoded:
    """UTF-8 of a stream of text in `encoding`. Every character counts alike however the stream is cut into pieces."""

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors=_MALFORMED)
        self._ended = False

    def read(self, size: int) -> bytes:
        """The UTF-8 of about the next `size` bytes; nothing at the end only."""
        text = ""
        while not text and not self._ended:
            piece = self._stream.read(size)
            self._ended = not piece
            text = self._decoder.decode(piece, self._ended)
        return text.encode("utf-8", "surrogateescape")


def _passed_over(fault: UnicodeError) -> tuple[str, int]:
    if not isinstance(fault, UnicodeDecodeError):
        raise fault
    return _NO_UTF8, fault.end


codecs.register_error(_MALFORMED, _passed_over)
