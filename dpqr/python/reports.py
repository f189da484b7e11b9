"""Reports of releases, from Python: pages, registry records, dataset cards, labels."""

from __future__ import annotations

import os
from typing import Unpack

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Path, check_options, run_sanitised
from dpqr.python.options import checks
from dpqr.python.owner_options import HumanFields
from dpqr.python.shown import Receipt
from dpqr.releases.documents import write_new
from dpqr.report.label import FORMS, LabelCard, LabelForm, label_html, label_svg, read_label
from dpqr.report.page.parts import ReportInput
from dpqr.report.reports import CuratorFacts, ReportRequest, release_html, report


def write_report(
    release: Path,
    *,
    html: Path | None = None,
    registry: Path | None = None,
    croissant: Path | None = None,
    ledger: Path | None = None,
    anchor: Path | None = None,
    **human: Unpack[HumanFields],
) -> tuple[str, ...]:
    """Write a page, a record for the deployments registry or a dataset card of a release; their names.

    Args:
        release: its directory. html, registry, croissant: new files; None: not that. ledger, anchor: show the budget
            from there. human: `HumanFields`.

    Raises:
        UsageFault: there is no release, nothing is asked for, or a human field of the registry is missing.
        DocumentError: the release is damaged.
        AlreadyThere: a file exists.

    Privacy:
        Public files only, and of a ledger the entries of the dataset that paid. No table is opened.
    """
    files = {"html": html, "registry": registry, "croissant": croissant, "ledger": ledger, "anchor": anchor}
    given = {name: None if path is None else os.fspath(path) for name, path in files.items()}
    request = ReportRequest(
        release=os.fspath(release), **given, stated=CuratorFacts(**check_options(human, checks(HumanFields)))
    )
    return run_sanitised(lambda: report(request))


def write_page(found: ReportInput, path: Path) -> None:
    """Write the page of a release to a new file. Raises: UsageFault, AlreadyThere."""
    write_new(os.fspath(path), release_html(found), option="report")


class Label(Struct, frozen=True):
    """What a release promises, what was used of the budget, and what the figures are for, on one card.

    >>> print(Label(LabelCard(title="Privacy label", lines=(("Epsilon", "1"),))).text)
    Label    Privacy label
    Epsilon  1
    """

    card: LabelCard

    @property
    def text(self) -> Receipt:
        """As lines, and for a notebook."""
        return Receipt.of_facts(self.card.facts)

    @property
    def svg(self) -> str:
        """A drawing that stands by itself."""
        return label_svg(self.card)

    @property
    def html(self) -> str:
        """A page that stands by itself; jinja2 and matplotlib make it."""
        return label_html(self.card)

    def as_form(self, form: LabelForm) -> str:
        """The label in this form. UsageFault for another one."""
        if form not in FORMS:
            raise UsageFault(f"form {form!r}: a label is made as {', '.join(FORMS)}; give one of these")
        return f"{self.text}\n" if form == "text" else self.svg if form == "svg" else self.html

    def save(self, path: Path, form: LabelForm | None = None) -> str:
        """Write it to a new file, in this form or in that of the file's ending; the file's name.

        Raises:
            UsageFault: the ending is unknown, or what makes the form is not installed.
            AlreadyThere: the file exists.
        """
        given = os.fspath(path)
        write_new(given, self.as_form(form or form_of(given)))
        return given

    def _repr_html_(self) -> str:
        return self.text._repr_html_()


ENDINGS: dict[str, LabelForm] = {"": "text", ".txt": "text", ".svg": "svg", ".html": "html"}


def form_of(path: str) -> LabelForm:
    """The form that a file's ending asks for. UsageFault for an unknown one."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise UsageFault(f"--out {path}: a label is written as .txt, .svg or .html; end the name so, or give --format")
    return ENDINGS[ending]


def label(release: Path, *, ledger: Path | None = None, anchor: Path | None = None) -> Label:
    """The label of a release, of predictions or of a model.

    Args:
        release: its directory or file. ledger, anchor: show what was used of the budget, and by how many releases.

    Raises:
        UsageFault: there is no release, or the ledger did not pay for it.
        DocumentError: the release is damaged.

    Privacy:
        Public files only, and of a ledger the entries of the dataset that paid. No table is opened.
    """
    place, *files = (None if path is None else os.fspath(path) for path in (release, ledger, anchor))
    return run_sanitised(lambda: Label(read_label(str(place), *files)))
