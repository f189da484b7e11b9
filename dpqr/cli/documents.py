"""`dpqr check`: all documents linted together.

`dpqr domain`: a domain file to fill in.

`dpqr schema`: the JSON Schema of a public document.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import click

from dpqr.cli import options
from dpqr.cli import options as groups
from dpqr.cli.settings import say_settings
from dpqr.cli.streams import product, product_json, say
from dpqr.python.checks import MOST_RECORDS


@click.command("check")
@groups.strict_documents_options
@click.option("--fix", is_flag=True, help="Write obvious fixes, such as of a misspelt key, into the files; show each.")
@click.option(
    "--out", metavar="FILE", callback=options.require_file_name, help="Write the queries as a JSON document; see --sql."
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def check_command(documents: groups.StrictDocuments, fix: bool, out: str | None, as_json: bool) -> None:
    """Check the queries file and its domain together; no data is opened.

    Exit code 0: they are sound; what they ask for is shown. 3: up to 20 faults, each with its place and what is
    allowed there.
    """
    from dpqr.releases.documents import check_documents, fix_documents, write_queries
    from dpqr.report.html import fix_line

    say_settings()
    asked = groups.keywords(documents)
    for fixed in fix_documents(asked["queries"], asked["domain"]) if fix else ():
        say(fix_line(fixed.file, fixed.line, fixed.path, fixed.before, fixed.after))
    found = check_documents(**asked)
    if out is not None:
        write_queries(out, asked["queries"], asked["domain"])
    if as_json:
        product_json(found)
    else:
        _say_sound(documents.queries or "SQL", found)


def _say_sound(queries: str, found: dict[str, Any]) -> None:
    from dpqr.kernel.wording import count_words, figures_words, plain

    sizes = (
        count_words(found["queries"], "query"),
        count_words(found["blocks"], "block"),
        count_words(found["cells"], "cell"),
    )
    product(f"{plain(queries)}: {sizes[0]} in {sizes[1]} over {sizes[2]}")
    if named := figures_words(found["figures"]):
        product(f"  figures: {named}")
    for column in found["columns"]:
        rules = ", ".join(f"{fault}: {rule}" for fault, rule in column["rules"].items())
        levels = ", ".join(f"{plain(level)} {nodes:,}" for level, nodes in column.get("levels", {}).items())
        cells = f"{count_words(column['cells'], 'cell')}{f' ({levels})' if levels else ''}"
        product(f"  {plain(column['name'])}: {cells}; {rules}")
    for note in found["notes"]:
        product(f"note: {plain(note)}")


FORMS = ("frictionless", "csvw", "smartnoise", "sizes", "ddl", "ddi", "arrow")
_SOURCES, _RESULT = options.under("Sources"), options.under("Result")


def sources(command: Callable[..., Any]) -> Callable[..., Any]:
    """What says which columns a table has, beside the table itself."""
    return options.list_options(
        command,
        _SOURCES(
            "--from",
            "codebooks",
            metavar="FILE",
            multiple=True,
            callback=options.require_file_name,
            help="A codebook of the table's columns; may be repeated, later ones win.",
        ),
        _SOURCES("--form", type=click.Choice(FORMS), help="The codebooks' form. [default: by their content]"),
        _SOURCES("--table", metavar="NAME", help="Which table of a codebook that describes several."),
        _SOURCES(
            "--types",
            metavar="COLUMN=TYPE...",
            multiple=True,
            help="Columns: age=integer:0..99,pay=number:0..9e4:bins=9,sex=string:f|m for example; they win over "
            "codebooks.",
        ),
        _SOURCES("--unit", metavar="COLUMN", help="Protect persons, not rows: COLUMN says whose row it is."),
        _SOURCES(
            "--max-rows",
            metavar="K",
            type=options.Integer(1, MOST_RECORDS),
            help="Rows of each person that a run may use.",
        ),
        options.delimiter(_SOURCES),
        options.encoding(_SOURCES),
    )


@click.command("domain", cls=options.SectionedCommand)
@click.argument("data", metavar="[DATA]", required=False, callback=options.require_file_name)
@sources
@_SOURCES(
    "--queries",
    metavar="FILE",
    callback=options.require_file_name,
    help="Queries, whose thresholds and labels fill in what no codebook states.",
)
@partial(groups.payer, dataset="Read the columns of the source that this dataset's owner has registered.")
@_RESULT("--out", metavar="FILE", callback=options.require_file_name, help="Write to this new file instead of stdout.")
def domain_command(data: str | None, table: str | None, out: str | None, payer: groups.Payer, **sources: Any) -> None:
    """Write a domain file for the table DATA from public descriptions of its columns, or a skeleton to fill in.

    Of DATA only column names and types are read, never a value. Labels and bounds come from codebooks (Frictionless,
    CSVW, SmartNoise YAML, mbi sizes, SQL, an Arrow or Parquet schema, DDI) from --types and from the queries; what they
    lack is left to fill in. A domain that is inferred from the data would be a release that nobody paid for.
    """
    from dpqr.kernel.wording import plain
    from dpqr.python.documents import domain_file

    made = domain_file(data, name=table, out=out, **groups.keywords(payer), **sources)
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


# `dpqr init`: the files that a new project begins with.


@click.command("init", cls=options.SectionedCommand)
@click.argument("data", metavar="[DATA]", required=False, callback=options.require_file_name)
@click.option("--out", metavar="DIR", default=".", callback=options.require_file_name, help="Where. [default: here]")
@click.option("--dataset", metavar="NAME", help="What the ledger calls the table; releases are paid from its budget.")
@sources
def init_command(data: str | None, table: str | None, out: str, dataset: str | None, **sources: Any) -> None:
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

    started = init(out, data, name=table, dataset=dataset, **sources)
    for remark in started.remarks:
        say(plain(remark))
    *others, last = map(plain, started.paths)
    say(f"wrote {', '.join(others)} and {last}; check them: dpqr check")
