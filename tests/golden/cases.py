"""What is recorded: plans, releases from repeatable noise, helps, and a ledger's life; every output by a name."""

import json
import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from click.testing import CliRunner
from golden.lives import lives
from support.repeatable_noise import repeatable_noise

from dpqr.cli import main as commands

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
SURVEY, RECORDS = str(SAMPLE / "survey.csv"), 20_000
SCHEDULES = ("auto", "marginals", "rounds", "queries", "theory", "strategy", "ordered")
ACCOUNTANTS = {"basic": (), "advanced": ("1e-6",), "optimal": ("1e-6",), "zcdp": ("1e-6",)}
RELATIONS = {"add-remove": (), "replace": ("--n", str(RECORDS))}
UPDATES = ("multiplicative-weights", "perceptron", "piecewise-weights", "least-squares")
ENTRIES = {
    "pairs": [{"marginals": {"ways": 2, "columns": ["region", "sex", "education", "age"]}}],
    "ordered": [{"prefix": "age"}, {"ranges": "age", "random": 40, "seed": 1}],
    "singles": [{"conjunctions": {"random": 300, "seed": 1, "ways": [2, 3], "columns": ["region", "sex", "age"]}}],
    "mixed": [{"marginal": ["sex"]}, {"where": "age >= 48", "by": ["region"]}, {"sum": "income"}],
}
SEAL = re.compile(r"[0-9a-f]{64}|(?<=seal )[0-9a-f]{16}")
DRAFT = re.compile(r"\.\d+-\d+\.draft")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+0-9:]*")

Case = tuple[str, str]
"""A name, and all that came out under it."""


def recorded(desk: Path) -> Iterator[Case]:
    """Every case; desk: an empty directory to work in."""
    for name, entries in ENTRIES.items():
        document = {"dpqr": "queries/1", "domain": str(SAMPLE / "domain.json"), "queries": entries}
        (desk / f"{name}.json").write_text(json.dumps(document))
    shutil.copy(SAMPLE / "queries.json", desk / "sample.json")
    shutil.copy(SAMPLE / "domain.json", desk / "domain.json")
    shutil.copy(SAMPLE / "full_time.csv", desk / "full_time.csv")
    yield from _helps()
    yield from _plans(desk)
    with repeatable_noise():
        yield from _releases(desk)
        yield from _ledger(desk)
        yield from _settings(desk)
        yield from _release(
            desk, "rehearsal", SURVEY, "--queries", str(desk / "mixed.json"), "--eps", "1", "--rehearse"
        )
        yield from lives(desk, _run, _content)


def _helps() -> Iterator[Case]:
    yield "help/dpqr", _run("--help")
    for name in commands.COMMANDS:
        yield f"help/{name}", _run(name, "--help")
    yield "strategies", _run("strategies")
    yield "audit", _run("audit", "--list")
    for document in ("domain", "queries"):
        yield f"schema/{document}", _run("schema", document)


def _plans(desk: Path) -> Iterator[Case]:
    for entries, schedule, accountant, relation in product(ENTRIES, SCHEDULES, ACCOUNTANTS, RELATIONS):
        given = ["--queries", str(desk / f"{entries}.json"), "--eps", "1", "--schedule", schedule]
        given += ["--accountant", accountant, "--neighbours", relation, *RELATIONS[relation]]
        given += ["--delta", *ACCOUNTANTS[accountant]] if ACCOUNTANTS[accountant] else []
        name = f"plans/{entries}-{schedule}-{accountant}-{relation}"
        yield name, _run("release", SURVEY, *given, "--dry-run", "--json")
    for update in UPDATES:
        given = ("--queries", str(desk / "pairs.json"), "--eps", "1", "--update", update, "--dry-run")
        yield f"plans/update-{update}", _run("release", SURVEY, *given)
    for update, variant in product(("multiplicative-weights", "perceptron"), ("printed", "sharp")):
        given = ("--queries", str(desk / "pairs.json"), "--eps", "1", "--schedule", "theory", "--update", update)
        public = ("--variant", variant, "--neighbours", "replace", "--n", "4000000000")
        yield f"plans/theory-{update}-{variant}", _run("release", SURVEY, *given, *public, "--dry-run", "--json")
    yield "plans/sample", _run("release", SURVEY, "--queries", str(desk / "sample.json"), "--eps", "1", "--dry-run")


