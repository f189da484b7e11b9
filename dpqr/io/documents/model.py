"""The model file: a released function, read back."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dpqr.errors import DocumentError, DpqrError
from dpqr.io.documents.domain import decode_domain
from dpqr.io.documents.json_text import MAX_BYTES, parse_json, read_regular_file
from dpqr.io.documents.place import Place
from dpqr.io.outputs.prediction_document import MODEL_FORMAT
from dpqr.prediction.kernels import Kernel, KernelName
from dpqr.prediction.problem import read_target, without
from dpqr.prediction.recipes import CLASSIFIERS
from dpqr.prediction.release import Model


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file that `--release function` wrote. Errors: UsageFault where it cannot be read; DocumentError
    where it is no model."""
    fault = DocumentError(f"{Path(path).name}: no model file of dpqr; `--release function --out FILE` writes one")
    document = _object(read_regular_file(Path(path), MAX_BYTES), fault)
    if document.get("dpqr") != MODEL_FORMAT:
        raise fault
    try:
        return _model(document)
    except DocumentError:
        raise
    except (DpqrError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise fault from None


def _model(document: dict[str, Any]) -> Model:
    """All kinds of errors where it is none."""
    domain = decode_domain(parse_json(document["domain_file"].encode(), "domain"), Place("domain_file"))
    plan = document["plan"]
    target = read_target(domain, plan["target"]["name"], plan["target"]["positive"])
    classifies = plan["learner"]["name"] in CLASSIFIERS
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
