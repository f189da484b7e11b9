"""Signals: SIGTERM and SIGHUP end a command as Ctrl-C does, through every cleanup that an error goes through."""

from __future__ import annotations

import signal
import time
from types import FrameType

INTERRUPTED = 130
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
GRACE = 10.0
"""Seconds in which a second signal is ignored: whoever asks twice must not stop what is being put in order."""


class Signals:
    """What asked this process to end. number: 0 as long as nothing but the keyboard did."""

    def __init__(self) -> None:
        self.number = 0
        self._last = float("-inf")

    def install(self) -> None:
        """Take over what would kill without a word. What the caller has ignored (nohup) stays ignored."""
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._received)

    def code(self, code: object) -> int:
        """The exit code: of an interrupted command 128 and the signal's number, as shells have it."""
        if code == INTERRUPTED and self.number:
            return 128 + self.number
        return code if isinstance(code, int) else 0

    def _received(self, number: int, _: FrameType | None) -> None:
        """KeyboardInterrupt in the main thread. One that a callback of the interpreter swallows can be repeated."""
        now = time.monotonic()
        if self._last + GRACE <= now:
            self.number, self._last = number, now
            raise KeyboardInterrupt
