"""Attacks: addresses, names and texts by which a requester would have a database run what it chooses over private rows.

Each is made under four rules: a budget that is bound to no engine's table, one that is bound to the owner's, the same
with approvals, and no ledger at all. SERVER stands for the address of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hostile.oracles.attempt import LEDGER, PAYER, Attempt, Step
from hostile.oracles.tables import attempt, predict, release, unpaid
from hostile.sources.places import PEOPLE, WITH_BOB, DuckPlace, Place, ServerPlace, SparkPlace
from support.command_desk import Desk

from dpqr.kernel.values import replace

MOST = ("--max-records", "1000")
"""A limit of the owner's, by which a count that was multiplied would show."""
EPS = ("--eps", "100", *MOST)
REFUSED, NO_ADDRESS, NO_TABLE, DONE = 4, 2, 5, 0
OWNERS = {
    DuckPlace: "duckdb:private.duckdb?table=people",
    ServerPlace: "SERVER?table=survey.people",
    SparkPlace: "spark:people",
}
IS_BOB = "who = 'Bob'"


def neighbours(kind: type[Place], address: str, **more: Any) -> tuple[Place, ...]:
    return tuple(kind(name=address, rows=rows, **more) for rows in (PEOPLE, WITH_BOB))


def ruled(
    name: str,
    kind: type[Place],
    address: str,
    *planted: str,
    code: int = NO_TABLE,
    learns: str = "whether Bob is in the table",
    unopened: bool = True,
    **more: Any,
) -> Iterator[Attempt]:
    """One attack under each rule. code: how it ends without a ledger; an address that is none ends so everywhere."""
    tables = neighbours(kind, address, planted=planted, **more)
    refused = NO_ADDRESS if code == NO_ADDRESS else REFUSED
    source = ("--source", OWNERS[kind])
    rules: dict[str, dict[str, Any]] = {
        "unbound": {},
        "bound": {"policy": source},
        "approved": {"policy": (*source, "--require-approval")},
    }
    for rule, held in rules.items():
        yield attempt(f"{name}-{rule}", learns, tables, release(), budget=EPS, codes=(refused,), unopened=True, **held)
    yield attempt(
        f"{name}-free", learns, tables, unpaid(), budget=None, codes=(code,), unopened=unopened and code != DONE
    )


def duck(name: str, address: str, *planted: str, **more: Any) -> Iterator[Attempt]:
    return ruled(f"duckdb-{name}", DuckPlace, address, *planted, **more)


OWN = "duckdb:own.duckdb?table=people"
FROM = "FROM '{desk}/people.parquet'"


def made(selected: str) -> str:
    return f"CREATE VIEW people AS SELECT {selected}"


def view(selected: str, rest: str = "") -> str:
    return f"CREATE VIEW people AS SELECT {selected} {FROM} {rest}"


