"""The second pair of eyes: it accepts honest releases of every version, and refuses what does not follow."""

import ast
import json
import shutil
from pathlib import Path

import pytest
from checker.forgeries import every_forgery, forged, forged_ledger, places, refused, write

import dpqr
from dpqr.checker import check as checker

ROOT = Path(__file__).parents[2]
FILE = ROOT / "dpqr/checker/check.py"
OLD = sorted((ROOT / "tests/old_releases").iterdir())
NO_CLAIM = (
    *("versions", "date", "publisher", "warning", "counts", "certainty", "receipt", "error_bars", "trust"),
    *("hypothesis", "synthetic", "purpose", "by", "approved_by"),
)
"""Keys whose values nothing follows from, or that take the model: forged ones are accepted."""
WORDS = {("spent", "why"), ("intervals", "words"), ("dropped", "counts")}
NOT_DERIVED = {"pld"}
UNSEEN_PLAN = {"budget", "events", "proved_epsilon", "accountant", "guarantee", "sha256", "version"}
"""Keys of a plan that are held against something even where no ledger is given."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    import pandas

    where = tmp_path_factory.mktemp("made")
    table = pandas.DataFrame({"a": [0, 1, 1, 2] * 30, "b": [0, 1] * 60})
    release = dpqr.release(
        table, queries=dpqr.queries().marginal("a").marginal("a", "b"), domain={"a": 3, "b": 2}, eps=1
    )
    release.save(str(where / "out"))
    return where / "out"


@pytest.mark.parametrize("place", OLD, ids=lambda place: place.name)
def test_old_releases_are_accepted(place):
    assert refused(place) == (0, "")


@pytest.mark.parametrize("path", sorted((ROOT / "tests/old_ledgers").iterdir()), ids=lambda path: path.name)
def test_old_ledgers_add_up(path):
    assert checker.check_sums(checker.read_ledger(str(path)))


def test_it_imports_the_standard_library_alone_and_is_written_for_python_3_9():
    tree = ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 9))
    imports = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imports <= {
        *("__future__", "argparse", "csv", "hashlib", "json", "math", "os", "re", "sys"),
        *("collections", "decimal", "fractions", "functools", "itertools", "typing"),
    }
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))


def claims(leaf):
    """Whether a forgery of that leaf must be refused where no ledger is given."""
    if leaf[0] in NO_CLAIM or leaf in WORDS or NOT_DERIVED & set(leaf):
        return False
    if leaf[0] == "answers.csv":
        return leaf[1] in ("measured", "noise_deviation", "lower", "upper", "basis") and leaf[2] == "measured"
    if leaf[0] == "transcript" and leaf[-1] == "stopped":
        return False  # the stop test is the model's
    return leaf[0] != "plan" or leaf[1] in UNSEEN_PLAN


def test_what_changes_a_price_a_sensitivity_an_answer_an_interval_or_a_hash_is_refused(made, tmp_path):
    found = list(every_forgery(made, tmp_path))
    assert len(found) > 200
    assert [leaf for leaf, code, _ in found if code == 0 and claims(leaf)] == []


def test_a_leaf_without_new_seals_is_refused(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    document = json.loads((made / "release.json").read_text())
    for leaf, _ in list(places(document))[::9]:
        changed = forged(document, leaf) | {"sha256": document["sha256"]}
        write(changed, tmp_path / "out/release.json")
        assert refused(tmp_path / "out")[0] == 6


def test_a_forged_ledger_does_not_add_up(tmp_path):
    """Costs, limits and events: under new seals too."""
    source, kept = ROOT / "tests/old_ledgers/0.10.0.jsonl", tmp_path / "ledger.jsonl"
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    start = next(number for number, line in enumerate(lines) if line["entry"]["entry"] == "reserve")
    seen = 0
    for where, text in forged_ledger(source):
        if where[1] in ("reserve", "settle") and where[-1] == "seal" and where[0] >= start:
            kept.write_text(text)
            with pytest.raises(checker.Refused):
                checker.check_sums(checker.read_ledger(str(kept)))
            seen += 1
    assert seen


PLANTED = {
    "epsilon": ('return p["sensitivity"] / p["scale"]', 'return p["sensitivity"] / p["scale"] / 2'),
    "deviation": ("return math.sqrt(2) * math.exp(-rate / 2)", "return math.sqrt(2) * math.exp(-rate)"),
    "tail": (
        "q, wanted = (-1 / dec(parameter)).exp(), Decimal(beta)",
        "q, wanted = (-1 / dec(parameter)).exp(), Decimal(2 * beta)",
    ),
    "seal": ('rest = {key: part for key, part in document.items() if key != "sha256"}', "rest = document"),
}


@pytest.mark.parametrize(("right", "wrong"), PLANTED.values(), ids=PLANTED)
def test_a_fault_in_the_checker_refuses_honest_releases(right, wrong, made):
    source = FILE.read_text(encoding="utf-8")
    assert right in source
    space = {"__name__": "faulty"}
    exec(compile(source.replace(right, wrong, 1), str(FILE), "exec"), space)
    assert any(space["check"](str(place))[-1][0] == "REFUSED" for place in (*OLD, made))
