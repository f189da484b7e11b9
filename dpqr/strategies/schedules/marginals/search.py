"""Search among marginals: its state after whole batches of choices, and what is drawn next. From what was released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dpqr.data.unit import PrivacyUnit
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation, LastMeasurements
from dpqr.strategies.schedules.marginals.dependence_graph import DependenceGraph
from dpqr.strategies.schedules.marginals.expected_error import ExpectedError
from dpqr.strategies.schedules.marginals.gap import largest_gap, shown_gap
from dpqr.strategies.schedules.marginals.interactions import Interactions
from dpqr.strategies.schedules.marginals.stopping_rule import BatchEvidence
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """After whole batches.

    left: share of the budget. gap: L1 error over n that the last batch showed. explored: blocks measured. graph: the
    pairs among them. unimproved: batches in a row without improvement. level: whose candidates are searched.
    """

    left: float
    gap: float = TUNING.first_gap
    explored: tuple[QueryBlock, ...] = ()
    graph: DependenceGraph = field(default_factory=DependenceGraph)
    unimproved: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Choices from one hypothesis. size: how many; deviation: of each measurement; selection, measurement: shares."""

    size: int
    deviation: float
    selection: float
    measurement: float

    @property
    def cost(self) -> float:
        return self.size * (self.selection + self.measurement)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """What a search knows before its first batch.

    levels: the candidates, searched one level after the other. coarse: offered beside those of the first level.
    singles: one-way marginals by attribute. asked: the workload's blocks. unit: whose neighbours selections protect.
    records: n, estimated from the first measurements. spent: shares of the budget of the singles so far. started:
    whether the model holds tables of an earlier release. crowded: numbers of the levels whose blocks the model has no
    room for together (`fitted_together`).
    """

    levels: tuple[tuple[QueryBlock, ...], ...]
    coarse: tuple[QueryBlock, ...]
    singles: tuple[QueryBlock, ...]
    asked: tuple[QueryBlock, ...]
    errors: ExpectedError
    budget: BudgetAllocation
    unit: PrivacyUnit
    records: float
    spent: tuple[float, ...]
    started: bool = False
    crowded: frozenset[int] = frozenset()
    _last: LastMeasurements = field(init=False, repr=False)

    def __post_init__(self) -> None:
        last = LastMeasurements(
            singles=self.singles, spent=self.spent, asked=self.asked, errors=self.errors, budget=self.budget
        )
        object.__setattr__(self, "_last", last)

    def advanced(self, state: SearchState) -> tuple[SearchState, Batch | None]:
        """Past the levels that are not worth a batch, and the next batch; None: time for the last measurements."""
        while state.level < len(self.levels):
            if not self._clear(state):
                return replace(state, level=len(self.levels)), None
            batch = self.batch(state)
            if batch is not None:
                return state, batch
            state = self._ended(state)
        return state, None

    def batch(self, state: SearchState) -> Batch | None:
        """The next choices of the level; None: it has no more that are worth it, or that noise would let see."""
        blocks, explored = self.offered(state.level), self._explored(state)
        names = {block.name for block in explored}
        waiting = [block for block in blocks if block.name not in names]
        spent = len(names) * len(blocks) > TUNING.work
        if not waiting or spent or self.sweeps(state) or state.unimproved >= TUNING.patience:
            return None
        size = min(1 + len(names) // TUNING.batch, len(waiting))
        even = state.left / len(blocks)
        enough = self._enough(waiting, min(state.gap, TUNING.first_gap), TUNING.fine_part * even)
        share = min(enough, TUNING.batch_share * state.left / size)
        selection = min(self.budget.selection(max(TUNING.temperature * state.gap * self.records, 1e-6)), share)
        batch = Batch(size=size, deviation=self.budget.deviation_at(share), selection=selection, measurement=share)
        return batch if batch.cost <= state.left / 2 else None

    def _enough(self, waiting: Sequence[QueryBlock], gap: float, cheap: float) -> float:
        """The share that measures a block to within the gap; to `fine_error` where that costs `cheap` at most."""
        within, fine = (
            self.budget.share(self.errors.deviation(waiting, error * self.records))
            for error in (TUNING.precision * gap, TUNING.fine_error)
        )
        return max(within, min(fine, cheap))

    def offered(self, level: int) -> tuple[QueryBlock, ...]:
        """The candidates of a level."""
        return self.levels[level] if level else (*self.levels[level], *self.coarse)

    def _clear(self, state: SearchState) -> bool:
        """Whether noise lets the level be searched."""
        if self._explored(state):
            return True
        if state.level == 0:
            deviation = self.budget.deviation_at(TUNING.batch_share * state.left)
            errors = (self.errors.at(block, deviation) / largest_gap(block) for block in self.offered(0))
            return min(errors) <= TUNING.hopeless * self.records
        blocks = self.levels[state.level]
        return self._reached(blocks, (*state.explored, *blocks), state.left) < TUNING.wide_error

    def _ended(self, state: SearchState) -> SearchState:
        """On to the next level; where all are to be measured, they count as explored."""
        explored = state.explored
        if self.sweeps(state):
            last = self.levels[-1]
            names = {block.name for block in (*last, *self.coarse)}
            explored = (*(block for block in explored if block.name not in names), *last)
        return replace(state, gap=TUNING.first_gap, explored=explored, unimproved=0, level=state.level + 1)

    def _explored(self, state: SearchState) -> tuple[QueryBlock, ...]:
        """Those of the level."""
        names = {block.name for block in self.offered(state.level)}
        return tuple(block for block in state.explored if block.name in names)

    def sweeps(self, state: SearchState) -> bool:
        """Whether so many of the asked blocks were worth it, the last ones too, that the search ends and all are
        measured."""
        last, place = self.levels[-1], len(self.levels) - 1
        names = {block.name for block in last}.intersection(block.name for block in state.explored)
        if (
            place in self.crowded
            or state.level < place
            or len(names) < TUNING.all_explored * len(last)
            or state.unimproved
        ):
            return False
        return state.gap >= TUNING.all_gap * self._reached(last, last, state.left)

    def split(self, measured: Sequence[QueryBlock], left: float) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares of what is left, where these blocks were explored."""
        return self._last.split(measured, left)

    def reached(self, state: SearchState) -> float:
        """Mean error over n of the level's explored blocks if what is left were spent on the last measurements now."""
        explored = self._explored(state)
        return self._reached(explored, state.explored, state.left) if explored else 0.0

    def final(self, state: SearchState) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares, `state` being where the search has ended."""
        apart = Interactions(
            singles=self.singles,
            spent=self.spent,
            asked=self.asked,
            errors=self.errors,
            budget=self.budget,
            unit=self.unit,
        )
        return apart.better(self._last.split(state.explored, state.left))

    def _reached(self, blocks: tuple[QueryBlock, ...], measured: tuple[QueryBlock, ...], left: float) -> float:
        return self._last.expected(blocks, measured, left) / self.records

    def after(self, state: SearchState, batch: Batch, drawn: Sequence[Round]) -> SearchState:
        """After all choices of the batch; one that was lost in a crash shows nothing, and is paid."""
        shown = [gap for one in drawn if (gap := shown_gap(one, self.errors, self.records)) is not None]
        found = tuple(one.measurement.blocks[0] for one in drawn if one.measurement is not None)
        after = replace(
            state,
            left=state.left - batch.cost,
            gap=state.gap / 2,
            explored=(*state.explored, *found),
        )
        if not shown:
            return after
        evidence = BatchEvidence.of(shown, state.graph)
        return replace(
            after,
            gap=max(evidence.least, after.gap),
            graph=state.graph.joined(shown),
            unimproved=evidence.unimproved(state.unimproved, self.reached(after), self._price(state, after)),
        )

    def _price(self, before: SearchState, after: SearchState) -> float:
        """What a further block costs, L1 error over n: its own final error, or, if that is more, what each block of the
        last batch added to the sum over all explored ones."""
        (few, one), (many, other) = ((len(self._explored(each)), self.reached(each)) for each in (before, after))
        return max(other, (many * other - few * one) / (many - few))