DUCKDB = [
    *duck("view-multiplies", OWN, view("people.*", f", range(CASE WHEN {IS_BOB} THEN 5000 ELSE 1 END)")),
    *duck("view-error", OWN, view(f"CASE WHEN {IS_BOB} THEN error('Bob') ELSE sex END AS sex, * EXCLUDE (sex)")),
    *duck("view-cast", OWN, view("* REPLACE (CAST(who[2:] AS BIGINT) AS count)")),
    *duck("view-division", OWN, view("* REPLACE (age // (who <> 'Bob')::INT AS age)", f"WHERE {IS_BOB} OR true")),
    *duck("view-row-as-header", OWN, made("* FROM read_csv('{desk}/people.csv', header = true, skip = 40)")),
    *duck("view-guessed-types", OWN, made("* FROM '{desk}/people.csv'")),
    *duck("view-of-a-line", OWN, made("content AS sex, 1 AS age, 1 AS income FROM read_text('{desk}/people.csv')")),
    *duck("view-of-folders", OWN, made("* FROM read_parquet('{desk}/lake/*/*.parquet', hive_partitioning = true)")),
    *duck(
        "view-of-statistics",
        OWN,
        made("stats_max AS sex, 1 AS age, 1 AS income FROM parquet_metadata('{desk}/people.parquet')"),
    ),
    *duck("view-of-file-names", OWN, made("file AS sex, 1 AS age, 1 AS income FROM glob('{desk}/*')")),
    *duck("macro", "duckdb:own.duckdb?table=people", f"CREATE MACRO people() AS TABLE SELECT * {FROM}"),
    *duck("macro-called", "duckdb:own.duckdb?table=people()", f"CREATE MACRO people() AS TABLE SELECT * {FROM}"),
    *duck(
        "generated-column",
        OWN,
        "CREATE TABLE people (sex VARCHAR, age INT, income INT AS (1 // (age - 1)))",
        "INSERT INTO people (sex, age) VALUES ('F', 2)",
    ),
    *duck("attached", OWN, "ATTACH '{desk}/private.duckdb' AS private (READ_ONLY)", made("* FROM private.main.people")),
    *duck("view-over-a-view", "duckdb:own.duckdb?table=top", view("people.*"), "CREATE VIEW top AS FROM people"),
    *duck("table-function", "duckdb:own.duckdb?table=range(3)", "CREATE TABLE people (a INT)"),
    *duck("path-as-table", "duckdb:own.duckdb?table=people.csv", "CREATE TABLE people (a INT)"),
    *duck("system-table", "duckdb:private.duckdb?table=duckdb_tables"),
    *duck("quoted-name", "duckdb:private.duckdb?table=people\" WHERE error('x') --"),
    *duck("rows-counted-twice", "duckdb:twice/*.parquet"),
    *duck("csv-as-a-database", "duckdb:people.csv?table=people"),
    *duck("csv-as-parquet", "duckdb:people.csv?table=read_csv('people.csv')"),
    *duck("another-name-of-the-file", "duckdb:linked.duckdb?table=people", code=DONE),
    *duck("parquet-of-the-rows", "duckdb:people.parquet", code=DONE),
    *duck("folders-as-columns", "duckdb:lake/*/*.parquet", unopened=False),
    *duck(
        "query",
        f"duckdb:?query=SELECT CASE WHEN {IS_BOB} THEN error('x') ELSE sex END AS sex, age, income FROM "
        "'people.parquet'",
        code=NO_ADDRESS,
    ),
    *duck("query-of-a-file", "duckdb:private.duckdb?query=COPY people TO 'stolen.csv'", code=NO_ADDRESS),
    *duck(
        "query-of-two-statements",
        "duckdb:private.duckdb?query=SELECT * FROM people; COPY people TO 'stolen.csv'",
        code=NO_ADDRESS,
    ),
    *duck("query-in-disguise", "duckdb:private.duckdb?%71uery=SELECT 1", code=NO_ADDRESS),
    *duck("query-behind-a-table", "duckdb:private.duckdb?table=people&query=SELECT 1", code=NO_ADDRESS),
    *duck("remote", "duckdb:s3://bucket/people.parquet", code=NO_ADDRESS),
]


def server(name: str, address: str, *planted: str, **more: Any) -> Iterator[Attempt]:
    return ruled(f"postgresql-{name}", ServerPlace, address, *planted, **more)


DIVIDED = "1 / CASE who WHEN 'Bob' THEN 0 ELSE 1 END"
MANY = f"CASE WHEN {IS_BOB} THEN 5000 ELSE 1 END"
NOTHING = "SELECT 'F'::text AS sex, 1 AS age, 1 AS income"
PLAIN = "(sex text, age int, income int)"
SHADOW = (
    "CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS "
    "$$BEGIN IF $2 = 'Bob' THEN RAISE EXCEPTION 'Bob'; END IF; RETURN $2; END$$",
    "CREATE FUNCTION public.format(text, anyelement) RETURNS text LANGUAGE plpgsql AS "
    "$$BEGIN IF $2::text = 'Bob' THEN RAISE EXCEPTION 'Bob'; END IF; RETURN $2; END$$",
    "CREATE FUNCTION public.row_security_active(oid) RETURNS boolean LANGUAGE plpgsql AS "
    f"$$BEGIN PERFORM {DIVIDED} FROM survey.people; RETURN false; END$$",
)
CHECKED = (
    "CREATE FUNCTION public.fits(int) RETURNS boolean LANGUAGE plpgsql AS "
    f"$$BEGIN RETURN NOT EXISTS (SELECT FROM survey.people WHERE {IS_BOB}); END$$",
    "CREATE DOMAIN public.checked AS int CHECK (public.fits(VALUE))",
)
EVIL = "SERVER?table=public.evil"


