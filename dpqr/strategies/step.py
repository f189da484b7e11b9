"""Step: what the loop does next, as a schedule says it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpqr.privacy.budget import Price
from dpqr.strategies.candidates import Candidate, Candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One selection and one measurement. Public.

    candidates: a list to select from at the price `select`; or blocks to measure as they are: then nothing is drawn
    and nothing paid for the choice (select is None). measure: what the measurement may cost.
    refit: whether the hypothesis is updated after it; False where nobody reads the hypothesis before the next update
    and the rule is cumulative.
    compare: whether the transcript keeps what the hypothesis had answered; the schedule reads it.
    threshold: the stop test, in records (3 alpha n / 4); None: this step does not stop the loop.
    records: what answers are scaled to from here on, where the number of records was measured; the hypothesis starts
    anew when it becomes known. A released number.
    """

    candidates: Candidates | Candidate
    select: Price | None
    measure: Price
    refit: bool = True
    compare: bool = False
    threshold: Fraction | None = None
    records: int | None = None

    @property
    def stop(self) -> bool:
        """Whether this step may end the loop."""
        return self.threshold is not None

    @property
    def only(self) -> Candidate:
        """What is measured where there is no choice to make."""
        return self.candidates if isinstance(self.candidates, tuple) else self.candidates[0]
