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
    def line(self) -> str:
        """The first line that is another than in the sound source, as it stands with the fault."""
        pairs = zip((SOURCE / self.file).read_text().splitlines(), self.text.splitlines(), strict=False)
        return next((after.strip() for before, after in pairs if before != after), "")
