"""Documents in YAML and TOML: each is the JSON document that it stands for.

Its JSON text is made first and then read as strictly as any, so that numbers stay as they are written, repeated keys
and great depth are refused, and errors name the same JSON paths; in YAML the same lines too (`yaml_text`).
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from dpqr.io.documents.text.decoding import Location
from dpqr.io.documents.text.json_text import MAX_BYTES, MAX_DIGITS, parse_json, read_regular_file
from dpqr.io.documents.text.positions import MAX_DEPTH, TOO_DEEP
from dpqr.io.documents.text.yaml_text import YAML_ENDINGS, NoYaml, yaml_as_json

_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"?' + r"|'[^'\n]*+'?")
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH + 1}}}")
"""A key of so many parts that the library would take the square of their number in time."""


def read_document(path: Path) -> Any:
    """The JSON value of a document: YAML in .yaml and .yml files, TOML in .toml files, JSON in all others.

    Of a .sql file: {"sql": its text}.

    Raises: UsageFault where the file cannot be read; DocumentError where its text is none of the language.
    """
    return parse_json(document_text(path), path.name, path)


def written_in(path: Path) -> Location:
    """The top of the document."""
    return Location(path.name, file=path)


def document_text(path: Path) -> bytes:
    """The JSON text of a document."""
    data = read_regular_file(path, MAX_BYTES)
    as_json = _AS_JSON.get(path.suffix.lower())
    if as_json is None:
        return data
    top = Location(path.name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise top.fault(f"byte {error.start} is not UTF-8; save the file as UTF-8") from None
    return as_json(text, top)


def _toml(text: str, top: Location) -> bytes:
    if _DOTTED.search(_QUOTED.sub("q", text)):
        raise top.fault(TOO_DEEP)
    try:
        return msgspec.json.encode(tomllib.loads(text, parse_float=_number))
    except tomllib.TOMLDecodeError as error:
        raise top.fault(f"not TOML: {error}; correct it there") from None
    except RecursionError:
        raise top.fault(TOO_DEEP) from None
    except ValueError:
        raise top.fault(f"a number of more than {MAX_DIGITS} digits; shorten it") from None


def _number(text: str) -> msgspec.Raw:
    """A number as JSON writes it; NaN and the infinities in the words that no JSON may hold."""
    plain = text.replace("_", "").removeprefix("+")
    named = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return msgspec.Raw(named.get(plain, plain).encode())


def _yaml(text: str, top: Location) -> bytes:
    try:
        return yaml_as_json(text).encode()
    except NoYaml as error:
        raise top.fault(str(error)) from None


def _sql(text: str, _: Location) -> bytes:
    """Its statements, which `dpqr.io.sql` reads once the columns are known."""
    return msgspec.json.encode({"sql": text})


_AS_JSON = dict.fromkeys(YAML_ENDINGS, _yaml) | {".toml": _toml, ".sql": _sql}
