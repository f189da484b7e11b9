"""The files of a release: answers, release.json, and synthetic data on request."""

from __future__ import annotations

from dpqr.construction.release import Release
from dpqr.io.outputs.answers import answer_tables
from dpqr.io.outputs.directory import ReleaseDirectory
from dpqr.io.outputs.json_layout import document_text
from dpqr.io.outputs.record import RECORD
from dpqr.io.outputs.release_document import release_document
from dpqr.io.outputs.synthetic import BinText, Form, synthesise
from dpqr.io.outputs.table_files import TableFormat, write_tables

SYNTHETIC = "synthetic.parquet"


def write_release(
    release: Release,
    target: ReleaseDirectory,
    *,
    answers: TableFormat = "csv",
    synthetic: Form | None = None,
    bins: BinText = "title",
) -> None:
    """Write every file of `release` into `target`; they appear together or not at all. Errors: UsageFault."""
    drawn = synthesise(release, synthetic, bins) if synthetic else None
    answers_name = f"answers.{answers}"
    files = [answers_name, *([SYNTHETIC] if drawn else [])]
    record = release_document(release, files=files, synthetic=drawn.record if drawn else None)
    with target.filled() as place:
        write_tables(answer_tables(release), place / answers_name, answers)
        if drawn:
            from dpqr.io.outputs.parquet_file import write_parquet

            write_parquet(iter((drawn.table,)), place / SYNTHETIC)
        (place / RECORD).write_text(document_text(record), encoding="utf-8", newline="\n")
