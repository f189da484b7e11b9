"""Reported: everything public that a page about a release is made from."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any, Literal

import pyarrow as pa
from msgspec import Struct, field
from pyarrow import parquet

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import PrivacyUnit, unit_columns
from dpqr.kernel.wording import Fact, plain
from dpqr.ledger.codec import JSON
from dpqr.ledger.ledger import Account
from dpqr.releases.answers.answered import AnsweredBlock
from dpqr.releases.files.atomic import RECORD
from dpqr.releases.files.formats import files_of
from dpqr.releases.files.read_release import ReleaseFiles
from dpqr.releases.files.release_files import file_hash
from dpqr.releases.record.parts import whole_price

NOT_STATED = "not stated in the record"


class ChargeRow(Struct, frozen=True, kw_only=True):
    """A run that a budget has paid for. number: of its entry. own: it is the release that the page is about, or it
    learned that release's domain."""

    number: int
    date: str
    cost: Cost
    own: bool


class Spending(Struct, frozen=True, kw_only=True):
    """A dataset's budget, and what it was charged for, oldest first."""

    account: Account
    charges: Sequence[ChargeRow]


class Preview(Struct, frozen=True, kw_only=True):
    """The first synthetic rows, as texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class ReportInput(Struct, frozen=True, kw_only=True, eq=False):
    """A release.

    record: release.json; an older one may lack parts. place: its directory, as commands name it. spending: None where
    no ledger was given. preview: None where there are no synthetic rows. hashes: SHA-256 of its files, by name.
    figures: rows of their table. unverified: why record and files may have been changed; empty: their hashes fit.
    """

    record: dict[str, Any]
    blocks: Sequence[AnsweredBlock]
    place: str
    spending: Spending | None = None
    preview: Preview | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[dict[str, Any]] = ()
    unverified: str = ""

    @property
    def plan(self) -> dict[str, Any]:
        return dict(self.record.get("plan") or {})

    @property
    def bounds(self) -> dict[str, float]:
        """The proved bound on each block's L1 error, in records, by its name; empty where none was bought."""
        blocks = (self.record.get("bounds") or {}).get("blocks") or ()
        return {each["name"]: float(each["records"]) for each in blocks}

    def stated(self, name: str) -> str | None:
        """A text of the record, or None."""
        found = self.record.get(name)
        return found if isinstance(found, str) and found else None

    def document(self, name: str) -> dict[str, Any] | None:
        """The domain or the queries file as the record keeps it, or None."""
        found = (self.plan.get("request") or {}).get(name)
        return found if isinstance(found, dict) else None

    @property
    def price(self) -> tuple[Fraction, Fraction] | None:
        """Epsilon and delta of the whole run, exact; None where the record states no budget."""
        budget = whole_price(self.plan)
        return (Fraction(budget["epsilon"]["exact"]), Fraction(budget["delta"]["exact"])) if budget else None

    @property
    def domain(self) -> Mapping[str, Any]:
        """The domain file, empty where the record keeps none."""
        return self.document("domain") or {}


def but_for_learned(plan: JSON) -> str:
    """A sentence, behind a blank, on what of the domain is no public knowledge; empty: all of it is."""
    learned = (plan.get("domain") or {}).get("learned") or {}
    parts = [f"labels or bounds of {', '.join(learned['columns'])}"] if learned.get("columns") else []
    parts += ["how many rows of each person are used"] if learned.get("max_rows") else []
    return f" But private draws, which were paid for, have learned {' and '.join(parts)}." if parts else ""


def protected_unit(plan: Mapping[str, Any]) -> PrivacyUnit:
    """The unit that a record's plan names, as far as pages speak of it."""
    unit = plan.get("unit") or {}
    columns = tuple(unit.get("columns") or unit_columns(unit.get("column")))
    return PrivacyUnit(columns=columns, per=unit.get("per"), rows=unit.get("max_rows") or 1)


# Published files as a report shows them: the first synthetic rows, the columns of tables, the hash of every file.

ANSWERS, ROWS = "answers.", "synthetic"
"""How the names of files of answers begin, and of synthetic data."""