def evil(selected: str, options: str = "", rest: str = "") -> str:
    return f"CREATE VIEW public.evil {options} AS SELECT {selected} FROM survey.people {rest}"


GRANTED = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"
INVOKED = "WITH (security_invoker = true)"
POSTGRESQL = [
    *server("invoker-error", EVIL, evil(f"sex, age, {DIVIDED} AS income", INVOKED), GRANTED),
    *server("invoker-multiplies", EVIL, evil("people.*", INVOKED, f", generate_series(1, {MANY})"), GRANTED),
    *server("invoker-function", EVIL, *CHECKED, evil("sex, age, income", INVOKED, "WHERE public.fits(1)"), GRANTED),
    *server("view", EVIL, evil("sex, age, income"), GRANTED),
    *server("view-of-nothing", EVIL, f"CREATE VIEW public.evil AS {NOTHING}", GRANTED),
    *server("materialised", EVIL, f"CREATE MATERIALIZED VIEW public.evil AS {NOTHING}", GRANTED),
    *server(
        "rule",
        EVIL,
        f"CREATE TABLE public.evil {PLAIN}",
        f'CREATE RULE "_RETURN" AS ON SELECT TO public.evil DO INSTEAD {NOTHING}',
        GRANTED,
    ),
    *server("system-table", "SERVER?table=pg_class"),
    *server("samples-of-cells", "SERVER?table=pg_catalog.pg_stats"),
    *server("information-schema", "SERVER?table=information_schema.tables"),
    *server("statement-in-a-name", "SERVER?table=people'; SELECT pg_sleep(9); --"),
    *server("function-as-a-table", "SERVER?table=public.fits(1)", *CHECKED),
    *server("name-in-two-schemas", "SERVER?table=people", f"CREATE TABLE public.people {PLAIN}", GRANTED),
    *server("temporary", "SERVER?table=pg_temp.people"),
    *server("other-database", "OTHER?table=survey.people"),
    *server("other-login", "LOGIN?table=survey.people"),
    *server("owners-view", "SERVER?table=survey.adults"),
    *server(
        "domain-in-a-literal",
        "SERVER?query=SELECT * FROM survey.people WHERE '{1}'::public.checked[] IS NULL",
        *CHECKED,
        code=NO_ADDRESS,
    ),
    *server("query", f"SERVER?query=SELECT 1 / count(*) FILTER (WHERE {IS_BOB}) FROM survey.people", code=NO_ADDRESS),
    *server("query-in-capitals", "SERVER?QUERY=SELECT 1", code=NO_ADDRESS),
    *server("search-path-in-the-address", "SERVER?options=-csearch_path=public&table=people", code=NO_ADDRESS),
    *server("service-in-the-address", "SERVER?service=evil&table=people", code=NO_ADDRESS),
    *server("shadowing-functions", "SERVER?table=survey.nobody", *SHADOW),
]


def spark(name: str, address: str, **more: Any) -> Iterator[Attempt]:
    return ruled(f"spark-{name}", SparkPlace, address, **{"code": NO_ADDRESS, **more})


