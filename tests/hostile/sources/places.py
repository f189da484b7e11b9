"""Places of a private table: DuckDB's files, a PostgreSQL server and Spark's catalogue, and what a requester has put
there before the private rows came.

Each place is made anew for each of two neighbouring tables, at the same path and under the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from hostile.oracles.attempt import Table
from hostile.oracles.tables import ROWS, cells
from support.command_desk import Desk
from support.postgres_server import Server

COLUMNS = {
    "sex": "VARCHAR",
    "age": "BIGINT",
    "income": "DOUBLE",
    "count": "BIGINT",
    "who": "VARCHAR",
    "buys": "VARCHAR",
}
BOB = {**cells(ROWS), "who": "Bob"}
PEOPLE = tuple(cells(number) for number in range(ROWS))
WITH_BOB = (*PEOPLE[:-1], BOB)
"""Neighbours under either relation: one row is another one."""
DATABASE = "survey"


class Engines:
    """What runs outside of this process, or once in it: a PostgreSQL server, and a session of Spark."""

    server: Server
    session: Any = None


def server_address(user: str = "reader", database: str = DATABASE) -> str:
    return f"postgresql://{user}@{str(Engines.server.folder).replace('/', '%2F')}/{database}"


@dataclass(frozen=True, kw_only=True)
class Place(Table):
    """A private table in an engine. rows: of it; None: there is none, and nothing of the requester's either.

    planted: what the requester has made by then, in words of the engine; `own`: a DuckDB file of theirs.
    """

    rows: tuple[dict[str, Any], ...] | None = PEOPLE
    planted: tuple[str, ...] = ()


def literal(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def values(rows: tuple[dict[str, Any], ...]) -> str:
    return ", ".join(f"({', '.join(literal(row[name]) for name in COLUMNS)})" for row in rows)


@dataclass(frozen=True, kw_only=True)
class DuckPlace(Place):
    """private.duckdb (the table people, and the owner's views), people.parquet, people.csv and lake/ of the owner;
    own.duckdb of the requester, whose views were made over other rows."""

    views: tuple[str, ...] = ()

    def lay(self, desk: Desk) -> None:
        if self.rows is None:
            return
        self._private(desk.path, PEOPLE)
        if self.planted:
            with duckdb.connect(str(desk.path / "own.duckdb")) as own:
                for statement in self.planted:
                    own.execute(statement.replace("{desk}", str(desk.path)))
        self._private(desk.path, self.rows)
        (desk.path / "twice").mkdir()
        for name in ("a.parquet", "b.parquet"):
            (desk.path / "twice" / name).symlink_to(desk.path / "people.parquet")
        (desk.path / "linked.duckdb").symlink_to(desk.path / "private.duckdb")

    def _private(self, path: Path, rows: tuple[dict[str, Any], ...]) -> None:
        (path / "private.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(path / "private.duckdb")) as made:
            made.execute("SET threads = 1")
            made.execute(f"CREATE TABLE people ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
            made.execute(f"INSERT INTO people VALUES {values(rows)}")
            made.execute(f"COPY people TO '{path}/people.parquet'")
            made.execute(f"COPY people TO '{path}/people.csv'")
            for statement in self.views:
                made.execute(statement.replace("{desk}", str(path)))
            folder = path / "lake" / ("age=64" if rows == PEOPLE else "age=old")
            folder.mkdir(parents=True, exist_ok=True)
            made.execute(f"COPY (SELECT sex, income FROM people) TO '{folder}/part.parquet'")


@dataclass(frozen=True, kw_only=True)
class ServerPlace(Place):
    """A database with the owner's table survey.people and view survey.adults, a role `reader` that runs jobs and may
    read them, and a role `analyst` that may create in `public`, and may not read them.

    planted: statements of analyst. settled: statements of the owner, after the rows.
    """

    settled: tuple[str, ...] = ()

    def lay(self, desk: Desk) -> None:
        self._execute("postgres", "owner", f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        if self.rows is None:
            return
        self._execute("postgres", "owner", f"CREATE DATABASE {DATABASE} STRATEGY file_copy")
        kinds = {"VARCHAR": "text", "BIGINT": "bigint", "DOUBLE": "double precision"}
        columns = ", ".join(f"{name} {kinds[kind]}" for name, kind in COLUMNS.items())
        self._execute(
            DATABASE,
            "owner",
            "GRANT CREATE, USAGE ON SCHEMA public TO analyst",
            "CREATE SCHEMA survey",
            f"CREATE TABLE survey.people ({columns})",
            "GRANT USAGE ON SCHEMA survey TO reader, analyst",
            "GRANT SELECT ON survey.people TO reader",
            "CREATE VIEW survey.adults AS SELECT * FROM survey.people WHERE age >= 18",
            "GRANT SELECT ON survey.adults TO reader",
        )
        self._execute(DATABASE, "analyst", *self.planted)
        self._execute(DATABASE, "owner", f"INSERT INTO survey.people VALUES {values(self.rows)}", *self.settled)

    @staticmethod
    def _execute(database: str, user: str, *statements: str) -> None:
        import psycopg

        with psycopg.connect(server_address(user, database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


def roles() -> None:
    """Of the server: the one that runs jobs, and the requester's own."""
    for role in ("reader", "analyst"):
        Engines.server.execute(f"CREATE ROLE {role} LOGIN")


@dataclass(frozen=True, kw_only=True)
class SparkPlace(Place):
    """The table people in Spark's catalogue, and the same rows in files. planted: what was made there besides, in
    Spark's SQL. Where there is no session nothing is laid, for nothing may be opened."""

    def lay(self, desk: Desk) -> None:
        session = Engines.session
        if session is None:
            return
        for table in ("evil", "people"):
            self._drop(session, table)
        if self.rows is None:
            return
        import pyarrow as pa
        from pyarrow import csv, parquet

        made = pa.table({name: [row[name] for row in self.rows] for name in COLUMNS})
        made = made.set_column(2, "income", made["income"].cast(pa.float64()))
        parquet.write_table(made, desk.path / "people.parquet")
        for age in ("64", "old" if BOB in self.rows else "65"):
            (desk.path / "lake" / f"age={age}").mkdir(parents=True)
            parquet.write_table(made.select(["sex", "income"]), desk.path / "lake" / f"age={age}" / "part.parquet")
        csv.write_csv(made.select(["sex", "age", "income"]), desk.path / "people.csv")
        (desk.path / "rows").mkdir()
        (desk.path / "rows" / "part.csv").write_bytes((desk.path / "people.csv").read_bytes())
        session.read.parquet(f"file:{desk.path}/people.parquet").write.saveAsTable("people")
        for statement in self.planted:
            session.sql(statement.replace("{desk}", f"file:{desk.path}"))

    @staticmethod
    def _drop(session: Any, table: str) -> None:
        session.catalog.dropTempView(table)
        if session.catalog.tableExists(table):
            kind = "VIEW" if session.catalog.getTable(table).tableType == "VIEW" else "TABLE"
            session.sql(f"DROP {kind} {table}")
