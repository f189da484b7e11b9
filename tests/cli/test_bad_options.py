"""Options, paths and outputs that cannot be used: exit 2, and 3 where the plan itself is what fails."""

from __future__ import annotations

import pytest
from support.refusal_form import Bad, assert_refusal, each, refused

DECIMAL = "give a plain decimal number"
BETWEEN = "epsilon must lie between 1e-9 and 1000"
UNIT = "delta must be 0 (pure privacy) or lie in [1e-30, 1)"

EPSILONS = [
    ("zero", "0", BETWEEN),
    ("zero-in-words", "0.000e5", BETWEEN),
    ("negative", "-1", DECIMAL),
    ("nan", "nan", DECIMAL),
    ("infinite", "inf", DECIMAL),
    ("minus-infinite", "-Infinity", DECIMAL),
    ("hexadecimal", "0x1p-3", DECIMAL),
    ("absurdly-small", "1e-300", BETWEEN),
    ("absurdly-large", "1e300", BETWEEN),
    ("a-bomb", "1e999999999", DECIMAL),
    ("endless", "0." + "1" * 200, "characters are too many"),
    ("underscore", "1_000", DECIMAL),
    ("other-digits", "\u0661", DECIMAL),
    ("wide-digits", "\uff11", DECIMAL),
    ("empty", "", DECIMAL),
    ("blank", " ", DECIMAL),
    ("comma", "0,5", DECIMAL),
    ("ratio", "1/2", DECIMAL),
    ("word", "one", DECIMAL),
]
DELTAS = [
    ("negative", "-1e-9", DECIMAL),
    ("one", "1", UNIT),
    ("above-one", "1.5", UNIT),
    ("nan", "nan", DECIMAL),
    ("infinite", "inf", DECIMAL),
    ("hexadecimal", "0x1p-30", DECIMAL),
    ("absurdly-small", "1e-300", UNIT),
    ("empty", "", DECIMAL),
    ("other-digits", "\u0661e-9", DECIMAL),
]
THEORY = ("--schedule", "theory", "--neighbours", "add-remove", "--n", "1000000000")
USAGE = [
    ("neighbours", "'swap' is not one of 'add-remove', 'replace'", ("--neighbours", "swap")),
    ("replace-without-n", "add --n N", ("--neighbours", "replace")),
    ("n-where-it-is-private", "add-remove, and --schedule auto does not need it", ("--n", "5")),
    ("n-zero", "--n", ("--neighbours", "replace", "--n", "0")),
    ("n-negative", "--n", ("--neighbours", "replace", "--n", "-5")),
    ("n-a-fraction", "'5.5' is not a valid whole number", ("--neighbours", "replace", "--n", "5.5")),
    ("n-beyond-the-cap", "--n", ("--neighbours", "replace", "--n", str(2**40))),
    ("schedule-unknown", "did you mean 'theory'?", ("--schedule", "theorie")),
    ("distinguisher-unknown", "did you mean 'exponential'?", ("--distinguisher", "exponental")),
    ("check-unknown", "did you mean 'gaussian'?", ("--check", "gausian")),
    (
        "update-unknown",
        "known: multiplicative-weights, piecewise-weights, median",
        ("--update", "x"),
    ),
    ("accountant-unknown", "did you mean 'zcdp'?", ("--accountant", "zdcp")),
    ("rounds-zero", "--rounds", ("--rounds", "0")),
    ("rounds-with-theory", "--rounds goes with --schedule rounds", (*THEORY, "--rounds", "3")),
    ("opening-with-theory", "--opening goes with --schedule rounds", (*THEORY, "--no-opening")),
    ("alpha-without-theory", "--alpha goes with --schedule theory", ("--alpha", "0.1")),
    ("beta-without-theory", "--beta goes with --schedule theory", ("--beta", "0.1")),
    ("variant-without-theory", "--variant goes with --schedule theory", ("--variant", "sharp")),
    ("alpha-zero", "--alpha 0: must be at least 1e-12 and below 1", (*THEORY, "--alpha", "0")),
    ("alpha-one", "--alpha 1: must be at least", (*THEORY, "--alpha", "1")),
    ("alpha-nan", DECIMAL, (*THEORY, "--alpha", "nan")),
    ("beta-above-one", "--beta 2: must be at least", (*THEORY, "--beta", "2")),
    ("variant-unknown", "'blunt' is not one of", (*THEORY, "--variant", "blunt")),
    ("replay-with-perceptron", "--replay goes with", ("--update", "perceptron", "--replay")),
    ("gaussian-without-delta", "never pure, so it needs a delta above 0", ("--check", "gaussian")),
    ("gaussian-with-delta-0", "never pure, so it needs a delta above 0", ("--check", "gaussian", "--delta", "0")),
    ("zcdp-without-delta", "zcdp accountant needs a delta above 0; add --delta", ("--accountant", "zcdp")),
    ("advanced-without-delta", "advanced accountant needs a delta above 0", ("--accountant", "advanced")),
    ("optimal-without-delta", "optimal accountant needs a delta above 0", ("--accountant", "optimal")),
    (
        "gaussian-with-pure-accountant",
        "--accountant advanced covers pure draws only",
        ("--check", "gaussian", "--accountant", "advanced", "--delta", "1e-9"),
    ),
    ("trust-nobody", "no third party's code of that name is used here", ("--trust", "exponential")),
    ("seed-negative", "--seed", ("--seed", "-1")),
    ("delimiter-long", "--delimiter 'ab': give one character", ("--delimiter", "ab")),
    ("delimiter-empty", "--delimiter '': give one character", ("--delimiter", "")),
    ("delimiter-quote", "--delimiter '\"': give one character", ("--delimiter", '"')),
    ("delimiter-letter", "--delimiter 'a': give one character", ("--delimiter", "a")),
    ("max-cells-zero", "--max-cells", ("--max-cells", "0")),
    ("max-model-size-zero", "--max-model-size", ("--max-model-size", "0")),
    (
        "max-model-size-with-another-rule",
        "--max-model-size goes with --update multiplicative-weights",
        ("--max-model-size", "9", "--update", "perceptron"),
    ),
    ("max-records-beyond-the-cap", "--max-records", ("--max-records", str(2**37))),
    ("max-bytes-in-words", "--max-bytes", ("--max-bytes", "1GB")),
    ("format-unknown", "'xlsx' is not one of 'csv', 'parquet', 'json'", ("--format", "xlsx")),
    ("sampled-cells", "choose --synthetic rows", ("--bins", "sampled", "--synthetic", "cells")),
    ("bins-without-synthetic", "add --synthetic rows", ("--bins", "midpoint")),
    ("progress-unknown", "--progress", ("--progress", "loud")),
    ("no-such-option", "no such option '--epsilon'", ("--epsilon", "1")),
    ("option-without-value", "'--domain' requires an argument", ("--domain",)),
    ("out-empty", "--out: give the name of a directory", ("--out", "")),
    ("out-in-a-missing-directory", "create that directory or choose another", ("--out", "no/such/place")),
    ("out-below-a-file", "--out table.csv/out:", ("--out", "table.csv/out")),
    ("out-is-a-file", "--out table.csv: is no directory", ("--out", "table.csv")),
    ("out-is-a-file-by-force", "--out table.csv: is no directory", ("--out", "table.csv", "--if-exists", "replace")),
    ("out-name-too-long", "File name too long", ("--out", "x" * 300)),
]
INFEASIBLE = [
    ("median-without-theory", "take it with --schedule theory", ("--update", "median")),
    ("synthetic-without-distribution", "leave --synthetic out", ("--update", "perceptron", "--synthetic", "rows")),
    ("too-many-cells", "cells: age 5 x income 3 x sex 2", ("--max-cells", "10", "--no-replay")),
    ("theory-without-n", "--n N0", ("--schedule", "theory", "--variant", "sharp")),
    ("theory-vacuous", "use --schedule rounds", ("--schedule", "theory", "--n", "50")),
    ("alpha-out-of-reach", "leave --alpha out to take that", (*THEORY, "--variant", "sharp", "--alpha", "0.0001")),
    ("alpha-below-every-stage", "leave --alpha out to go as far", (*THEORY, "--alpha", "0.00000001")),
]
CASES = [
    *(Bad(f"eps-{name}", 2, says, eps=text) for name, text, says in EPSILONS),
    *(Bad(f"delta-{name}", 2, says, options=("--delta", text)) for name, text, says in DELTAS),
    *(Bad(name, 2, says, options=options) for name, says, options in USAGE),
    *(Bad(name, 3, says, options=options) for name, says, options in INFEASIBLE),
    Bad("out-is-root", 8, "--out /: exists", options=("--out", "/")),
]