SCRIPT = (
    f"BEGIN IF (SELECT count(*) FROM people WHERE {IS_BOB}) > 0 THEN SELECT 'f' AS sex; ELSE SELECT 1 AS k; END IF; END"
)
SPARK = [
    *spark("create-table", "spark:?query=CREATE TABLE stolen USING csv LOCATION 'stolen' AS SELECT * FROM people"),
    *spark("write-a-directory", "spark:?query=INSERT OVERWRITE DIRECTORY 'stolen' USING csv SELECT * FROM people"),
    *spark("script", f"spark:?query={SCRIPT}"),
    *spark("query-behind-files", "spark:/data/people.parquet?query=SELECT 1"),
    *spark("query-escaped", "spark:?%51UERY=SELECT 1"),
    *spark("json", "spark:json.`people.json`"),
    *spark("csv", "spark:csv.`people.csv`"),
    *spark("text", "spark:text.`people.csv`"),
    *spark("binary", "spark:binaryFile.`people.csv`"),
    *spark("delta", "spark:delta.`lake`"),
    *spark("parquet-in-quotes", "spark:parquet.`people.parquet`"),
    *spark("name-in-quotes", "spark:`people`"),
    *spark("json-as-a-table", "spark:?table=json.`people.json`"),
    *spark("two-statements", "spark:people; DROP TABLE people"),
    *spark("table-function", "spark:range(3)"),
    *spark("subquery", "spark:(SELECT * FROM people)"),
    *spark("version", "spark:people VERSION AS OF 1"),
    *spark("comment", "spark:people -- "),
    *spark("csv-files", "spark:people.csv "),
    *spark("files-and-a-table", "spark:/data/people.parquet?table=people"),
]
OTHER_DOORS = {
    "predict": predict(),
    "predict-session": (
        *("predict", "open", "desk", "DATA", "--target", "buys", "--domain", "d.json", "--eps", "2"),
        *PAYER,
    ),
    "session": (
        *("interactive", "open", "desk", "DATA", "--domain", "d.json", "--eps", "2", "--surprises", "2"),
        *PAYER,
    ),
    "dry-run": release("--dry-run"),
    "progress": release("--progress", "json"),
    "folder": release("--out", "out"),
    "json": release("--json"),
}


def _through_other_doors() -> Iterator[Attempt]:
    """The views of the first attack through every command that reads a table."""
    planted = (view(f"CASE WHEN {IS_BOB} THEN error('Bob') ELSE sex END AS sex, * EXCLUDE (sex)"),)
    tables = neighbours(DuckPlace, OWN, planted=planted)
    for name, step in OTHER_DOORS.items():
        for rule, policy in {"unbound": (), "bound": ("--source", OWNERS[DuckPlace])}.items():
            yield attempt(
                f"door-{name}-{rule}",
                "whether Bob is in the table",
                tables,
                step,
                budget=EPS,
                policy=policy,
                codes=(REFUSED,),
                unopened=True,
            )
    free = {"domain": ("domain", "DATA"), "predict": predict(payer=())}
    for name, step in free.items():
        yield attempt(f"door-{name}-free", "Bob", tables, step, budget=None, codes=(NO_TABLE,), unopened=True)


def approve(desk: Desk) -> None:
    """The owner approves what the requester has planned."""
    done = desk.run("budget", "approve", "survey", "plan.json", "--by", "M. Lee", *LEDGER)
    assert done.code == 0, done.err


PLAN: Step = ("plan", "--queries", "q.json", "--eps", "0.001", "--runs", "1", *PAYER, "--out", "plan.json")
FOLLOWED: Step = ("release", "DATA", "--plan", "plan.json", *PAYER)
APPROVED = ("--source", OWNERS[DuckPlace], "--require-approval")


def _with_an_approved_plan() -> Iterator[Attempt]:
    """An approved plan on another table than that of its owner's."""
    planted = (view(f"CASE WHEN {IS_BOB} THEN error('Bob') ELSE sex END AS sex, * EXCLUDE (sex)"),)
    for name, address in {"view": OWN, "file": "duckdb:people.parquet", "csv": "people.csv"}.items():
        yield attempt(
            f"approved-plan-on-another-{name}",
            "whether Bob is in the table",
            neighbours(DuckPlace, address, planted=planted),
            PLAN,
            approve,
            FOLLOWED,
            budget=EPS,
            policy=APPROVED,
            codes=(DONE, REFUSED),
        )


