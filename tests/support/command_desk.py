"""A desk with a small private table, its documents, and the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from dpqr.cli.main import main

PRIVATE = ("PRIVATEVALUE", "987654321", "-77.125", "1999-12-31")
"""Cells of the table that no output may show."""

TABLE = """sex,age,income,day
F,31,100.5,2024-01-05
M,64,987654321,2024-02-01
PRIVATEVALUE,12,-77.125,1999-12-31
M,,250,2024-03-03
F,45,31.25,2024-01-09
"""
DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "dpqr": {"width": 25, "null": "cell", "outside": "clip", "otherwise": "drop"},
        },
        {
            "name": "income",
            "type": "number",
            "dpqr": {"edges": [0, 100, 200, 400], "outside": "clip", "otherwise": "drop"},
        },
    ],
}
QUERIES = {"dpqr": "queries/1", "domain": DOMAIN, "queries": [{"marginal": ["sex", "age"]}, {"prefix": "income"}]}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    exception: BaseException | None = None

    @property
    def json(self):
        return json.loads(self.out)


@dataclass(frozen=True)
class Desk:
    """A directory with table.csv and q.json, which is also the working directory."""

    path: Path

    def write(self, **files):
        """Files by name ("__" for a dot): text, bytes, a document to be written as JSON, or what makes one of these."""
        for name, content in files.items():
            self.put(name.replace("__", "."), content)

    def put(self, name, content):
        if callable(content):
            content = content()
        if isinstance(content, str):
            content = content.encode()
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def everything(self):
        """Every path under the desk, hidden ones too."""
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*")}

    def run(self, *arguments, stdin=None, env=None):
        done = CliRunner().invoke(main, [str(each) for each in arguments], input=stdin, env=env)
        return Ended(code=done.exit_code, out=done.stdout, err=done.stderr, exception=done.exception)

    def release(self, *arguments, data="table.csv", queries="q.json", eps="1", **more):
        return self.run("release", data, "--queries", queries, "--eps", eps, *arguments, **more)


def women_and_men(document):
    """The sums over the marginal's cells, which come first: five of each sex."""
    cells = [answer["measured"] for answer in document["answers"]]
    return sum(cells[:5]), sum(cells[5:10])