def _releases(desk: Path) -> Iterator[Case]:
    for entries, delta in product((*ENTRIES, "sample"), ("", "1e-9")):
        given = ["--queries", str(desk / f"{entries}.json"), "--eps", "1", *(("--delta", delta) if delta else ())]
        yield from _release(desk, f"releases/{entries}{'-delta' if delta else ''}", SURVEY, *given)
    more = {
        "persons": ("--unit", "person_id", "--max-rows", "2"),
        "replace": ("--neighbours", "replace", "--n", "20000", "--schedule", "rounds"),
        "rows": ("--synthetic", "rows"),
        "cells": ("--synthetic", "cells", "--bins", "midpoint"),
    }
    for name, given in more.items():
        queries = ("--queries", str(desk / "pairs.json"), "--eps", "1")
        yield from _release(desk, f"releases/{name}", SURVEY, *queries, *given)


def _release(desk: Path, name: str, *given: str) -> Iterator[Case]:
    out = desk / "out"
    shutil.rmtree(out, ignore_errors=True)
    with repeatable_noise():  # from its beginning, so that a release with other draws changes no later one
        screen = _run("release", *given, "--out", str(out))
    yield f"{name}/screen", screen.replace(str(desk), "DESK")
    for path in sorted(out.rglob("*")) if out.exists() else ():
        yield f"{name}/{path.name}", _content(path).replace(str(desk), "DESK")


def _ledger(desk: Path) -> Iterator[Case]:
    place = ("--ledger", str(desk / "ledger.sqlite"))
    yield "ledger/init", _run("budget", "init", "survey", "--eps", "5", "--cap-eps", "2", *place)
    queries = ("--queries", str(desk / "mixed.json"))
    for number, epsilon in enumerate(("1", "2", "3", "0.5")):
        paid = ("--dataset", "survey", *place, "--eps", epsilon, "--json")
        yield f"ledger/release-{number}", _run("release", SURVEY, *queries, *paid)
    for what in (("show", "survey"), ("show", "survey", "--json"), ("history",), ("verify",), ("export",)):
        yield f"ledger/{'-'.join(what)}", _run("budget", *what, *place)


def _settings(desk: Path) -> Iterator[Case]:
    """Commands under a dpqr.toml, on the ledger that is there by now, on a screen so wide that no line breaks by the
    length of this run's directory."""
    stated = desk / "dpqr.toml"
    stated.write_text('queries = "mixed.json"\ndataset = "survey"\nledger = "ledger.sqlite"\npurpose = "a test"\n')
    for what in (("release", SURVEY, "--eps", "0.25"), ("check",), ("budget", "show")):
        said = _run(*what, DPQR_SETTINGS=str(stated), COLUMNS="400")
        yield f"settings/{what[0]}", re.sub(rf"\S*{re.escape(desk.name)}/", "", said)


def _run(*arguments: str, **environment: str) -> str:
    """Exit code, stdout and stderr; times and seals, which are new every time, are left out."""
    done = CliRunner().invoke(commands.main, list(arguments), env={"COLUMNS": "120", **environment})
    text = f"exit {done.exit_code}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}"
    return DRAFT.sub(".DRAFT", TIME.sub("TIME", SEAL.sub("SEAL", text)))


def _content(path: Path) -> str:
    if path.suffix != ".parquet":
        return SEAL.sub("SEAL", path.read_text())
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return f"{table.schema}\n{table.to_pydict()}"
