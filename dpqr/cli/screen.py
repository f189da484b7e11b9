"""Screen: what goes to the terminal. The product on stdout, everything said about it on stderr."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import click
from rich.console import Console

if TYPE_CHECKING:
    from dpqr.construction.release import Release
    from dpqr.strategies.plan import Plan

WIDE = 200
"""Columns of a table that goes to a pipe or a file, where nothing needs to fit a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Renders plans and releases, as text or as JSON."""

    color: bool
    as_json: bool

    def plan(self, plan: Plan) -> None:
        """The plan is the product of a dry run: stdout."""
        from dpqr.io.outputs.release_document import plan_document
        from dpqr.report.plan_view import plan_view

        if self.as_json:
            click.echo(json.dumps(plan_document(plan), indent=2))
        else:
            self._console(sys.stdout).print(plan_view(plan))

    def release(self, release: Release, directory: str | None) -> None:
        """Answers on stdout unless they went to a directory; receipt, certificate and trust notes on stderr."""
        from dpqr.report.release_view import answers_view, receipt_view

        self._console(sys.stderr).print(receipt_view(release))
        if self.as_json:
            self._json(release)
        elif directory:
            click.echo(f"released to {directory}", err=True)
        else:
            self._console(sys.stdout).print(answers_view(release))

    def _json(self, release: Release) -> None:
        from dpqr.io.outputs.answers import answer_records
        from dpqr.io.outputs.release_document import release_document

        document = release_document(release) | {"answers": answer_records(release)}
        click.echo(json.dumps(document, indent=2))

    def _console(self, stream: TextIO) -> Console:
        width = None if stream.isatty() else WIDE
        return Console(file=stream, no_color=not self.color or None, width=width, highlight=False, soft_wrap=False)
