"""Forgeries: every leaf of a document changed by itself, under new seals, so that only what follows can refuse it.

    PYTHONPATH=tests python -m checker.forgeries [EVERY]    # forged, refused, said, accepted, by kind of field

of all honest records, or of every EVERY-th forgery of them; then each accepted leaf with its record. Said: the checker
says of the record that it does not check this field, and why (`SAID`).
"""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

from dpqr.checker import check as checker

FIGURES = ("estimate", "error", "measured", "noise_deviation", "lower", "upper", "basis")
"""Columns of a file of answers that are forged."""

KINDS = (
    ("hash or seal", r"(plan\.)?sha256|hashes\..*|ledger\.seal|.*\.(seal|drawn)"),
    ("price", r"spent\..*|plan\.(price|budget|proved_epsilon|accountant|counting)(\..*)?|guarantee|plan\.guarantee"),
    ("event", r"(plan\.)?events\..*"),
    ("noise law", r".*\.law\..*|noise_deviation|plan\.noise_deviation"),
    ("unit and request", r"unit|plan\.unit(\..*)?|plan\.request\.options\.(epsilon|delta|neighbours|unit|max_rows|n)"),
    (
        "sensitivity",
        r"plan\.(domain\.cells|domain\.columns\.\d+\.cells|workload\.(queries|blocks\.\d+\.(queries|grid|name)))",
    ),
    (
        "draw",
        r"transcript\..*(?<!stopped)|dropped\.(estimate|charge|parallel)|errors\..*|draws\..*|questions\..*|counted|weights\..*",
    ),
    ("measured answer", r"answers\.csv\.(measured|noise_deviation)\..*"),
    ("interval", r"answers\.csv\.(lower|upper|basis)\..*|certificate\..*|intervals\.level|bounds\..*"),
    (
        "ledger",
        r"ledger(\.(dataset|entry|charged))?|entry\.\d+\.\w+\.entry\.(cost|events|dataset|limit|number|run|settles)(\..*)?",
    ),
)
"""Kinds of fields that change a price, a sensitivity, an answer, an interval, a hash, the ledger; others claim none."""


SAID = (
    ("weighted sums of draws", r"answers\.csv\..*"),
    ("words for readers", r"spent\.why"),
    (
        "read from CSV and JSON alone",
        r"plan\.workload\.blocks\.\d+\.name|transcript\..*\.(values|buckets|name|grid)(\..*)?|dropped\.estimate",
    ),
    ("bounds by numerical search", r"answers\.csv\.(lower|upper|basis)\..*"),
    ("values of draws that no answer states", r"transcript\..*\.(values|buckets|name|grid|error_sum)(\..*)?"),
    ("which position a candidate had", r"transcript\.\d+\.choice"),
    ("bought errors", r"errors\.(units|draws\.\d+\.(groups|values|of))(\..*)?|bounds\..*"),
    ("grids of sums", r"plan\.workload\.blocks\.\d+\.grid"),
    ("sensitivity of", r"transcript\..*\.(name|grid)|(plan\.)?events\..*(sensitivity|coordinates)"),
    ("what choices must cost", r"events\.\d+\.epsilon"),
    ("a record that claims nothing", r"guarantee"),
    ("the count of left-out rows", r"dropped\.estimate"),
    ("from their draws or otherwise", r"counted|draws\..*|weights\..*|plan\.(counting|price)(\..*)?"),
    ("prices of single draws", r"plan\.(price|counting)\..*"),
    ("prices under pld", r"spent\..*pld.*|(plan\.)?events\.\d+\.coordinates"),
    ("perturbed objective", r"(plan\.)?(spent|events|price|counting)\..*"),
    ("asks of a session", r"questions\..*"),
    ("entries that paid for the domain", r"plan\.domain\.learned\.ledger\.\d+\.seal"),
    ("how far thresholds reach", r"answers\.csv\.(lower|upper)\.compared"),
)
"""Words of a reason why something is not checked, and the fields of which it says so."""


def is_said(leaf, found):
    """Whether what was found says that this field is not checked."""
    path, reasons = ".".join(map(str, leaf)), [words for state, _, words in found if state == "not checked"]
    return any(re.fullmatch(pattern, path) and any(words in each for each in reasons) for words, pattern in SAID)


def kind_of(leaf):
    """The kind of a forged field; None: nothing follows from it."""
    path = ".".join(map(str, leaf))
    return next((name for name, pattern in KINDS if re.fullmatch(pattern, path)), None)


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
    """Another value of the same form, near the old one, and further off than floats for readers may be (1e-9)."""
    if isinstance(value, dict):
        changed = Fraction(value["exact"]) * Fraction(10001, 10000) + Fraction(1, 10**6)
        rounded = float(changed)
        above = rounded if Fraction(rounded) >= changed else math.nextafter(rounded, math.inf)
        return {"exact": str(changed), "float": above}
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1 + abs(value) // 10**6
    if isinstance(value, float):
        return value * 1.001 + 0.001
    if value is None:
        return "1"
    if re.fullmatch(r"[0-9]+(/[0-9]+)?", value):
        return str(Fraction(value) * Fraction(10001, 10000) + Fraction(1, 10**6))
    if re.fullmatch(r"[0-9a-f]{64}", value):
        return value[1:] + value[0] if value[1:] + value[0] != value else "0" * 64
    return value + "x"


