"""The files of a prediction run: predictions with their record beside them, or a model, and the model read back."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.errors import DocumentError, DpqrError, UsageFault
from dpqr.io.documents.domains.domain import decode_domain
from dpqr.io.documents.text.decoding import Location
from dpqr.io.documents.text.json_text import MAX_BYTES, parse_json, read_regular_file
from dpqr.io.outputs.answer_tables.table_files import TableFormat, write_table
from dpqr.io.outputs.answer_tables.tidy import Column, Texts, Tidy
from dpqr.io.outputs.atomic import SingleFile, write_text
from dpqr.io.outputs.records.prediction_document import MODEL_FORMAT
from dpqr.io.outputs.records.record import document_text
from dpqr.prediction.learners.kernels import Kernel, KernelName
from dpqr.prediction.names import CLASSIFIERS
from dpqr.prediction.problem import read_target, without
from dpqr.prediction.release import Model

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
    target.write(lambda path: write_text(path, text))


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file that `--release function` wrote. Raises: UsageFault where it cannot be read; DocumentError
    where it is no model."""
    fault = DocumentError(f"{Path(path).name}: no model file of dpqr; `--release function --out FILE` writes one")
    document = _object(read_regular_file(Path(path), MAX_BYTES), fault)
    if document.get("dpqr") != MODEL_FORMAT:
        raise fault
    if document.get("rehearsal"):
        name = Path(path).name
        raise DocumentError(f"{name}: the function of a rehearsal, which describes nobody; learn one from a table")
    try:
        return _model(document)
    except DocumentError:
        raise
    except (DpqrError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise fault from None


def _model(document: dict[str, Any]) -> Model:
    """All kinds of errors where it is none."""
    domain = decode_domain(parse_json(document["domain_file"].encode(), "domain"), Location("domain_file"))
    plan = document["plan"]
    target = read_target(domain, plan["target"]["name"], plan["target"]["positive"])
    classifies = bool(plan["learner"].get("classifies", plan["learner"]["name"] in CLASSIFIERS))
    features = _kernel(plan["learner"]["kernel"]).of(without(domain, target))
    with np.errstate(all="ignore"):
        weights = np.array([int(each) for each in document["weights"]], dtype=np.float64) * float(document["step"])
    fits = classifies == (target.positive is not None) and classifies != target.numeric
    if not fits or len(weights) != features.width or not np.isfinite(weights).all():
        raise ValueError("no model")
    return Model(domain=domain, target=target, classifies=classifies, features=features, weights=weights)


def _kernel(stated: dict[str, Any]) -> Kernel:
    """An error where it is none."""
    if stated["name"] not in get_args(KernelName):
        raise ValueError("no kernel")
    return Kernel(**stated | {"bandwidth": Fraction(stated["bandwidth"])})


def _object(text: bytes, fault: DocumentError) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise fault from None
    if not isinstance(document, dict):
        raise fault
    return document
