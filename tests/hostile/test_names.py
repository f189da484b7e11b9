"""Names that are no UTF-8, in every locale: a release like any other, or two lines with the name escaped."""

import os
import shutil
import subprocess
import sys

import pytest
from support.cases import thinned
from support.command_desk import TABLE
from support.forged_parquet import table_bytes
from support.refusal_form import assert_refusal

ODD = "caf\udce9"
"""What Python calls the file whose name is the bytes of "caf" and 0xe9."""
COLUMNS = {"sex": ["F", "M"], "age": [31, 64], "income": [100.5, 2.0]}


@pytest.fixture
def odd(desk):
    try:
        (desk.path / ODD).mkdir()
    except (OSError, UnicodeError):
        pytest.skip("this file system holds UTF-8 names only")
    (desk.path / ODD).rmdir()
    desk.put(f"{ODD}.csv", TABLE)
    desk.put(f"{ODD}.parquet", table_bytes(COLUMNS))
    shutil.copy(desk.path / "q.json", desk.path / f"{ODD}.json")
    return desk


@pytest.mark.parametrize("form", thinned(["csv", "parquet", "json"], 3))
@pytest.mark.parametrize("data", thinned([f"{ODD}.csv", f"{ODD}.parquet"], 2), ids=["of-csv", "of-parquet"])
def test_every_file_may_have_such_a_name(odd, data, form):
    ledger = ("--ledger", f"{ODD}.sqlite", "--anchor", f"{ODD}.anchor")
    assert odd.run("budget", "init", "survey", "--eps", "1", *ledger).code == 0
    ended = odd.release(
        *("--dataset", "survey", *ledger, "--out", ODD, "--format", form, "--synthetic", "rows"),
        data=data,
        queries=f"{ODD}.json",
    )
    assert ended.code == 0, ended.err
    assert {path.name for path in (odd.path / ODD).iterdir()} == {
        f"answers.{form}",
        "release.json",
        "synthetic.parquet",
    }
    assert odd.release("--out", f"{ODD}-unpaid", "--format", form, data=data).code == 0
    assert odd.run("evaluate", "table.csv", f"{ODD}-unpaid", "--queries", "q.json", "--json").code == 0


C_LOCALE = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def in_c(desk, *arguments):
    command = [sys.executable, "-m", "dpqr", "release", *arguments, "--queries", "q.json", "--eps", "1"]
    return subprocess.run(command, cwd=desk.path, env=C_LOCALE, capture_output=True, text=True, encoding="utf-8")


@pytest.mark.slow
def test_the_c_locale_releases_and_refuses(odd):
    sex = {"name": "sex", "type": "string", "constraints": {"enum": ["F", "\u03a9"]}}
    odd.write(q__json={"domain": {"fields": [sex]}, "queries": [{"name": "\u03a9", "marginal": ["sex"]}]})
    done = in_c(odd, f"{ODD}.csv", "--out", ODD)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "\u03a9" in (odd.path / ODD / "answers.csv").read_text(encoding="utf-8")
    shown = in_c(odd, f"{ODD}.csv")
    assert "sex=\u03a9" in shown.stdout, "click writes UTF-8 where a locale knows ASCII only"
    done = in_c(odd, f"not-{ODD}.csv")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith("dpqr: not-caf\\udce9.csv does not exist")


def test_a_column_of_such_a_name_is_not_there(odd):
    assert_refusal(odd.release("--unit", ODD, "--max-rows", "1"), 5, "has no column 'caf\\udce9'")
    assert_refusal(odd.release("--counts", ODD), 5, "has no column 'caf\\udce9'")
