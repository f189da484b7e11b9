"""SingleFile: an output of one file, which appears whole or not at all and never takes another one's place."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpqr.errors import UsageFault


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleFile:
    """A free path, checked before anything private was opened. given: as the user wrote it, for messages."""

    path: Path
    given: str

    def write(self, fill: Callable[[Path], None]) -> None:
        """Let `fill` write a new file, bring it to the disk and give it its name.

        Errors: UsageFault. The budget is spent by then, so a file that is complete and finds its name taken stays
        beside it, and the message says where.
        """
        draft = self._draft()
        try:
            fill(draft)
            with draft.open("rb+") as opened:
                os.fsync(opened.fileno())
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise self._fault(f"cannot be written ({error.strerror}); choose a writable place") from None
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        try:
            os.link(draft, self.path)
        except OSError as error:
            raise self._fault(f"cannot be put in place ({error.strerror}); the finished file is {draft}") from None
        draft.unlink()

    def require_writable(self) -> None:
        """UsageFault unless a file can be made there (made and removed at once)."""
        draft = self._draft()
        try:
            draft.touch(exist_ok=False)
            draft.unlink()
        except OSError as error:
            raise self._fault(f"cannot be written ({error.strerror}); choose a writable place") from None

    def _draft(self) -> Path:
        return self.path.with_name(f".{os.getpid()}-{self.path.name}")

    def _fault(self, text: str) -> UsageFault:
        return UsageFault(f"--out {self.given}: {text}")


def reserve_file(given: str) -> SingleFile:
    """A place for a new file. UsageFault where one exists, or its directory cannot be written."""
    if not given or "\0" in given or not Path(given).name:
        raise UsageFault("--out: give the name of a file, for example --out predictions.csv")
    target = SingleFile(path=Path(os.path.abspath(given)), given=given)
    if os.path.lexists(target.path):
        raise UsageFault(f"--out {given}: the file exists; choose another name or remove it")
    target.require_writable()
    return target
