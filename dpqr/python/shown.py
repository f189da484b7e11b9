"""What is shown of a result: by the command line as text or JSON, by a notebook as text that also knows its HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, structs

if TYPE_CHECKING:
    from dpqr.kernel.wording import Fact
    from dpqr.prediction.plan import PredictionPlan
    from dpqr.prediction.rates import PlanAlternatives
    from dpqr.releases.forecast.by_epsilon import EpsilonForecasts
    from dpqr.releases.forecast.resources import Resources
    from dpqr.strategies.plan import Plan


class Receipt(str):
    """What a release promises, what it cost and how sure it is, as text; a notebook shows it as HTML.

    >>> print(Receipt.of(lambda: "<b>"), Receipt.of(lambda: "<b>")._repr_html_()[-15:])
    <b> &lt;b&gt;</pre>
    """

    __slots__ = ("_html",)
    _html: str

    @classmethod
    def of(cls, view: Callable[[], Any]) -> Receipt:
        """The text of a view."""
        from dpqr.report.html import html, text

        made = cls(text(view()))
        made._html = html(view())
        return made

    @classmethod
    def of_facts(cls, lines: Sequence[Fact]) -> Receipt:
        """The text of facts, a line each."""
        from dpqr.report.html import facts

        return cls.of(lambda: facts(lines))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._html


class Readable:
    """A result that is read as its text: printed, and by a notebook as HTML."""

    __slots__ = ()

    @property
    def text(self) -> Receipt:
        """What the command line shows."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.text)

    def _repr_html_(self) -> str:
        return self.text._repr_html_()


class Showable(Protocol):
    """A result as people read it, and as programs do: what the screen takes."""

    @property
    def view(self) -> Callable[[], Any]: ...

    @property
    def document(self) -> Callable[[], Any]: ...


class Shown(Struct, frozen=True):
    """A result as people read it, and as programs do; neither is made before it is wanted.

    Attributes:
        view: what rich renders on a terminal.
        document: plain JSON values.

    >>> print(Shown(lambda: "two answers", dict).text)
    two answers
    """

    view: Callable[[], Any]
    document: Callable[[], Any]

    @property
    def text(self) -> Receipt:
        """The view as text, and for a notebook."""
        return Receipt.of(self.view)


def release_plan(plan: Plan, resources: Resources) -> Shown:
    """The plan of a release or of a session of questions, and what it takes."""
    from dpqr.releases.receipt import plan_facts
    from dpqr.releases.record.plan_document import plan_document
    from dpqr.report.html import facts

    return Shown(
        lambda: facts(plan_facts(plan, resources)),
        lambda: plan_document(plan) | {"resources": structs.asdict(resources)},
    )


def prediction_plan(plan: PredictionPlan, alternatives: PlanAlternatives) -> Shown:
    """The plan of a prediction run or session, and what else its budget would buy."""
    from dpqr.prediction.receipt import prediction_plan_facts
    from dpqr.prediction.record import alternatives_part, prediction_plan_document
    from dpqr.report.html import facts

    return Shown(
        lambda: facts(prediction_plan_facts(plan, alternatives)),
        lambda: prediction_plan_document(plan) | {"outlook": alternatives_part(alternatives)},
    )


def explained(found: EpsilonForecasts) -> Shown:
    """Noise, error, price and levers of each query, at the forecast's one epsilon."""
    from dpqr.releases.forecast.levers import explain_queries, price_of, row_levers
    from dpqr.report.forecast import queries_view

    (point,) = found.points
    queries = explain_queries(point.plan, point.forecast)
    price, notes = price_of(point.plan), (*row_levers(point.plan), *found.notes)
    return Shown(
        lambda: queries_view(queries, price, point.forecast, notes),
        lambda: {
            "dpqr": "explanation/1",
            "epsilon": float(point.forecast.epsilon),
            "price": price,
            "queries": [structs.asdict(one) | {"better": list(one.better)} for one in queries],
            "notes": list(notes),
        },
    )


def forecasts(found: EpsilonForecasts, **shown: Any) -> Shown:
    """The expected errors of releases, by epsilon. shown: `top` of `forecast_view`."""
    from dpqr.releases.forecast.by_epsilon import forecasts_document
    from dpqr.releases.forecast.levers import levers
    from dpqr.report.forecast import forecast_view

    return Shown(
        lambda: forecast_view(
            [point.forecast for point in found.points],
            found.notes,
            found.goal,
            improved=levers(found.points[0].plan, found.points[0].forecast),
            **shown,
        ),
        lambda: forecasts_document(found),
    )
