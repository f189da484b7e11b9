"""The walk of the guide's first topic: from a messy table to a release, with the commands that stand there."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import pytest
from support.guide_pages import ROOT, topic

import dpqr
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.queries_file import read_queries

WRITTEN = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END\n", re.DOTALL | re.MULTILINE)
ROWS = 20_000
pytestmark = pytest.mark.slow


@dataclass
class Walk:
    """What a newcomer did: documents written by hand, and the commands with their ends."""

    edits: list[str] = field(default_factory=list)
    ended: list[tuple[str, object]] = field(default_factory=list)

    def shell(self, desk, block):
        for name, text in WRITTEN.findall(block):
            desk.put(name, text)
            self.edits.append(name)
        for line in WRITTEN.sub("", block).replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line)
            if program == "dpqr":
                self.ended.append((line, desk.run(*arguments)))
            else:
                assert program == "python3"
                subprocess.run([sys.executable, *arguments], check=True)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The walk, its desk, and the names that its lines of Python have made."""
    from support.command_desk import Desk

    desk, walk, made = Desk(tmp_path_factory.mktemp("first")), Walk(), {}
    shutil.copytree(ROOT / "sample_data", desk.path / "sample_data")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk.path)
        for language, block in topic("start").blocks("sh", "python"):
            if language == "sh":
                walk.shell(desk, block)
            else:
                exec(block, made)
    return desk, walk, made


def test_three_edits_at_most_and_no_refusal(walked):
    desk, walk, made = walked
    assert len(walk.edits) <= 3
    assert [(line, ended.err) for line, ended in walk.ended if ended.code != 0] == []
    commands = [shlex.split(line)[1] for line, _ in walk.ended]
    assert {"domain", "check", "release", "budget"} <= set(commands)
    assert (desk.path / "first" / "answers.csv").exists()
    assert isinstance(made["release"], dpqr.Release)


def test_nothing_is_left_to_fill_in(walked):
    _, walk, _ = walked
    (domain,) = (ended for line, ended in walk.ended if line.startswith("dpqr domain"))
    assert domain.err == "wrote domain.json; check it: dpqr check --domain domain.json --queries FILE\n"


def test_under_one_in_a_hundred_rows_is_left_out(walked):
    """Counted exactly, for the table is made up: neither the domain's rules nor the bound of the unit lose rows."""
    desk, _, _ = walked
    domain = read_queries(desk.path / "queries.json").domain
    source = TableSource(paths=(str(desk.path / "messy.csv"),), delimiter=";", encoding="cp1252")
    loaded = load_table(source, domain, Limits(), unit=PrivacyUnit(columns=("person_id",), rows=4))
    kept = int(loaded.counts._unseal(SealKey()).marginal(()))
    assert ROWS * 0.99 < kept <= ROWS


def test_the_table_is_as_messy_as_the_guide_says(walked):
    desk, _, _ = walked
    data = (desk.path / "messy.csv").read_bytes()
    rows = list(csv.DictReader(data.decode("cp1252").splitlines(), delimiter=";"))
    assert len(rows) == ROWS
    with pytest.raises(UnicodeDecodeError):
        data.decode("utf-8")
    cells = [cell for row in rows for cell in row.values()]
    rubbish = sum(cell in {"#REF!", "see note", "??", "99999999"} for cell in cells)
    assert 0.002 < rubbish / len(cells) < 0.004
    assert min(Counter(cells)[text] for text in ("Berlin", "berlin ", "", "03/11/2024")) > 20
    assert any(re.fullmatch(r"\d\.\d{3},\d\d (EUR|€)", row["paid"]) for row in rows)
    assert max(Counter(row["person_id"] for row in rows).values()) == 4
