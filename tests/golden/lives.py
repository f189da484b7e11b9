"""Recorded besides releases: each case is a small life of a release, a budget or a session, by commands alone."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from support.repeatable_noise import repeatable_noise

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
SURVEY, PARQUET, NEWCOMERS = (str(SAMPLE / name) for name in ("survey.csv", "survey.parquet", "newcomers.csv"))
DOMAIN, QUERIES = str(SAMPLE / "domain.json"), str(SAMPLE / "queries.json")
PERSONS = ("--unit", "person_id", "--max-rows", "3", "--n", "20000")

MONTHS = {"period": {"column": "interview_date", "every": "month"}}
POINTS = ("region", "sex", "education", "age", "hours")
"""The columns that the points to predict for have."""

Case = tuple[str, str]
Run = Callable[..., str]
"""Runs one command; what it printed, and its exit code."""

SQL = """SELECT region, sex, COUNT(*) AS people FROM survey WHERE age >= 38 GROUP BY region, sex;
SELECT education, AVG(income) AS mean_income FROM survey GROUP BY education;
SELECT MEDIAN(age) FROM survey
"""


def lives(desk: Path, run: Run, content: Callable[[Path], str]) -> Iterator[Case]:
    """Every life, each in a new folder of the desk, which is the working directory meanwhile."""
    before = Path.cwd()
    for life in (_of_readers, _of_sql, _of_codebooks, _of_predictions, _of_prediction_session, _of_questions):
        yield from _lived(life, desk, run, content)
    for life in (_of_periods, _of_counters, _of_approvals, _of_a_killed_release, _of_engines, _of_python):
        yield from _lived(life, desk, run, content)
    os.chdir(before)


def _lived(life: Callable[[Path, Run], Iterator[Case]], desk: Path, run: Run, content: Callable[[Path], str]):
    name = life.__name__.removeprefix("_of_")
    folder = desk / name
    folder.mkdir()
    os.chdir(folder)
    with repeatable_noise():
        lived = [*life(folder, run)]
    yield from ((f"{name}/{step}", text) for step, text in lived)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in KEPT):
        yield f"{name}/files/{path.relative_to(folder)}", content(path)


KEPT = (".csv", ".json", ".parquet", ".html", ".yaml", ".toml", ".sql")
"""Endings of the files that are recorded; ledgers are recorded by their export."""


def _of_readers(desk: Path, run: Run) -> Iterator[Case]:
    """A release and all that reads it."""
    given = ("--queries", QUERIES, "--eps", "1", "--synthetic", "rows")
    yield "release", run("release", SURVEY, *given, "--out", "first")
    yield "second", run("release", SURVEY, *given, "--start", "first", "--out", "second")
    yield "show", run("show", "first")
    for form in ("bars", "heatmap", "curve", "table"):
        yield f"show-{form}", run("show", "first", "--query", "education by income", "--as", form)
    yield "answer", run("answer", "first", "--where", "age >= 68", "--by", "sex")
    yield "answer-sql", run("answer", "first", "--sql", "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex")
    yield "answer-out", run("answer", "first", "--by", "region", "--out", "more.csv")
    yield "verify", run("verify", "first")
    yield "verify-json", run("verify", "first", "--json")
    yield "reprice", run("reprice", "first")
    yield "compare", run("compare", "first", "second")
    yield "series", run("series", "first", "second", "--query", "education by income", "--out", "trend.csv")
    yield "export", run("export", "first", "--duckdb", "first.db")
    yield "report", run("report", "first", "--html", "page.html")
    more = (
        "--title",
        "T",
        "--curator",
        "C",
        "--region",
        "R",
        "--about",
        "A",
        "--sector",
        "Government",
        "--use",
        "U",
        "--author",
        "N",
    )
    yield "registry", run("report", "first", "--registry", "registry.yaml", *more)
    yield "croissant", run("report", "first", "--croissant", "card.json", "--title", "T")
    yield "evaluate", run("evaluate", SURVEY, "first", "--queries", QUERIES)
    yield "skip", run("release", SURVEY, *given, "--out", "first", "--if-exists", "skip")
    answers = desk / "second" / "answers.csv"
    answers.write_text(answers.read_text().replace("1", "2", 1))
    for command in ("verify", "show", "reprice"):
        yield f"altered-{command}", run(command, "second")


def _of_sql(desk: Path, run: Run) -> Iterator[Case]:
    (desk / "asked.sql").write_text(SQL)
    given = ("--queries", "asked.sql", "--domain", DOMAIN)
    yield "check", run("check", *given)
    yield "document", run("check", *given, "--out", "asked.json")
    yield "release", run("release", SURVEY, *given, "--eps", "1", "--out", "out")
    yield "refused", run("check", "--sql", "SELECT * FROM survey JOIN other", "--domain", DOMAIN)


def _of_codebooks(desk: Path, run: Run) -> Iterator[Case]:
    table = ("--table", "clinic")
    for path in sorted((SAMPLE / "codebooks").iterdir()):
        yield f"read-{path.name}", run("domain", "--from", str(path), *(table if "package" in path.name else ()))
    yield "skeleton", run("domain", SURVEY)
    yield "skeleton-parquet", run("domain", PARQUET, "--queries", QUERIES)
    yield "init", run("init")


def _of_predictions(desk: Path, run: Run) -> Iterator[Case]:
    common = ("--domain", DOMAIN, "--eps", "1")
    function = (*PERSONS, "--delta", "1e-6", "--release", "function")
    for learner in (("quantile", "--tau", "0.5"), ("least-squares",)):
        given = ("--target", "income", "--learner", *learner, *common)
        yield f"{learner[0]}-plan", run("predict", *given, *function, "--dry-run", "--json")
        yield f"{learner[0]}", run("predict", SURVEY, *given, *function, "--out", f"{learner[0]}.json")
        yield (
            f"{learner[0]}-applied",
            run("predict", "--model", f"{learner[0]}.json", "--points", NEWCOMERS, "--out", f"{learner[0]}.csv"),
        )
    for learner in ("logistic", "svm"):
        given = ("--target", "sex", "--positive", "female", "--learner", learner, *common, *function)
        yield learner, run("predict", SURVEY, *given, "--out", f"{learner}.json")
    columns = [each for each in json.loads(Path(DOMAIN).read_text())["fields"] if each["name"] in POINTS]
    (desk / "points.json").write_text(json.dumps({"malformed": "drop", "fields": columns}))
    votes = ("--target", "sex", "--learner", "aggregate", "--parts", "9", "--points", NEWCOMERS)
    yield "aggregate", run("predict", SURVEY, *votes, "--domain", "points.json", "--eps", "1", "--out", "votes.csv")
    yield (
        "online-plan",
        run(
            "predict",
            "--target",
            "income",
            "--learner",
            "online",
            *common,
            *PERSONS[4:],
            "--neighbours",
            "replace",
            "--dry-run",
        ),
    )
    for name in ("votes.csv", "quantile.json"):
        yield f"verify-{name}", run("verify", name)
        yield f"show-{name}", run("show", name)


def _of_prediction_session(desk: Path, run: Run) -> Iterator[Case]:
    ledger = ("--ledger", "advice.sqlite")
    yield "init", run("budget", "init", "advice", "--eps", "5", "--delta", "1e-6", "--unit", "person_id", *ledger)
    given = ("--target", "income", "--learner", "quantile", "--domain", DOMAIN, *PERSONS, "--eps", "2")
    given += ("--delta", "1e-7", "--predictions", "200", "--dataset", "advice", *ledger)
    yield "open", run("predict", "open", "advice", SURVEY, *given)
    for time in ("first", "second"):
        yield f"ask-{time}", run("predict", "ask", "advice", "--points", NEWCOMERS, *ledger)
    yield "status", run("predict", "status", "advice", *ledger)
    yield "close", run("predict", "close", "advice", "--out", "advice.csv", *ledger)
    yield "verify", run("verify", "advice.csv", *ledger)
    yield "export", run("budget", "export", *ledger)


def _of_questions(desk: Path, run: Run) -> Iterator[Case]:
    ledger = ("--ledger", "desk.sqlite")
    yield "init", run("budget", "init", "data", "--eps", "5", "--delta", "1e-6", "--accounting", "gdp", *ledger)
    given = ("--domain", DOMAIN, "--eps", "1", "--delta", "1e-9", "--dataset", "data", *ledger)
    _write(desk / "more.json", [{"marginal": ["region", "sex"]}, {"prefix": "age"}])
    yield "plan", run("interactive", "open", "desk", "--dry-run", *given)
    yield "open", run("interactive", "open", "desk", SURVEY, *given)
    for number, where in enumerate(("age >= 68 and sex = 'female'", "region = 'Islands' and age < 28")):
        yield f"ask-{number}", run("interactive", "ask", "desk", "--where", where, *ledger)
    yield "ask-json", run("interactive", "ask", "desk", "--queries", "more.json", "--json", *ledger)
    yield "status", run("interactive", "status", "desk", *ledger)
    yield "close", run("interactive", "close", "desk", "--out", "closed", *ledger)
    yield "verify", run("verify", "closed", *ledger)
    yield "export", run("budget", "export", *ledger)


def _of_periods(desk: Path, run: Run) -> Iterator[Case]:
    ledger = ("--ledger", "months.sqlite")
    _write(desk / "monthly.json", [{"marginal": ["sex"]}, {"marginal": ["region"]}], MONTHS)
    months = ("--period", "month", "--period-column", "interview_date", "--per-period", "0.5", "--first", "2024-01")
    yield "init", run("budget", "init", "months", "--eps", "1", *months, *ledger)
    for number, (month, epsilon) in enumerate((("2024-02", "0.3"), ("2024-03", "0.5"), ("2024-02", "0.2"))):
        given = ("--eps", epsilon, "--period", month, "--dataset", "months", *ledger, "--out", f"month-{number}")
        yield f"release-{number}", run("release", SURVEY, "--queries", "monthly.json", *given)
    yield "refused", run("release", SURVEY, "--queries", "monthly.json", "--eps", "0.5", *given[2:-1], "month-9")
    yield "verify", run("verify", "month-2", *ledger)
    yield "show", run("budget", "show", "months", *ledger)


def _of_counters(desk: Path, run: Run) -> Iterator[Case]:
    _write(desk / "counts.json", [{"marginal": ["sex"]}], MONTHS)
    common = ("--queries", "counts.json", "--eps", "0.5", "--delta", "1e-9")
    for month, more in (("2024-01", ()), ("2024-02", ("--after", "until-01"))):
        given = ("--period", month, "--cumulative", "12", *more, "--out", f"until-{month[-2:]}")
        yield month, run("release", SURVEY, *common, *given)
    yield "series", run("series", "until-01", "until-02")
    yield "verify", run("verify", "until-02")


def _of_approvals(desk: Path, run: Run) -> Iterator[Case]:
    ledger = ("--ledger", "reviewed.sqlite")
    yield "init", run("budget", "init", "survey", "--eps", "5", "--require-approval", *ledger)
    asked = ("--queries", QUERIES, "--eps", "1", "--dataset", "survey", *ledger)
    yield "unapproved", run("release", SURVEY, *asked, "--by", "R. Jones")
    yield "plan", run("plan", *asked, "--n", "20000", "--out", "plan.json")
    yield "approve", run("budget", "approve", "survey", "plan.json", "--by", "M. Lee", *ledger)
    paid = ("--plan", "plan.json", "--dataset", "survey", *ledger)
    yield "own", run("release", SURVEY, *paid, "--by", "M. Lee", "--out", "own")
    yield "release", run("release", SURVEY, *paid, "--by", "R. Jones", "--out", "approved")
    yield "again", run("release", SURVEY, *paid, "--by", "R. Jones", "--out", "again")
    yield "verify", run("verify", "approved", "--plan", "plan.json", *ledger)
    yield "history", run("budget", "history", *ledger)


def _of_a_killed_release(desk: Path, run: Run) -> Iterator[Case]:
    """The finished release cannot be put in place, so the run is paid and waits."""
    ledger = ("--ledger", "ledger.sqlite")
    yield "init", run("budget", "init", "survey", "--eps", "5", *ledger)
    given = ("release", SURVEY, "--queries", QUERIES, "--eps", "1", "--dataset", "survey", *ledger, "--out", "out")
    rename = Path.rename

    def refuse(here: Path, there: Path) -> Path:
        raise OSError(5, "Input/output error")

    Path.rename = refuse  # type: ignore[method-assign]
    try:
        yield "killed", run(*given)
    finally:
        Path.rename = rename  # type: ignore[method-assign]
    for place in desk.glob(".out.*.draft"):
        shutil.rmtree(place)
    yield "anew", run(*given)
    yield "resumed", run(*given, "--resume")
    yield "verify", run("verify", "out", *ledger)
    yield "export", run("budget", "export", *ledger)


def _of_engines(desk: Path, run: Run) -> Iterator[Case]:
    import duckdb

    with duckdb.connect("people.db") as made:
        made.execute(f"CREATE TABLE people AS SELECT * FROM read_parquet('{PARQUET}')")
        made.execute("CREATE VIEW seen AS SELECT * FROM people")
    for name, address in {"table": "duckdb:people.db?table=people", "parquet": f"duckdb:{PARQUET}"}.items():
        yield f"{name}", run("release", address, "--queries", QUERIES, "--eps", "1", "--out", name)
        yield f"{name}-domain", run("domain", address)
    for name in ("?table=seen", "?table=nowhere", "?query=SELECT 1"):
        yield f"refused-{name[1:]}", run("release", f"duckdb:people.db{name}", "--queries", QUERIES, "--eps", "1")


def _of_python(desk: Path, run: Run) -> Iterator[Case]:
    """The same through the Python interface, whose results have texts of their own."""
    import pandas as pd

    import dpqr

    table = pd.read_parquet(PARQUET)
    made = dpqr.release(table, queries=QUERIES, eps=1)
    yield "release", made.answers.to_csv()
    yield "receipt", str(made.receipt)
    yield "record", json.dumps(made.record, indent=1, default=str)
    yield "page", made._repr_html_()
    yield "plan", str(dpqr.plan(queries=QUERIES, eps=1))
    yield "forecast", str(dpqr.forecast(queries=QUERIES, eps=[1], n=20_000))
    yield "check", dpqr.check(QUERIES, DOMAIN).columns.to_csv()
    budget = dpqr.Ledger("python.sqlite").init("survey", eps=5)
    yield "budget", json.dumps(budget.record, default=str)
    paid = dpqr.release(table, queries=QUERIES, eps=1, dataset="survey", ledger="python.sqlite", out="out")
    yield "paid", str(paid.receipt)
    yield "verify", str(dpqr.verify("out", ledger="python.sqlite"))
    points = pd.read_csv(NEWCOMERS)
    fields = [each for each in json.loads(Path(DOMAIN).read_text())["fields"] if each["name"] in POINTS]
    domain = {"malformed": "drop", "fields": fields}
    found = dpqr.predict(table, target="sex", learner="aggregate", parts=9, domain=domain, eps=1, points=points)
    yield "predict", found.table.to_csv()


def _write(path: Path, entries: list[dict[str, object]], more: dict[str, object] | None = None) -> None:
    domain = DOMAIN if more is None else {**json.loads(Path(DOMAIN).read_text()), **more}
    path.write_text(json.dumps({"dpqr": "queries/1", "domain": domain, "queries": entries}))
