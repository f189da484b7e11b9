"""Screen: what goes to the terminal. The product on stdout, everything said about it on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import click

from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpqr.construction.release import Release
    from dpqr.data.arrays import AnyArray
    from dpqr.prediction.outcome import PredictionRelease
    from dpqr.prediction.outlook import Outlook
    from dpqr.prediction.plan import PredictionPlan
    from dpqr.strategies.explanation import Explanation
    from dpqr.strategies.plan import Plan

WIDE = 200
"""Columns of a text that goes to a pipe or a file, where nothing needs to fit a window."""

TABLE_ROWS = 5000
"""Answers that are shown as a table; of more, --out or --json is asked for before anything is spent."""


def product(text: str) -> None:
    """Write to stdout. Errors: UsageFault where that fails; BrokenPipeError where its reader left."""
    try:
        click.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageFault(f"standard output cannot be written ({error.strerror}); choose another place") from None


def product_json(document: Any) -> None:
    """A document as JSON on stdout, escaped as far as the stream's encoding may need it."""
    encoding = getattr(sys.stdout, "encoding", None) or ""
    product(json.dumps(document, indent=2, ensure_ascii=encoding.lower() not in ("utf-8", "utf8")))


def watched(stream: TextIO | None) -> bool:
    """Whether a person looks on. A stream that the caller closed is None."""
    return stream is not None and stream.isatty()


def coloured(stream: TextIO | None, wanted: bool) -> bool:
    """Only a terminal gets colours; NO_COLOR, --no-color and a dumb terminal switch them off."""
    return wanted and watched(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Renders plans and releases, as text or as JSON.

    lines: stderr carries JSON lines only (--progress json).
    """

    color: bool = True
    as_json: bool = False
    lines: bool = False

    def plan(self, plan: Plan) -> None:
        """The plan is the product of a dry run: stdout."""
        from dpqr.io.outputs.release_document import plan_document
        from dpqr.report.plan_view import plan_view

        if self.as_json:
            product_json(plan_document(plan))
        else:
            product(self._text(plan_view(plan), sys.stdout))

    def explanation(self, told: Explanation) -> None:
        from dpqr.report.explanation_view import explanation_view

        product(self._text(explanation_view(told), sys.stdout))

    def release(self, release: Release, directory: str | None) -> None:
        """Answers on stdout unless they went to a directory; receipt, certificate and trust notes on stderr."""
        from dpqr.report.release_view import answers_view

        self._receipt(release, directory)
        if self.as_json:
            self._document(release)
        elif not directory:
            product(self._text(answers_view(release, TABLE_ROWS), sys.stdout))

    def prediction_plan(self, plan: PredictionPlan, outlook: Outlook) -> None:
        """The plan of a prediction run, and what else its budget would buy: stdout."""
        from dpqr.io.outputs.prediction_document import outlook_part, prediction_plan_document
        from dpqr.report.prediction_view import prediction_plan_view

        if self.as_json:
            product_json(prediction_plan_document(plan) | {"outlook": outlook_part(outlook)})
        else:
            product(self._text(prediction_plan_view(plan, outlook), sys.stdout))

    def prediction_release(self, release: PredictionRelease, out: str | None) -> None:
        """Predictions on stdout unless they went to a file; the receipt on stderr."""
        from dpqr.io.outputs.prediction_document import prediction_document, release_words
        from dpqr.report.prediction_view import prediction_receipt_view

        if self.lines:
            told = {"guarantee": release_words(release), "out": out}
            click.echo(json.dumps({"event": "released", **told}), err=True)
        else:
            click.echo(self._text(prediction_receipt_view(release), sys.stderr), err=True)
        if self.as_json:
            predicted = {"predictions": release.predictions.tolist()} if release.pointwise else {}
            product_json(prediction_document(release) | predicted)
        elif release.pointwise:
            self.predictions(release.predictions, out)
        elif not self.lines:
            click.echo(f"model written to {out}", err=True)

    def predictions(self, predictions: AnyArray, out: str | None) -> None:
        """One prediction a line, numbers to six digits, unless they went to a file."""
        if out is None:
            texts = (f"{each:.6g}" if isinstance(each, float) else str(each) for each in predictions.tolist())
            product("\n".join(texts))
        elif not self.lines:
            click.echo(f"predictions written to {out}", err=True)

    def require_room(self, plan: Plan, directory: str | None) -> None:
        """UsageFault, before anything is spent, where the answers would not all be shown."""
        rows = plan.problem.workload.rows
        if rows > TABLE_ROWS and not directory and not self.as_json:
            raise UsageFault(f"{rows:,} answers are too many for a table; add --out DIR, or --json for all on stdout")

    def _receipt(self, release: Release, directory: str | None) -> None:
        from dpqr.construction.sentences import release_guarantee
        from dpqr.report.release_view import receipt_view

        if self.lines:
            told = {"guarantee": release_guarantee(release), "trust": list(release.trust), "out": directory}
            click.echo(json.dumps({"event": "released", **told}), err=True)
            return
        click.echo(self._text(receipt_view(release), sys.stderr), err=True)
        if directory:
            click.echo(f"released to {directory}", err=True)

    def _document(self, release: Release) -> None:
        from dpqr.io.outputs.answers import answer_records
        from dpqr.io.outputs.release_document import release_document

        product_json(release_document(release) | {"answers": answer_records(release)})

    def _text(self, view: RenderableType, stream: TextIO | None) -> str:
        """`view` as text for `stream`, lines without the blanks that pad a table."""
        from rich.console import Console

        text = io.StringIO()
        console = Console(
            file=text,
            force_terminal=watched(stream),
            color_system="auto" if coloured(stream, self.color) else None,
            width=None if watched(stream) else WIDE,
            highlight=False,
        )
        console.print(view)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
