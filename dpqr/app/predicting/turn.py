"""One turn of a session of predictions: from its folder and transcript to the draws for further points."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpqr.app.predicting.draws import grid
from dpqr.app.predicting.planning import settled_prediction, wanted_prediction
from dpqr.app.predicting.predict import opened_table, prices
from dpqr.app.releasing.release import Progress
from dpqr.app.requests import PredictionPlanRequest
from dpqr.app.sessions.session import Stated, Turn, statement
from dpqr.data.arrays import AnyArray
from dpqr.data.domain import Domain
from dpqr.errors import BudgetRefused
from dpqr.io.documents.text.json_text import parse_json
from dpqr.io.outputs.answer_tables.tidy import NOTHING, Column, Texts, Tidy
from dpqr.io.sessions.asking import Room, unanswered
from dpqr.io.tables.source import TableSource
from dpqr.noise.source import NoiseSource
from dpqr.prediction.one_by_one import one_by_one
from dpqr.prediction.plan import PredictionPlan, usable
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.release import PredictionRelease
from dpqr.prediction.tuning import FACTORS
from dpqr.privacy.gate import measure_together
from dpqr.report.wording import counted
from dpqr.strategies.inputs import PublicInputs

KIND = "prediction"
OWN = ("ask", "prediction", "score")
"""Columns of the file beside those of the points."""
DRAW_ROOM = 1024
"""Bytes that the line of one draw takes at most."""
Codes = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One point that was asked about. ask: which question it came with. number: what was drawn for it."""

    ask: int
    codes: Codes
    number: int


@dataclass(frozen=True, kw_only=True)
class StatedPredictions(Stated):
    """A session of predictions, as its folder and its transcript have it. All of it is public."""

    @cached_property
    def planned(self) -> PredictionPlan:
        """As it was opened."""
        kept = self.document["plan"]
        domain = parse_json(self.document["domain"].encode(), "domain")
        request = PredictionPlanRequest(**{**kept, "domain": domain, "trust": tuple(kept["trust"])})
        plan = settled_prediction(wanted_prediction(replace(request, session=True)))
        inputs = PublicInputs(request=self.document["request"]) if "request" in self.document else None
        return replace(plan, notes=tuple(self.document["notes"]), inputs=inputs)

    @cached_property
    def plan(self) -> PredictionPlan:
        """With the lambda that was chosen."""
        if self.planned.tuning is None:
            return self.planned
        return replace(self.planned, factor=FACTORS[self.held.past[self.document["draws"] - 1].value])

    @property
    def counted(self) -> int | None:
        """The noisy count that was bought."""
        return None if self.planned.counting is None else int(self.held.past[0].value)

    @property
    def records(self) -> int:
        """Declared or bought; an ensemble needs none."""
        declared = self.planned.problem.records
        return declared if declared is not None else self.counted or 1

    @property
    def paid(self) -> int:
        """Points that were paid for."""
        return self.planned.form.count

    @property
    def left(self) -> int:
        """Of them those that no draw was begun for."""
        return self.paid - (len(self.held.past) - int(self.document["draws"]))

    @cached_property
    def answers(self) -> tuple[Answered, ...]:
        """In the order of their draws. A point whose draw was lost in a crash has none."""
        owners: dict[int, tuple[int, list[int]]] = {}
        for ask, line in enumerate(self.asks):
            owners |= {line["first"] + place: (ask, codes) for place, codes in enumerate(line["points"])}
        drawn = (draw for draw in self.held.past if draw.number in owners and type(draw.value) is int)
        return tuple(
            Answered(ask=owners[draw.number][0], codes=tuple(owners[draw.number][1]), number=draw.value)
            for draw in drawn
        )

    @property
    def columns(self) -> Domain:
        """That points need."""
        return self.planned.problem.features

    @property
    def points(self) -> Tidy:
        """The question and the cells of every point in `answers`. A column of a name in OWN has a _ more."""
        codes = np.array([each.codes for each in self.answers], dtype=np.int64)
        cells: dict[str, Column] = {}
        for axis, each in enumerate(self.columns.attributes):
            name = f"{each.name}_" if each.name in OWN else each.name
            cells[name] = Texts(np.maximum(codes[:, axis], NOTHING), each.titles())
        return Tidy(len(codes), {"ask": np.array([each.ask + 1 for each in self.answers]), **cells})

    @property
    def asks(self) -> list[Any]:
        """The points of every question, and the number of the first draw for them."""
        return [line for line in self.held.folder.log() if "points" in line]

    def draw(self, new: list[Codes], table: TableSource | None, progress: Progress, noise: NoiseSource) -> list[int]:
        """Draw for points that have no answer, one after the other; each is on the disk before the next.

        Raises: BudgetRefused, before the table is opened, where fewer points are paid for.
        """
        if len(new) > self.left:
            raise BudgetRefused(
                f"ask: {counted(len(new), 'new point')}, and {self.left:,} of the {self.paid:,} that were paid for are "
                "left; ask for fewer, or open another session"
            )
        held, read = self.held, self.reading(table)
        codes = np.array(new, dtype=np.int64).reshape(len(new), -1)
        line = {"points": new, "first": held.journal.number}
        room = Room(log=len(json.dumps(line)), transcript=DRAW_ROOM * len(new), draws=len(new))
        numbers = []
        with held.question(room) as asking:
            counts = opened_table(self.plan, read, held.run, progress, noise).counts
            with unanswered(held.folder.name):
                asking.begin_draws(line)
                for batch in one_by_one(self.plan, self.records, codes):
                    ((event, _),) = batch.events
                    held.journal.begin(event, ())
                    drawn = measure_together(counts, batch, accountant=held.run.guard, noise=noise).value
                    numbers.append(int(drawn[0]))
                    held.journal.record(numbers[-1])
        return numbers

    def release(self, numbers: list[int]) -> PredictionRelease:
        """These draws as predictions."""
        plan, stable = self.plan, isinstance(self.plan.recipe, StableRecipe)
        learner = plan.learner(self.records) if stable else None
        return PredictionRelease(
            plan=plan,
            numbers=np.array(numbers, dtype=np.int64),
            step=grid(plan, self.records),
            spent=prices(plan),
            private=True,
            records=usable(self.records) if stable else None,
            counted=self.counted,
            penalty=learner.penalty if learner else None,
            bound=learner.bound if learner else None,
            paid=self.held.paid,
            reason=self.held.paid.reason,
            charged=self.held.run.guard.events,
        )


def stated_predictions(held: Turn) -> StatedPredictions:
    """LedgerError: its file is damaged, of another version, or of another kind of session."""
    return StatedPredictions(held=held, document=statement(held, KIND))


def distinct(codes: AnyArray, known: dict[Codes, int]) -> list[Codes]:
    """Points without an answer, each once, in their order."""
    return list(dict.fromkeys(point for point in map(tuple, codes.tolist()) if point not in known))
