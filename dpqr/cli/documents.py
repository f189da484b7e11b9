"""`dpqr check`: all documents linted together.

`dpqr domain`: a domain file to fill in.

`dpqr schema`: the JSON Schema of a public document.
"""

from __future__ import annotations

import sys
from shlex import quote
from typing import Any, Literal, cast

import click

from dpqr.cli.options import SectionedCommand, keywords, require_file_name, require_option, takes
from dpqr.cli.settings import is_typed, say_settings
from dpqr.cli.streams import product, product_json, say
from dpqr.python.options import CsvOptions, rows
from dpqr.python.owner_options import CheckCommand, DomainCommand, InitProjectCommand

CSV_IS_A_SOURCE = dict.fromkeys(rows(CsvOptions), "Sources")
"""How a file is written says where columns come from, of commands that read no table."""


@click.command("check")
@takes(CheckCommand)
def check_command(given: CheckCommand) -> None:
    """Check the queries file and its domain together; no data is opened.

    Exit code 0: they are sound, and a release of them can be planned; what they ask for is shown. 3: up to 20 faults,
    each with its place and what is allowed there, or why no release of them can be planned.
    """
    from dpqr.kernel.wording import count_words, figures_words, plain
    from dpqr.releases.any_release import check_documents
    from dpqr.releases.documents import fix_documents, write_queries
    from dpqr.report.html import fix_line

    require_option("queries")
    say_settings()
    options = keywords(given)
    fix, out = options.pop("fix"), options.pop("out")
    for fixed in fix_documents(options["queries"], options["domain"]) if fix else ():
        say(fix_line(fixed.file, fixed.line, fixed.path, fixed.before, fixed.after))
    found = check_documents(**options)
    if out is not None:
        write_queries(out, options["queries"], options["domain"])
    if given["as_json"]:
        product_json(found)
        return
    queries = "SQL" if given["sql"] is not None else str(given["queries"])
    asked_for = f"{count_words(found['queries'], 'query')} in {count_words(found['blocks'], 'block')}"
    product(f"{plain(queries)}: {asked_for} over {count_words(found['cells'], 'cell')}")
    if named := figures_words(found["figures"]):
        product(f"  figures: {named}")
    if people := found.get("persons"):
        product(f"  tables of persons: {plain(', '.join(people))}")
    for column in found["columns"]:
        rules = ", ".join(f"{fault}: {rule}" for fault, rule in column["rules"].items())
        levels = ", ".join(f"{plain(level)} {nodes:,}" for level, nodes in column.get("levels", {}).items())
        cells = f"{count_words(column['cells'], 'cell')}{f' ({levels})' if levels else ''}"
        product(f"  {plain(column['name'])}: {cells}; {rules}")
    for note in found["notes"]:
        product(f"note: {plain(note)}")


@click.command("domain", cls=SectionedCommand)
@click.argument("data", metavar="[DATA]", required=False, callback=require_file_name)
@takes(
    DomainCommand,
    words={"dataset": "Read the source that this dataset's owner has registered; its budget pays for --learn."},
    headings=CSV_IS_A_SOURCE,
)
def domain_command(data: str | None, given: DomainCommand) -> None:
    """Write a domain file for the table DATA from public descriptions of its columns, or a skeleton to fill in.

    Of DATA only column names and types are read, unless --learn says more. Labels and bounds come from codebooks
    (Frictionless, CSVW, SmartNoise YAML, mbi sizes, SQL, an Arrow or Parquet schema, DDI) from --types and from the
    queries; what they lack is left to fill in. A domain that is inferred from the data would be a release that nobody
    paid for: --learn pays for it, and --learn-max-rows for a bound on the rows of each person.

    \b
    dpqr domain visits.csv --learn diagnosis --eps 0.1 --delta 1e-6 --unit patient --max-rows 3
    dpqr domain visits.csv --learn diagnosis --eps 0.1 --delta 1e-6 --dataset visits --lock plan.json
    dpqr domain visits.csv --plan plan.json --dataset visits --by Ann --out domain.json
    """
    from dpqr.kernel.wording import plain
    from dpqr.python.documents import domain_file

    learning = given["learn"] or given["learn_max_rows"] is not None or given["plan"] is not None
    if learning:
        say_settings()
    # A file of settings says who pays; for what is described nobody does.
    unpaid = () if learning else [name for name in ("dataset", "ledger", "purpose", "by") if not is_typed(name)]
    stated = cast("DomainCommand", {name: value for name, value in given.items() if name not in unpaid})
    made, out = domain_file(data, **stated), given["out"]
    if given["dry_run"] or given["lock"] is not None:
        for line in made.remarks:
            product(plain(line))
        return
    if out is None:
        product_json(made.document)
    for remark in made.remarks:
        say(plain(remark))
    if out is not None:
        name = plain(out)
        say(f"wrote {name}; check it: dpqr check --domain {name} --queries FILE")


@click.command("schema")
@click.argument("document", type=click.Choice(["domain", "queries", "release"]))
def schema_command(document: Literal["domain", "queries", "release"]) -> None:
    """Print the JSON Schema of a domain file, a queries file, or the record release.json."""
    from dpqr.python.documents import schema

    product_json(schema(document))


# `dpqr tutorial`: a folder to learn in.


@click.command("tutorial")
@click.argument("directory", metavar="DIR", callback=require_file_name)
@click.option("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def tutorial_command(directory: str, no_color: bool) -> None:
    """Fill DIR with made-up data, and show how to plan, pay, release and report it.

    DIR is a new or an empty folder. Its README.md holds the same text: every command, and what to look at.

    \b
    dpqr tutorial first-steps
    cd first-steps
    """
    from dpqr.cli.streams import is_terminal, print_paged, product, render
    from dpqr.kernel.wording import plain
    from dpqr.python.tutorial import tutorial
    from dpqr.report.guide import guide_view

    made = tutorial(directory)
    if is_terminal(sys.stdout):
        print_paged(render(guide_view(made.text), sys.stdout, not no_color))
    else:
        product(made.text.rstrip("\n"))
    *others, last = map(plain, made.paths)
    say(f"wrote {', '.join(others)} and {last}; go on there: cd {quote(plain(directory))}")


# `dpqr init`: the files that a new project begins with.


@click.command("init", cls=SectionedCommand)
@click.argument("data", metavar="[DATA]", required=False, callback=require_file_name)
@takes(InitProjectCommand, headings=CSV_IS_A_SOURCE)
def init_command(data: str | None, given: InitProjectCommand) -> None:
    """Write dpqr.toml, domain.json and queries.json, to be filled in.

    Of the table DATA only column names and types are read, and the columns are described as for `dpqr domain`. A file
    that exists is never overwritten.

    \b
    dpqr init survey.csv --dataset survey
    dpqr init survey.csv --encoding cp1252 --types "age=integer:0..99,sex=string:f|m"
    dpqr check
    dpqr release survey.csv --eps 1 --dry-run
    """
    from dpqr.kernel.wording import plain
    from dpqr.python.documents import init

    sources: dict[str, Any] = {name: value for name, value in given.items() if name != "out"}
    started = init(given["out"] or ".", data, **sources)
    for remark in started.remarks:
        say(plain(remark))
    *others, last = map(plain, started.paths)
    say(f"wrote {', '.join(others)} and {last}; check them: dpqr check")
