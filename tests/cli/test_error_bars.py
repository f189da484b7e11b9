"""--error-bars and --certify as a user meets them: plan, screen, record, refusals."""

import json
import math

import pytest

PAIRS = [["sex", "age"], ["sex", "income"], ["age", "income"]]


@pytest.fixture
def pairs(desk):
    """Three pairs, of which one round can measure one."""
    asked = json.loads((desk.path / "q.json").read_text())
    desk.write(pairs__json=json.dumps({**asked, "queries": [{"marginals": PAIRS}]}))
    return desk


def run(desk, *options, eps="1"):
    return desk.release("--rounds", "1", *options, queries="pairs.json", eps=eps)


def test_a_plan_says_what_errors_cost_and_why_none_are_bought(pairs) -> None:
    assert "Errors      noisy L1 errors of the blocks that were left unmeasured" in run(pairs, "--dry-run").out
    assert "error bars, eps 0.005\n" in run(pairs, "--dry-run").out
    assert "error bars, eps 0.1\n" in run(pairs, "--dry-run", "--error-bars", "0.1").out
    assert "Errors" not in run(pairs, "--dry-run", "--error-bars", "free").out
    assert "2 draws of noisy L1 errors of all blocks" in run(pairs, "--dry-run", "--certify", "0.1").out
    whole = pairs.release("--dry-run", "--error-bars", "0.1", queries="pairs.json")
    assert "no errors of unmeasured blocks are bought: every block is measured" in " ".join(whole.out.split())


def test_a_record_holds_the_bounds_and_the_screen_the_first_of_them(pairs) -> None:
    ended = run(pairs, "--certify", "0.05", "--beta", "0.1", "--out", "release", eps="100")
    assert ended.code == 0
    record = json.loads((pairs.path / "release" / "release.json").read_text())
    assert [bound["name"] for bound in record["bounds"]["blocks"]] == [
        f"marginal({','.join(names)})" for names in PAIRS
    ]
    assert record["bounds"]["confidence"] == 0.9
    assert record["plan"]["beta"]["exact"] == "1/10"
    assert record["bounds"]["fraction"] is None
    assert all(math.isfinite(bound["records"]) for bound in record["bounds"]["blocks"])
    assert [draw["of"] for draw in record["errors"]["draws"]] == ["sum", "largest"]
    shown = pairs.run("show", "release", "--query", "marginal(sex,age)")
    assert "at most" in shown.out.splitlines()[1]
    assert "with probability at least 0.9" in shown.out.splitlines()[1]
    said = " ".join(ended.err.split())
    assert "Certificate: with probability at least 0.9, over the noise of this run, the mean L1 error of the 3" in said
    assert "Errors" in " ".join(line[0] for line in record["receipt"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--error-bars", "fre"), "--error-bars takes a share, free or none"),
        (("--error-bars", "1"), "must be at least"),
        (("--certify", "none"), "give a plain decimal number"),
        (("--certify", "0.1", "--error-bars", "0.1"), "leave --error-bars out"),
        (("--beta", "0.1"), "--beta goes with --schedule theory or --certify"),
    ],
)
def test_what_makes_no_sense_is_refused(pairs, options, said) -> None:
    ended = run(pairs, *options, "--dry-run")
    assert ended.code == 2
    assert said in " ".join(ended.err.split())


def test_settings_state_shares(pairs) -> None:
    (pairs.path / "dpqr.toml").write_text("error-bars = 0.02\n")
    assert "error bars, eps 0.02\n" in run(pairs, "--dry-run").out