def _registered() -> Iterator[Attempt]:
    """What the owner has registered is read, alike for all tables, by whatever spelling it is repeated."""
    for spelling in ("private.duckdb", "./private.duckdb", "lake/../private.duckdb"):
        yield attempt(
            f"registered-{spelling}",
            "Bob",
            neighbours(DuckPlace, f"duckdb:{spelling}?table=people"),
            release(),
            release("--unit", "who", "--max-rows", "1"),
            budget=("--eps", "100", "--unit", "who"),
            policy=("--source", OWNERS[DuckPlace]),
            codes=(REFUSED, DONE),
        )
    yield attempt(
        "registered-parquet-footers",
        "a largest value, in the footer",
        tuple(
            replace(DuckPlace(name="duckdb:people.parquet"), rows=rows) for rows in (PEOPLE, (*PEOPLE[:-1], _OLDEST))
        ),
        release(),
        budget=EPS,
        policy=("--source", "duckdb:people.parquet"),
    )
    yield attempt(
        "registered-server-with-shadows",
        "whether Bob is in the table, by functions that stand before PostgreSQL's own",
        neighbours(
            ServerPlace,
            "SERVER?table=survey.people",
            planted=SHADOW,
            settled=("ALTER ROLE reader IN DATABASE survey SET search_path = public, pg_catalog",),
        ),
        release("--unit", "who", "--max-rows", "1"),
        budget=("--eps", "100", "--unit", "who"),
        policy=("--source", "SERVER?table=survey.people"),
    )
    yield attempt(
        "registered-server-with-a-policy",
        "whether Bob is in the table, by a policy that hides rows",
        neighbours(
            ServerPlace,
            "SERVER?table=survey.people",
            settled=(
                "ALTER TABLE survey.people ENABLE ROW LEVEL SECURITY",
                f"CREATE POLICY p ON survey.people USING ({DIVIDED} = 1)",
            ),
        ),
        release(),
        budget=EPS,
        policy=("--source", "SERVER?table=survey.people"),
        codes=(NO_TABLE,),
        unopened=True,
    )


_OLDEST = {**PEOPLE[-1], "age": 2**40, "income": 1e300}
FAILURES = {
    "duckdb": ("error('Bob')", "CAST(who AS INT)", "CAST(1e300 * 1e300 AS INT)", "year(CAST(who AS DATE))"),
    "postgresql": (
        "1 / (count - count)",
        "CAST(who AS bigint)",
        "CAST(who AS date) - date '2000-01-01'",
        "CAST(1e9 * income * 1e12 AS bigint)",
    ),
}
ENDS = "how a program of the owner's ends once the run is paid for"


def _after_payment() -> Iterator[Attempt]:
    """A registered view ends with one error or another: one sentence, and the reservation stays spent."""
    yield attempt(
        "paid-duckdb",
        ENDS,
        tuple(
            DuckPlace(
                name="duckdb:private.duckdb?table=failing",
                views=(f"CREATE VIEW failing AS SELECT sex, CAST({each} AS BIGINT) AS age, income FROM people",),
            )
            for each in FAILURES["duckdb"]
        ),
        release(),
        budget=EPS,
        policy=("--source", "duckdb:private.duckdb?table=failing"),
        codes=(NO_TABLE,),
    )
    yield attempt(
        "paid-postgresql",
        ENDS,
        tuple(
            ServerPlace(
                name="SERVER?table=survey.failing",
                settled=(
                    f"CREATE VIEW survey.failing AS SELECT sex, {each} AS age, income FROM survey.people",
                    "GRANT SELECT ON survey.failing TO reader",
                ),
            )
            for each in FAILURES["postgresql"]
        ),
        release(),
        budget=EPS,
        policy=("--source", "SERVER?table=survey.failing"),
        codes=(NO_TABLE,),
    )