def changed_at(document, path):
    """The document with one leaf changed."""
    made = copy.deepcopy(document)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = other(at[path[-1]])
    return made


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def forged(document, path):
    """The document with one leaf changed, and its seals made again, but for a seal that is the leaf itself."""
    return reseal(changed_at(document, path), keep=path)


def reseal(document, keep=()):
    for part, own in ((document.get("plan"), ("plan", "sha256")), (document, ("sha256",))):
        if part and "sha256" in part and keep != own:
            rest = {key: value for key, value in part.items() if key != "sha256"}
            part["sha256"] = hashlib.sha256(canonical(rest).encode()).hexdigest()
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
                yield (name, row[-1]), made.getvalue()


def forged_ledger(path):
    """(leaf, text) for each leaf of each entry, with all seals after it made again."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines):
        for leaf, _ in places(line):
            changed = [*lines[:number], changed_at(line, leaf), *lines[number + 1 :]]
            if leaf != ("seal",):
                changed, before = copy.deepcopy(changed), ""
                for each in changed:
                    before = hashlib.sha256(f"{before}\n{canonical(each['entry'])}".encode()).hexdigest()
                    each["seal"] = before
            yield ("entry", number, line["entry"]["entry"], *leaf), ledger_text(changed)


def ledger_text(lines):
    return "".join(f'{{"entry":{canonical(each["entry"])},"seal":{json.dumps(each["seal"])}}}\n' for each in lines)


def refused(place, ledger=None):
    """The exit code of the checker for what lies there, and the words of its refusals."""
    found = checker.check(str(place), None if ledger is None else str(ledger))
    against = [each for each in found if each[0] in checker.CODES]
    return max((checker.CODES[each[0]] for each in against), default=0), "\n".join(": ".join(each) for each in against)


def record_of(place):
    beside = Path(f"{place}.record.json")
    return Path(place) / "release.json" if os.path.isdir(place) else beside if beside.is_file() else Path(place)


def every_forgery(place, scratch, ledger=None, wanted=lambda leaf: kind_of(leaf) is not None):
    """(what was changed, the code, the words) of every wanted forgery of a record, of its answers and of its ledger."""
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
        if wanted(leaf):
            write(forged(document, leaf), target)
            yield leaf, *refused(copied, ledger)
    names = [name for name in document.get("files", []) if name == "answers.csv"]
    if names:
        file = copied / names[0]
        kept = file.read_bytes()
        for what, text in forged_answers(file):
            if not wanted(("answers.csv", *what)):
                continue
            file.write_text(text, encoding="utf-8")
            made = copy.deepcopy(document)
            if "hashes" in made:
                made["hashes"][names[0]] = hashlib.sha256(text.encode()).hexdigest()
            write(reseal(made), target)
            yield ("answers.csv", *what), *refused(copied, ledger)
        file.write_bytes(kept)
    write(document, target)
    for leaf, text in forged_ledger(Path(ledger)) if ledger else []:
        if wanted(leaf):
            (scratch / "ledger.jsonl").write_text(text)
            yield leaf, *refused(copied, scratch / "ledger.jsonl")
    shutil.rmtree(copied) if copied.is_dir() else copied.unlink()


def thinned(every):
    """Of the forgeries of one kind each `every`-th, where they are many."""
    seen: Counter[str] = Counter()

    def wanted(leaf):
        kind = kind_of(leaf)
        seen[kind] += 1
        return kind is not None and seen[kind] % every == 1 % every

    return wanted


def table_of_forgeries(every):
    """Of all honest records, by kind of field: forged, refused, said; (record, leaf) of what was accepted."""
    from checker import honest

    forged_fields, refused_fields, said, accepted = Counter(), Counter(), Counter(), []
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as scratch:
        for place, ledger in honest.everything(Path(made)):
            found = checker.check(str(place), ledger and str(ledger))
            for leaf, code, _ in every_forgery(place, Path(scratch), ledger, thinned(every)):
                forged_fields[kind_of(leaf)] += 1
                refused_fields[kind_of(leaf)] += code != 0
                if code == 0 and is_said(leaf, found):
                    said[kind_of(leaf)] += 1
                elif code == 0:
                    accepted.append((Path(place).name, ".".join(map(str, leaf))))
    return forged_fields, refused_fields, said, accepted


if __name__ == "__main__":
    forged_, refused_, said_, accepted_ = table_of_forgeries(int(*sys.argv[1:] or [1]))
    print(f"{'':<20}{'forged':>9}{'refused':>9}{'said':>9}{'accepted':>9}")
    for kind_ in [*(name for name, _ in KINDS), "all"]:
        sums_ = [sum(each.values()) if kind_ == "all" else each[kind_] for each in (forged_, refused_, said_)]
        print(f"{kind_:<20}" + "".join(f"{each:>9}" for each in [*sums_, sums_[0] - sums_[1] - sums_[2]]))
    for record_, leaf_ in accepted_:
        print(f"accepted: {record_}: {leaf_}")
