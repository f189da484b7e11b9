"""What the folder of a session of questions states, and queries over its domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dpqr.app.planning.planning import plan_release, read_documents
from dpqr.app.requests import PlanRequest
from dpqr.app.sessions.session import Stated, Turn, statement
from dpqr.construction.questions.terms import CURRENT_RULE, Answer, SurpriseRule, Terms
from dpqr.construction.sentences import guarantee
from dpqr.data.domain import Domain
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.io.documents.sources import public_documents
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.dense_members import DENSE_LIMIT
from dpqr.workload.block import QueryBlock
from dpqr.workload.naming import row_names
from dpqr.workload.stacking import placed

KIND = "interactive"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRow:
    """One query of an ask. name: of its block, place: of that in the document, row: its number there. detail: what
    tells it from the block's other queries, in words."""

    name: str
    detail: str
    place: int
    row: int
    block: QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredRow:
    """The same with its answer."""

    name: str
    detail: str
    answer: Answer


@dataclass(frozen=True, kw_only=True)
class QuestionPlan:
    """A session of questions on paper, as its folder or its record states it. request: of what was measured first.
    budget: of the whole session. rest: what all questions may cost together. rule: of what a surprise measures."""

    request: PlanRequest
    budget: PrivacyBudget
    rest: Price
    surprises: int
    questions: int
    rule: SurpriseRule = CURRENT_RULE

    @cached_property
    def plan(self) -> Plan:
        """Of what was measured first."""
        return plan_release(self.request)

    @cached_property
    def terms(self) -> Terms:
        """Of its questions."""
        return Terms.within(
            self.rest,
            self.plan.problem.unit,
            surprises=self.surprises,
            questions=self.questions,
            rule=self.rule,
        )

    @property
    def guarantee(self) -> str:
        """In words."""
        return guarantee(replace(self.plan, budget=self.budget))


@dataclass(frozen=True, kw_only=True)
class StatedSession(Stated):
    """What the folder of a session of questions states."""

    @cached_property
    def paper(self) -> QuestionPlan:
        document = self.document
        ((currency, figure),) = document["rest"].items()
        return QuestionPlan(
            request=PlanRequest(**{**document["plan"], "trust": tuple(document["plan"]["trust"])}),
            budget=self.budget,
            rest=Price(**{currency: Fraction(figure)}),
            surprises=document["surprises"],
            questions=document["questions"],
            rule=document.get("rule", "table"),  # sessions that 0.10.0 or before opened state none
        )


PARTS = {
    "mean": 'its "sum" and the count of its records, and divide',
    "ratio": 'the "sum" of each column, and divide',
    "proportion": 'its predicate as "where" and the count of all records, and divide',
    "median": 'its "prefix"',
    "quantiles": 'its "prefix"',
    "top": 'its "marginal"',
    "variance": "it of a release",
}
"""What a session answers in place of each kind of figure."""


def stated_session(held: Turn) -> StatedSession:
    """LedgerError: its file is damaged, of another version, or of another kind of session."""
    return StatedSession(held=held, document=statement(held, KIND))


def questions_of(queries: str | dict[str, Any], session: QuestionPlan) -> tuple[tuple[AskedRow, ...], dict[str, Any]]:
    """The queries of a document over the session's domain, and the document's public form.

    Raises:
        DocumentError, UsageFault, InfeasiblePlan: one that cannot be asked; nothing was opened.
    """
    document = read_documents(queries, session.request.domain, strict=True)
    public = public_documents(document.sources)
    if public.files:
        raise UsageFault("ask: files of coefficients are not for sessions of questions; write queries instead")
    for figure in document.workload.figures:
        raise UsageFault(f"ask: {figure.name!r}: a session answers counts and sums; ask {PARTS[figure.kind]}")
    blocks = placed(document.workload.blocks, document.domain.names, session.plan.problem.domain.names)
    for block in blocks:
        if block.cells > DENSE_LIMIT:
            raise InfeasiblePlan(
                f"query {block.name!r}: looks at {block.cells} cells together, and {DENSE_LIMIT} are possible; "
                "ask about fewer columns"
            )
    rows = rows_of_blocks(blocks, session.plan.problem.domain)
    for each in rows:
        if any(factor.matrix.smallest < 0 for factor in each.block.factors):
            raise UsageFault(f"query {each.name!r}: has a negative coefficient; ask for its positive and negative part")
    return rows, {"queries": public.queries["queries"]}


@dataclass(frozen=True, kw_only=True)
class Asks:
    """The queries of all asks of a session. documents: by the number of the ask."""

    paper: QuestionPlan
    documents: Mapping[int, Any]
    _rows: dict[int, dict[tuple[int, int], AskedRow]] = field(default_factory=dict)

    def row(self, ask: int, block: int, row: int) -> AskedRow:
        """One query. Raises: LookupError, where there is none of these numbers."""
        if ask not in self._rows:
            rows, _ = questions_of({"queries": self.documents[ask]}, self.paper)
            self._rows[ask] = {(each.place, each.row): each for each in rows}
        return self._rows[ask][block, row]


def asks_of(log: Sequence[Any], paper: QuestionPlan) -> Asks:
    """Of the lines that a session has kept."""
    return Asks(paper=paper, documents={line["ask"]: line["queries"] for line in log if "queries" in line})


def rows_of_blocks(blocks: Sequence[QueryBlock], domain: Domain) -> tuple[AskedRow, ...]:
    """Every query of some blocks by itself."""
    found: list[AskedRow] = []
    for place, block in enumerate(blocks):
        names = row_names(block)
        for row in range(block.rows):
            cells = [domain.attributes[axis].titles()[int(codes[row])] for axis, codes in names.cells.items()]
            texts = [] if names.detail is None else [names.details[int(names.detail[row])]]
            detail = ", ".join([*cells, *texts])
            found.append(AskedRow(name=block.name, detail=detail, place=place, row=row, block=block.row(row)))
    return tuple(found)