GONE = f"CREATE TABLE survey.gone {PLAIN}"


def _before_payment() -> Iterator[Attempt]:
    """Whatever is wrong with the owner's own source is said in one sentence, which nobody can tell from another."""
    yield attempt(
        "unpaid-duckdb",
        "what is wrong with the table",
        (
            DuckPlace(name="duckdb:private.duckdb?table=gone"),
            DuckPlace(name="duckdb:private.duckdb?table=gone", rows=None),
            DuckPlace(name="duckdb:private.duckdb?table=gone", views=("CREATE VIEW gone AS FROM '{desk}/people.csv'",)),
            DuckPlace(name="duckdb:private.duckdb?table=gone", views=("CREATE MACRO gone() AS TABLE FROM people",)),
        ),
        release(),
        budget=EPS,
        policy=("--source", "duckdb:private.duckdb?table=gone"),
        codes=(NO_TABLE,),
    )
    table = "SERVER?table=survey.gone"
    yield attempt(
        "unpaid-postgresql",
        "what is wrong with the table",
        (
            ServerPlace(name=table),
            ServerPlace(name=table, rows=None),
            ServerPlace(name=table, settled=(GONE,)),
            ServerPlace(name=table, settled=(GONE, "REVOKE USAGE ON SCHEMA survey FROM reader")),
        ),
        release(),
        budget=EPS,
        policy=("--source", table),
        codes=(NO_TABLE,),
    )


def _in_a_session() -> Iterator[Attempt]:
    """Where Spark runs: what the catalogue holds besides tables, what folders are called, and how a view ends."""
    quoted = f"CASE WHEN {IS_BOB} THEN raise_error('Bob') ELSE sex END AS sex, age, income"
    planted = {
        "view": ("spark:evil", f"CREATE VIEW evil AS SELECT {quoted} FROM people"),
        "temporary-view": ("spark:evil", f"CREATE TEMPORARY VIEW evil AS SELECT {quoted} FROM people"),
        "csv-table": (
            "spark:evil",
            "CREATE TABLE evil (sex STRING, age BIGINT, income DOUBLE) USING csv OPTIONS (header true)"
            " LOCATION '{desk}/rows'",
        ),
        "json-by-a-path": ("spark:json.rows",),
        "csv-folder-as-parquet": ("spark:file:DESK/rows/",),
    }
    for name, (address, *statements) in planted.items():
        tables = neighbours(SparkPlace, address, planted=tuple(statements))
        yield attempt(f"session-{name}", "Bob", tables, unpaid(), budget=None, codes=(NO_TABLE,), unopened=True)
    yield attempt(
        "session-folders",
        "whether somebody is of an age that is no number",
        neighbours(SparkPlace, "spark:file:DESK/lake/"),
        unpaid(),
        budget=None,
    )
    yield attempt(
        "session-persons",
        "whether Bob is in the table",
        neighbours(SparkPlace, "spark:people"),
        release("--unit", "who", "--max-rows", "1"),
        budget=("--eps", "100", "--unit", "who"),
        policy=("--source", "spark:people"),
    )
    yield attempt(
        "session-paid",
        ENDS,
        tuple(
            SparkPlace(
                name="spark:evil",
                rows=WITH_BOB,
                planted=(f"CREATE VIEW evil AS SELECT sex, CAST({each} AS BIGINT) AS age, income FROM people",),
            )
            for each in ("raise_error('Bob')", "who", "1 / (count - count)")
        ),
        release(),
        budget=EPS,
        policy=("--source", "spark:evil"),
        codes=(NO_TABLE,),
    )


IN_A_SESSION = [*_in_a_session()]
ATTACKS: list[Attempt] = [
    *DUCKDB,
    *POSTGRESQL,
    *SPARK,
    *_through_other_doors(),
    *_with_an_approved_plan(),
    *_registered(),
    *_after_payment(),
    *_before_payment(),
]
