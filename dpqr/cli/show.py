"""`dpqr show`: a release looked at again, whole or one query of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpqr.cli.parameters import options
from dpqr.cli.parameters.options import Whole
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from dpqr.report.show_view import Form

_forms = click.Choice(["table", "bars", "heatmap", "curve"])
_say = options.under("Screen")


def query_names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """The queries of the release that is named before, for a shell that completes."""
    from dpqr.app.show import show
    from dpqr.errors import DpqrError

    try:
        kept = show(context.params["release"])
    except (KeyError, DpqrError):
        return []
    return [entry.name for entry in kept.entries if entry.name.startswith(begun)]


@click.command("show", cls=options.Sectioned)
@click.argument("release", metavar="RELEASE", callback=options.named)
@_say("--query", metavar="NAME", shell_complete=query_names, help="Its answers. [default: the receipt, and all names]")
@_say("--as", "form", type=_forms, help="Form of the answers; heatmap: of two columns. [default: table]")
@_say(
    "--views",
    metavar="BASE",
    type=Whole(min=1, max=10**6),
    help="Marginals in whole numbers and by BASE, adding up.",
)
@_say("--rows", metavar="N", type=Whole(min=1), help="How many answers to show. [default: all]")
@_say("--json", "as_json", is_flag=True, help="JSON on stdout, all digits.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(
    release: str,
    *,
    query: str | None,
    form: Form | None,
    views: int | None,
    rows: int | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """Show a release again: its receipt, or the answers of one query.

    RELEASE is the directory that `dpqr release` has made, or the file of `dpqr predict`. Nothing else is opened.

    \b
    dpqr show release/
    dpqr show release/ --query 'education by income'
    dpqr show release/ --query 'education by income' --as heatmap
    dpqr show release/ --views 5
    dpqr show predictions.csv
    """
    if views is not None or query is not None or as_json:
        _say_unverified(release)
    if views is not None:
        if query is not None or form is not None or rows is not None:
            raise UsageFault("--views shows all marginals together; leave --query, --as and --rows out")
        _views(release, views, as_json=as_json, color=not no_color)
        return
    if query is not None:
        if form is None and rows is None and _figure(release, query, as_json=as_json, color=not no_color):
            return
        _answers(release, query, form or "table", rows, as_json=as_json, color=not no_color)
        return
    if form is not None or rows is not None:
        raise UsageFault(f"--{'as' if form else 'rows'} is about the answers of a query; add --query NAME")
    _receipt(release, as_json=as_json, color=not no_color)


def _say_unverified(release: str) -> None:
    """On stderr, where the receipt, which says it too, is not shown."""
    from dpqr.app.show import unverified
    from dpqr.cli.terminal.streams import say
    from dpqr.report.wording import plain

    if doubt := unverified(release):
        say(f"not verified: {plain(doubt)}")


def _receipt(release: str, *, as_json: bool, color: bool) -> None:
    from dpqr.app.show import show
    from dpqr.cli.terminal.streams import paged, product_json, rendered
    from dpqr.report.show_view import kept_view

    kept = show(release)
    if as_json:
        product_json(kept.record)
        return
    asked = [(entry.name, entry.rows, entry.columns) for entry in kept.entries]
    paged(rendered(kept_view(kept.receipt, asked, kept.figures), sys.stdout, color))


def _figure(release: str, name: str, *, as_json: bool, color: bool) -> bool:
    """Whether there is a figure of this name, which is shown then."""
    from dpqr.app.show import show_figure
    from dpqr.cli.terminal.streams import paged, product_json, rendered
    from dpqr.report.figures_view import figures_view

    found = show_figure(release, name)
    if found and as_json:
        product_json(list(found))
    elif found:
        paged(rendered(figures_view(found), sys.stdout, color))
    return bool(found)


def _views(release: str, base: int, *, as_json: bool, color: bool) -> None:
    from dpqr.app.show import show_views
    from dpqr.cli.terminal.streams import paged, product_json, rendered
    from dpqr.io.outputs.answer_tables.views_table import view_records
    from dpqr.report.figures_view import views_view

    views = show_views(release, base)
    if as_json:
        product_json({"base": base, "bias": list(views.bias), "answers": view_records(views)})
        return
    paged(rendered(views_view(view_records(views), views.bias, base), sys.stdout, color))


def _answers(release: str, query: str, form: Form, rows: int | None, *, as_json: bool, color: bool) -> None:
    from dpqr.app.show import show_answers, show_bound
    from dpqr.cli.terminal.streams import paged, product_json, rendered
    from dpqr.io.outputs.releases.read_answers import block_records
    from dpqr.report.show_view import shown_view

    block = show_answers(release, query)
    if as_json:
        product_json(block_records(block.first(rows or block.rows)))
        return
    paged(rendered(shown_view(block, form, rows or block.rows, show_bound(release, block.name)), sys.stdout, color))
