"""Sessions of predictions, for points that come one at a time; the command line makes its requests here too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.api.checks import Path
from dpqr.api.options import table_source
from dpqr.api.predict import PredictionPlan, Predictions
from dpqr.api.predict_options import PredictionRun, points_source, prediction_request
from dpqr.api.requests import Unwatched
from dpqr.api.sessions import OpenedSession
from dpqr.api.shown import Receipt
from dpqr.api.withheld import withheld
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.app.predicting.session import AskPredictions, OpenPredictions, PredictionStatus
    from dpqr.app.requests import LedgerRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSession(OpenedSession):
    """A session of predictions, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.

    >>> PredictionSession(name="advice-desk", ledger="budgets.sqlite")
    PredictionSession(name='advice-desk', ledger='budgets.sqlite', anchor=None)
    """

    def ask(self, points: object) -> pd.DataFrame:
        """Predict for public rows, one after the other.

        Args:
            points: a table like any. A point that was asked about before has the same answer again, free of charge.

        Returns:
            One row a point, in their order: `prediction`, and `score` where there is one.

        Raises:
            DpqrError: of the class whose `exit_code` the command would end with.

        Privacy:
            Within what was paid when the session was opened.
        """
        import pandas as pd

        from dpqr.app.predicting.predict import released_table
        from dpqr.app.predicting.session import ask_predictions
        from dpqr.io.outputs.answer_tables.tidy import plain_values

        request = ask_predictions_request(self.name, self.payer, points, table=self.table)
        found = released_table(withheld(lambda: ask_predictions(request, Unwatched())))
        return pd.DataFrame({name: plain_values(column) for name, column in found.columns.items()})

    def status(self) -> PredictionStatus:
        """How it stands: how many points are paid for and left, and the noise of each."""
        from dpqr.app.predicting.session import prediction_status

        return withheld(lambda: prediction_status(self.name, self.payer))

    def close(self, out: Path | None = None) -> Predictions | None:
        """End it: its points with their predictions, written into the new file `out` if one is named.

        Returns:
            None where nothing was predicted.
        """
        from dpqr.app.predicting.predict import released_table
        from dpqr.app.predicting.session import close_predictions
        from dpqr.io.outputs.records.prediction_document import prediction_document
        from dpqr.report.prediction_view import prediction_receipt

        place = None if out is None else os.fspath(out)
        finished = withheld(lambda: close_predictions(self.name, self.payer, place))
        if finished is None:
            return None
        lines = prediction_receipt(finished)
        return Predictions(prediction_document(finished, lines), lines, released_table(finished))


def open_predictions(
    table: object, *, name: str, dry_run: bool = False, **options: Unpack[PredictionRun]
) -> PredictionSession | PredictionPlan:
    """Pay for a session of predictions, for points that come one at a time.

    Args:
        table: the private table, as for `dpqr.predict`. dry_run: only plan; no table is opened, and the plan is
            returned. options: those of `dpqr predict open`, with _ for -, as for `dpqr.predict`. predictions: how many
            points are paid for; None: 100. plan: the file of a reviewed plan of a session (`PredictionPlan.save` of a
            dry run), which states what is not given.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta) for all that the session ever predicts; paid in full before a row is looked at.
    """
    from dpqr.app.predicting.session import open_predictions as opened

    request = open_predictions_request(table, name, options)
    if dry_run:
        return _planned(request)
    withheld(lambda: opened(request, Unwatched()))
    kept = table if request.run.table.frame is not None else None
    return PredictionSession.paid_by(options.get("ledger"), options.get("anchor"), name=name, table=kept)


def open_predictions_request(
    table: object, name: str, given: Mapping[str, Any], notes: tuple[str, ...] = ()
) -> OpenPredictions:
    """What both doors ask of the use case. Raises: UsageFault, as of `prediction_request`."""
    from dpqr.app.predicting.session import OpenPredictions

    idle = next((each for each in ("points", "out", "model") if given.get(each) is not None), None)
    if idle:
        raise UsageFault(f"--{idle}: a session is opened before its points are known; `ask` gives them, `close` writes")
    return OpenPredictions(name=name, run=prediction_request(table, given, dry_run=True, notes=notes))


def ask_predictions_request(name: str, payer: LedgerRequest, points: object, *, table: object = None) -> AskPredictions:
    """Points for a session. table: given where it is in memory. UsageFault where they are that table."""
    from dpqr.app.predicting.session import AskPredictions

    if points is None:
        raise UsageFault("ask: --points FILE says what to predict (- is standard input)")
    if points is table:
        raise UsageFault("points: are the private table, and how many points there are is shown; give public rows")
    source = None if table is None else table_source(table, {})
    return AskPredictions(name=name, payer=payer, points=points_source(points, {}), table=source)


def _planned(request: OpenPredictions) -> PredictionPlan:
    from dpqr.app.predicting.session import planned_predictions
    from dpqr.io.outputs.records.prediction_document import outlook_part, prediction_plan_document
    from dpqr.report.prediction_view import prediction_plan_view

    made = withheld(lambda: planned_predictions(request))
    record = prediction_plan_document(made.plan) | {"outlook": outlook_part(made.outlook)}
    return PredictionPlan(record, Receipt.of(lambda: prediction_plan_view(made.plan, made.outlook)), made.plan)