def first_rows(files: ReleaseFiles, count: int) -> Preview | None:
    """The first synthetic rows; None where the release has none. Raises: DocumentError."""
    name = next((str(each) for each in files.record["files"] if str(each).startswith(ROWS)), None)
    if name is None:
        return None
    path = files.path / name
    try:
        with parquet.ParquetFile(path) as opened:
            batch = next(opened.iter_batches(batch_size=count), None)
            names = tuple(opened.schema_arrow.names)
        files.require_unchanged(name)
        columns = [[] if batch is None else batch.column(place).to_pylist() for place in range(len(names))]
    except (OSError, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as synthetic data; release again, or restore it") from None
    rows = [tuple("" if cell is None else str(cell) for cell in row) for row in zip(*columns, strict=True)]
    return Preview(columns=names, rows=rows)


def table_columns(files: ReleaseFiles) -> Mapping[str, Sequence[str]]:
    """Column names of the answers and of synthetic rows, where they are tables, by file. Raises: DocumentError."""
    found = {}
    for name in (str(each) for each in files.record["files"] if str(each).startswith((ANSWERS, ROWS))):
        path = files.path / name
        try:
            if (names := files_of(name).column_names(path)) is not None:
                found[name] = names
            files.require_unchanged(name)
        except (OSError, ValueError, csv.Error, pa.ArrowException):
            raise DocumentError(f"{path}: cannot be read as a table; release again, or restore it") from None
    return found


def file_hashes(files: ReleaseFiles) -> Mapping[str, str]:
    """SHA-256 of the record and of every file that it lists, by name. DocumentError where one is missing."""
    found = {}
    for name in sorted({RECORD, *map(str, files.record["files"])}):
        try:
            found[name] = file_hash(files.path / name)
        except OSError:
            raise DocumentError(f"{files.path / name}: cannot be read, and the record lists it; restore it") from None
    return found


# The parts of a page, whatever it is about: sections of words, facts, tables, charts and cards. Text, never HTML.

State = Literal["yes", "part", "no"]


class Paragraph(Struct, frozen=True, kw_only=True):
    """Sentences of one paragraph. strong: a reader must not miss them."""

    text: str
    strong: bool = False
    kind: str = "words"


class Facts(Struct, frozen=True, kw_only=True):
    """Lines of "what: how much"."""

    lines: Sequence[Fact]
    kind: str = "facts"


class ReportTable(Struct, frozen=True, kw_only=True):
    """Rows under a head. texts: how many of the first columns are words; the others are figures."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    kind: str = "table"


class Chart(Struct, frozen=True, kw_only=True):
    """A drawing, and what it shows in words. svg: made by `drawing`, the only markup that a part may hold."""

    svg: str
    alt: str
    kind: str = "chart"


class Items(Struct, frozen=True, kw_only=True):
    """A list of commands or file names, or of sentences. code: they are to be copied."""

    lines: Sequence[str]
    code: bool = False
    kind: str = "items"


class ChecklistLine(Struct, frozen=True, kw_only=True):
    """A line of a checklist: what it states, how it stands, and on what that rests."""

    statement: str
    state: State
    found: str


class Checks(Struct, frozen=True, kw_only=True):
    """A layer of a checklist."""

    layer: str
    lines: Sequence[ChecklistLine]
    kind: str = "checks"


class Card(Struct, frozen=True, kw_only=True):
    """A chart under a heading of its own, with its table folded below. words: what stands between heading and chart.

    number, unit, interval: of a single answer, which is written out and not drawn.
    """

    title: str
    words: str
    chart: Chart | None = None
    table: ReportTable | None = None
    number: str = ""
    unit: str = ""
    interval: str = ""
    kind: str = "card"


class Cards(Struct, frozen=True, kw_only=True):
    """Cards side by side where the screen is wide."""

    cards: Sequence[Card]
    kind: str = "cards"


Part = Paragraph | Facts | ReportTable | Chart | Items | Checks | Cards


class Section(Struct, frozen=True, kw_only=True):
    """A numbered chapter. name: what a link in the page calls it. folded: opened by whoever wants it."""

    name: str
    title: str
    parts: Sequence[Part]
    folded: bool = False


class ReportPage(Struct, frozen=True, kw_only=True):
    """A page. stamp: what it must not be taken for, on every sheet; empty: nothing. lead: figures at its top.

    promise: in plain sentences. warnings: what a reader must not miss. picture: of the budget.
    """

    title: str
    subtitle: str
    lead: Sequence[Fact]
    sections: Sequence[Section]
    stamp: str = ""
    promise: Sequence[str] = ()
    warnings: Sequence[str] = ()
    picture: Chart | None = None


# A page as HTML: one template and one style sheet, filled by jinja2, which escapes every text.

MISSING = "--html: pages are made by jinja2 and matplotlib; install them by: pip install 'dpqr[report]'"


def html(page: ReportPage) -> str:
    """The whole file. Equal pages give equal text. UsageFault where the extra is not installed."""
    require_extra()
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["plain"] = plain
    return made.get_template("page.html").render(page=page, style=style())


def style() -> str:
    """The style sheet."""
    return _text("page.css")


def require_extra() -> None:
    """UsageFault where jinja2 or matplotlib is not installed."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageFault(MISSING) from None


def _text(name: str) -> str:
    return (files("dpqr") / "report" / "page" / "templates" / name).read_text(encoding="utf-8")
