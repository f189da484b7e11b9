"""Forgeries: every leaf of a document changed by itself, under new seals, so that only what follows can refuse it."""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import os
import shutil
from fractions import Fraction
from pathlib import Path

from dpqr.checker import check as checker

FIGURES = ("estimate", "error", "measured", "noise_deviation", "lower", "upper", "basis")
"""Columns of a file of answers that are forged."""


def places(part, path=()):
    """Every leaf; an exact figure with the float beside it is one."""
    if isinstance(part, dict) and set(part) != {"exact", "float"}:
        for key, value in part.items():
            yield from places(value, (*path, key))
    elif isinstance(part, list):
        for place, value in enumerate(part):
            yield from places(value, (*path, place))
    else:
        yield path, part


def other(value):
    """Another value of the same form, near the old one."""
    if isinstance(value, dict):
        changed = Fraction(value["exact"]) * Fraction(10001, 10000) + Fraction(1, 10**6)
        return {"exact": str(changed), "float": checker.round_up(changed)}
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 + 0.001
    if value is None:
        return "1"
    if checker.re.fullmatch(r"[0-9]+(/[0-9]+)?", value):
        return str(Fraction(value) * Fraction(10001, 10000) + Fraction(1, 10**6))
    if checker.re.fullmatch(r"[0-9a-f]{64}", value):
        return value[1:] + value[0] if value[1:] + value[0] != value else "0" * 64
    return value + "x"


def forged(document, path):
    """The document with one leaf changed, and its seals made again, but for a seal that is the leaf itself."""
    made = copy.deepcopy(document)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = other(at[path[-1]])
    return reseal(made, keep=path)


def reseal(document, keep=()):
    for part, own in ((document.get("plan"), ("plan", "sha256")), (document, ("sha256",))):
        if part and "sha256" in part and keep != own:
            rest = {key: value for key, value in part.items() if key != "sha256"}
            part["sha256"] = checker.sha256(checker.canonical(rest))
    return document


def write(document, place):
    Path(place).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def forged_answers(path):
    """(what was changed, the file's text) for each figure of each row of a CSV file of answers."""
    text = path.read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))
    for number, row in enumerate(rows[1:], start=1):
        for place, name in enumerate(rows[0]):
            if name in FIGURES:
                changed = [list(each) for each in rows]
                value = row[place]
                changed[number][place] = value + "x" if name == "basis" else str(float(value or 0) * 1.001 + 1)
                made = io.StringIO()
                csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(changed)
                yield (name, row[-1], bool(value)), made.getvalue()


def forged_ledger(path):
    """(where, text) for each leaf of each entry, with all seals after it made again."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines):
        for leaf, _ in places(line):
            if leaf == ("seal",):
                changed = copy.deepcopy(lines)
                changed[number]["seal"] = other(line["seal"])
                yield (number, line["entry"]["entry"], *leaf), ledger_text(changed)
                continue
            changed = copy.deepcopy(lines)
            at = changed[number]
            for key in leaf[:-1]:
                at = at[key]
            at[leaf[-1]] = other(at[leaf[-1]])
            before = ""
            for each in changed:
                each["seal"] = checker.sha256(f"{before}\n{checker.canonical(each['entry'])}")
                before = each["seal"]
            yield (number, line["entry"]["entry"], *leaf), ledger_text(changed)


def ledger_text(lines):
    return "".join(
        f'{{"entry":{checker.canonical(each["entry"])},"seal":{json.dumps(each["seal"])}}}\n' for each in lines
    )


def refused(place, ledger=None):
    """The exit code of the checker for what lies there, and the words of a refusal."""
    found = checker.check(str(place), None if ledger is None else str(ledger))
    state, name, words = found[-1]
    code = checker.CODES.get(state, 0)
    return code, f"{name}: {words}" if code else ""


def record_of(place):
    beside = Path(f"{place}.record.json")
    return Path(place) / "release.json" if os.path.isdir(place) else beside if beside.is_file() else Path(place)


def every_forgery(place, scratch, ledger=None, answers=True):
    """(what was changed, the code, the words) of every forgery of a release or of predictions."""
    copied = scratch / Path(place).name
    if os.path.isdir(place):
        shutil.copytree(place, copied)
    else:
        shutil.copy(place, copied)
        if record_of(place) != Path(place):
            shutil.copy(record_of(place), f"{copied}.record.json")
    target = record_of(copied)
    document = json.loads(target.read_text(encoding="utf-8"))
    for leaf, _ in places(document):
        write(forged(document, leaf), target)
        yield leaf, *refused(copied, ledger)
    names = [name for name in document.get("files", []) if name == "answers.csv"]
    if answers and names and "hashes" in document:
        file = copied / names[0]
        kept = file.read_bytes()
        for what, text in forged_answers(file):
            file.write_text(text, encoding="utf-8")
            made = copy.deepcopy(document)
            made["hashes"][names[0]] = hashlib.sha256(text.encode()).hexdigest()
            write(reseal(made), target)
            yield ("answers.csv", *what), *refused(copied, ledger)
            file.write_bytes(kept)
    shutil.rmtree(copied) if copied.is_dir() else copied.unlink()
