"""The files of a prediction run: predictions with their record beside them, or a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.errors import UsageFault
from dpqr.io.outputs.json_layout import document_text
from dpqr.io.outputs.single_file import SingleFile
from dpqr.io.outputs.table_files import TableFormat, write_table
from dpqr.io.outputs.tidy import Column, Texts, Tidy

FORMS: dict[str, TableFormat] = {".csv": "csv", ".parquet": "parquet", ".json": "json"}


def table_form(given: str) -> TableFormat:
    """By the ending. UsageFault for one that is not known."""
    found = FORMS.get(Path(given).suffix.lower())
    if found is None:
        raise UsageFault(f"--out {given}: predictions are written as .csv, .parquet or .json; end the name so")
    return found


def record_path(given: str) -> str:
    """Where the record of the predictions lies."""
    return f"{given}.record.json"


def predictions_table(predictions: AnyArray, scores: FloatArray | None, releases: int = 1) -> Tidy:
    """One row a point, in the points' order, release after release. scores: of the positive label, where they were
    released too."""
    named: dict[str, Column] = {}
    if releases > 1:
        named["release"] = np.repeat(np.arange(1, releases + 1), len(predictions) // releases)
    named["prediction"] = _texts(predictions) if predictions.dtype.kind in "UO" else predictions
    if scores is not None:
        named["score"] = scores
    return Tidy(len(predictions), named)


def _texts(predictions: AnyArray) -> Texts:
    labels, places = np.unique(predictions.astype(str), return_inverse=True)
    return Texts(places, labels.tolist())


def write_predictions(target: SingleFile, table: Tidy) -> None:
    """Write predictions in the form that the file's name asks for."""
    form = table_form(target.given)
    target.write(lambda path: write_table(table, path, form))


def write_document(target: SingleFile, document: dict[str, Any]) -> None:
    """Write a record or a model."""
    text = document_text(document)

    def fill(path: Path) -> None:
        path.write_text(text, encoding="utf-8", newline="\n")

    target.write(fill)