@each(CASES)
def test_option_is_refused(desk, case):
    refused(desk, case)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("relese",), "no command 'relese'; did you mean 'release'?"),
        (("7",), "no command '7'; known: release,"),
        (("--loud",), "no such option '--loud'\n"),
        (("release", "--quer"), "no such option '--quer'; did you mean '--after' or '--queries'?"),
        (("release",), "missing argument 'DATA...'"),
        (("release", "table.csv", "--eps", "1"), "missing option '--queries'"),
        (("release", "table.csv", "--queries", "q.json"), "missing option '--eps'"),
        (("check",), "missing option '--queries'"),
        (("domain",), "name a table, or a codebook by --from"),
        (("schema", "data"), "'data' is not one of 'domain', 'queries'"),
        (("strategies", "all"), "unexpected extra argument"),
        (("domain", "table.csv", "--out", "no/such/place.json"), "No such file or directory"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_command_is_refused(desk, arguments, says):
    before = desk.everything()
    assert_refusal(desk.run(*arguments), 2, says)
    assert desk.everything() == before


def test_a_file_that_is_there_is_kept(desk):
    before = desk.everything()
    assert_refusal(desk.run("domain", "table.csv", "--out", "q.json"), 8, "the file exists")
    assert desk.everything() == before


@pytest.mark.parametrize(
    "option", [("--synthetic", "rows"), ("--format", "json"), ("--if-exists", "skip")], ids=lambda o: o[0]
)
def test_option_about_files_needs_a_directory(desk, option):
    assert_refusal(desk.release(*option), 2, f"{option[0]} is about the files of a release; add --out DIR")


def test_release_over_an_older_one_is_asked_for(desk):
    assert desk.release("--out", "out").code == 0
    before = {path: (desk.path / path).read_bytes() for path in desk.everything() if "." in path}
    assert_refusal(desk.release("--out", "out"), 8, "--if-exists replace")
    assert {path: (desk.path / path).read_bytes() for path in desk.everything() if "." in path} == before
    assert desk.release("--out", "out", "--if-exists", "replace").code == 0
    (desk.path / "out" / "diary.txt").write_text("mine")
    assert_refusal(
        desk.release("--out", "out", "--if-exists", "replace"), 2, "'diary.txt', which is not part of the release"
    )


def test_nothing_but_releases_is_replaced(desk):
    desk.put("folder/notes.txt", "mine")
    assert_refusal(desk.release("--out", "folder", "--if-exists", "replace"), 2, "holds no dpqr release")


def test_more_answers_than_a_table_shows_are_refused_before_they_are_paid_for(desk):
    desk.write(q__json={"domain": {"age": 100, "sex": 60}, "queries": [{"marginal": ["age", "sex"]}]})
    assert_refusal(desk.release(data="nowhere.csv"), 2, "6,000 answers are too many for a table; add --out DIR")
