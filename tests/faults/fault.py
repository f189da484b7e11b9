"""A fault: one wrong line that is put into a copy of the source, to see whether a test notices."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "dpqr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """file: below dpqr/. text: the whole source of the file with the fault in it. words: what is wrong now."""

    file: str
    text: str
    words: str

    @property
    def folder(self) -> str:
        """The part of the project that the fault lies in."""
        parts = self.file.split("/")
        return "/".join(parts[:2]) if parts[0] == "io" else parts[0]

    @property
    def line(self) -> str:
        """The first line that is another than in the sound source, as it stands with the fault."""
        pairs = zip((SOURCE / self.file).read_text().splitlines(), self.text.splitlines(), strict=False)
        return next((after.strip() for before, after in pairs if before != after), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A fault that no test needs to notice. file, line: where, and the line with it. reason: what holds still."""

    file: str
    line: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A fault by hand. before: a text that stands in the file exactly once; after: what takes its place."""

    file: str
    before: str
    after: str
    words: str

    def fault(self) -> Fault:
        """The fault in today's source. ValueError where `before` does not stand there exactly once."""
        source = (SOURCE / self.file).read_text()
        if source.count(self.before) != 1:
            raise ValueError(f"{self.file}: {self.before!r} stands there {source.count(self.before)} times, not once")
        return Fault(file=self.file, text=source.replace(self.before, self.after), words=self.words)


def planted_in(file: str, *changes: tuple[str, str, str]) -> tuple[Planted, ...]:
    """Faults of one file, each as (before, after, words)."""
    return tuple(Planted(file=file, before=before, after=after, words=words) for before, after, words in changes)
