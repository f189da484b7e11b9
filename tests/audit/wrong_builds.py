"""The whole build made wrong, one fault at a time, for as long as a `with` lasts: what `dpqr audit` must find."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from dpqr.audit.cases import counters
from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian, RoundedGaussian
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.kernel.values import replace
from dpqr.ledger.periods import PeriodBudgets
from dpqr.mechanisms import noisy_answers, selection
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.selection import BlockScores, QueryScores
from dpqr.prediction import votes
from dpqr.strategies.counter import Counter
from dpqr.tables import tallies
from dpqr.workload.strategy_matrices import Contrasts

DRAWS = (
    (selection, "draw_exponential"),
    (selection, "search_exponential"),
    (selection, "draw_permute_and_flip"),
    (selection, "search_permute_and_flip"),
    (votes, "draw_exponential"),
    (votes, "draw_permute_and_flip"),
)
VOTING = {"draw_exponential": "predict-votes-*", "draw_permute_and_flip": "predict-flips-*"}


@dataclass(frozen=True)
class Wrong:
    """made: a context manager in which the build is wrong. cases: patterns of the audit's cases that may see it."""

    name: str
    made: Callable[[], Any]
    cases: tuple[str, ...]


def wrong_builds(width: Fraction) -> Iterator[Wrong]:
    """Noise of `width` times its width, one law or draw after the other; a factor forgotten; a bound switched off."""
    yield Wrong(f"Laplace noise x {float(width):g}", lambda: narrower(DiscreteLaplace, "scale", width), ("laplace-*",))
    squared = width**2
    yield Wrong(
        f"Gaussian noise x {float(width):g}",
        lambda: narrower(DiscreteGaussian, "variance", squared),
        ("gaussian-*",),
    )
    yield Wrong(
        f"rounded Gaussian noise x {float(width):g}",
        lambda: narrower(RoundedGaussian, "variance", squared),
        ("predict-function-*", "predict-gaussian-objective-*", "predict-quantile-objective-*", "predict-moments-*"),
    )
    yield Wrong(
        f"spherical Laplace noise x {float(width):g}",
        lambda: narrower(SphericalLaplace, "scale", width),
        ("predict-pure-function-*", "predict-objective-*"),
    )
    yield Wrong(
        f"Laplace predictions x {float(width):g}",
        lambda: narrower(DiscreteLaplace, "scale", width),
        ("predict-one-*", "predict-randomised-*"),
    )
    for module, draw in DRAWS:
        where = VOTING[draw] if module is votes else _cases_of(draw)
        yield Wrong(
            f"{draw} of {module.__name__.rsplit('.', 1)[-1]}, rate / {float(width):g}",
            lambda module=module, draw=draw: steeper(module, draw, width),
            (where,),
        )


def forgotten_factors() -> Iterator[Wrong]:
    """What a sensitivity or a rate must not leave out."""
    yield Wrong("the 2 of a selection", doubled_choice, ("exponential-*", "permute-and-flip-*"))
    yield Wrong("the 2 of votes", doubled_votes, ("predict-votes-*", "predict-flips-*"))
    for scores in (BlockScores, QueryScores):
        yield Wrong(f"K in {scores.__name__}", lambda scores=scores: of_one_row(scores), ("*-person-*",))
    yield Wrong("K in noisy answers", of_one_row_answers, ("laplace-marginal-person",))
    yield Wrong("the 2 of replace", of_added_rows, ("laplace-*-replace", "gaussian-*-replace"))
    yield Wrong("all rows but one of an interaction", of_one_contrast, ("*-interaction-add-remove",))
    yield Wrong("the levels of a counter", of_one_level, ("counter-*",))
    yield Wrong("the end of a period", of_a_day_more, ("periods-add-remove",))
    yield Wrong("the periods of a person", of_the_dearest_period, ("periods-person",))
    yield Wrong("K in the count of rows left out", of_one_row_answers, ("laplace-left-out-*",))


def hidden_leaks() -> Iterator[Wrong]:
    """What only the published files show."""
    yield Wrong("an exact n in the answers' decimals", exact_total_in_decimals, ("file-csv-row",))
    yield Wrong("person bounding switched off", unbounded_persons, ("file-parquet-person",))
    yield Wrong("rows of each person chosen by exact counts", exact_persons, ("file-csv-rows-chosen",))


def forgotten_rows() -> Iterator[Wrong]:
    """What a bound over the life of a counter must count."""
    yield Wrong("rows of earlier releases", bounded_releases, ("counter-history-*",))
    yield Wrong("rows of earlier periods of a node", bounded_periods, ("counter-history-*",))
    yield Wrong("any bound on rows", unbounded_persons, ("counter-history-*",))
    yield Wrong("the bound on rows in one cell", unbounded_cells, ("cells-equal-*",))


def forgotten_cells() -> Iterator[Wrong]:
    """What tables of persons must bound."""
    yield Wrong("any bound on a person's cells", unbounded_persons, ("persons-most-cells",))
    yield Wrong("that a person counts once a cell", every_row_a_person, ("persons-one-cell", "persons-together"))
    yield Wrong("that a person's total is clipped", unclipped_totals, ("persons-totals",))
    yield Wrong(
        "that a person counts in one bin of their total", every_bin_below, ("persons-by-total", "persons-by-rows")
    )


def _cases_of(draw: str) -> str:
    rule = "exponential" if draw.endswith("exponential") else "permute-and-flip"
    return f"{rule}-boxes-*" if draw.startswith("search") else f"{rule}-*"


@contextmanager
def narrower(law: Any, parameter: str, factor: Fraction) -> Iterator[None]:
    """Draws come from the law with a smaller parameter; what is charged and published stays."""
    sound = law.sample

    def sample(self: Any, *rest: Any) -> Any:
        return sound(replace(self, **{parameter: getattr(self, parameter) * factor}), *rest)

    with patch.object(law, "sample", sample):
        yield


@contextmanager
def steeper(module: Any, draw: str, width: Fraction) -> Iterator[None]:
    """A selection at a larger rate than it was paid for."""
    sound = getattr(module, draw)
    with patch.object(module, draw, lambda scores, rate, noise: sound(scores, rate / width, noise)):
        yield


@contextmanager
def doubled_choice() -> Iterator[None]:
    sound = selection.SelectionMechanism.rate.fget
    with patch.object(selection.SelectionMechanism, "rate", property(lambda made: 2 * sound(made))):
        yield


@contextmanager
def doubled_votes() -> Iterator[None]:
    sound = votes.votes_rate
    with patch.object(votes, "votes_rate", lambda *given: 2 * sound(*given)):
        yield


@contextmanager
def of_one_row(scores: type[BlockScores | QueryScores | BoxScores]) -> Iterator[None]:
    """Scores that state the sensitivity of a single row, whatever K is."""
    sound = scores.sensitivity
    with patch.object(scores, "sensitivity", lambda self, unit: sound(self, replace(unit, columns=(), rows=1))):
        yield


@contextmanager
def of_one_row_answers() -> Iterator[None]:
    sound = noisy_answers.answers_sensitivity
    with _answers(lambda blocks, norm, unit: sound(blocks, norm, replace(unit, columns=(), rows=1))):
        yield


@contextmanager
def of_one_level() -> Iterator[None]:
    """Every node of a counter gets the budget of the whole life."""
    with patch.object(Counter, "prices", 1):
        yield


@contextmanager
def unbounded_cells() -> Iterator[None]:
    """Every table counts all rows of a person."""
    sound = tallies.bounded_table
    with patch.object(tallies, "bounded_table", lambda *given: sound(*given[:3], len(given[0]))):
        yield


@contextmanager
def of_a_day_more() -> Iterator[None]:
    """A period holds the first day of the next one too."""
    sound = Period.end.fget
    with patch.object(Period, "end", property(lambda self: sound(self) + timedelta(days=1))):
        yield


@contextmanager
def of_the_dearest_period() -> Iterator[None]:
    """Periods are parallel for persons, who have rows in all of them."""
    with patch.object(PeriodBudgets, "total", lambda self, spent: max(spent.values(), key=lambda cost: cost.amount)):
        yield


@contextmanager
def of_one_contrast() -> Iterator[None]:
    """A record moves every row but the last one; here its first alone."""
    with patch.object(Contrasts, "column_norm", lambda self, power: int(self.coefficients[0, 0]) ** max(power, 1)):
        yield


@contextmanager
def of_added_rows() -> Iterator[None]:
    from dpqr.kernel.unit import Neighbours

    sound = noisy_answers.answers_sensitivity
    with _answers(lambda blocks, norm, unit: sound(blocks, norm, replace(unit, neighbours=Neighbours.ADD_REMOVE))):
        yield


@contextmanager
def _answers(wrong: Callable[..., int]) -> Iterator[None]:
    from dpqr.strategies import checks

    with ExitStack() as stack:
        for module in (noisy_answers, checks):
            stack.enter_context(patch.object(module, "answers_sensitivity", wrong))
        yield


@contextmanager
def exact_total_in_decimals() -> Iterator[None]:
    """Every estimate carries the number of records behind its sixth digit; rounded to records it looks sound."""
    from dpqr.releases import release
    from dpqr.tables.tallies import JointTally

    totals: list[int] = []
    counted, written = JointTally.histogram, release.write_release

    def histogram(self: JointTally) -> Any:
        found = counted(self)
        totals.append(int(found.marginal(())))
        return found

    def write(finished: Any, *given: Any, **named: Any) -> Any:
        answers = tuple(
            replace(one, estimate=np.maximum(np.round(one.estimate, 2), 0.01) + totals[-1] * 1e-8)
            for one in finished.answers
        )
        return written(replace(finished, answers=answers), *given, **named)

    with patch.object(JointTally, "histogram", histogram), patch.object(release, "write_release", write):
        yield


@contextmanager
def exact_persons() -> Iterator[None]:
    """Counts of persons, by which a bound is chosen, without their noise; what is charged and published stays."""
    from dpqr.mechanisms import noisy_answers as answers
    from dpqr.workload.workload import Measurement

    sound = answers.LaplaceAnswers.sample

    def sample(self: Any, value: Any, noise: Any) -> Any:
        if any(block.most_cells is None for block in self.blocks):
            return sound(self, value, noise)
        return Measurement(blocks=self.blocks, values=tuple(each.answer(value) for each in self.blocks), law=self.law)

    with patch.object(answers.LaplaceAnswers, "sample", sample):
        yield


@contextmanager
def unbounded_persons() -> Iterator[None]:
    """All rows of every person are kept."""
    from dpqr.tables import persons as bounding

    with patch.object(bounding, "smallest_tickets", lambda owners, *_: owners >= 0):
        yield


@contextmanager
def every_row_a_person() -> Iterator[None]:
    """Tables of persons count all rows of a person's cells."""
    from dpqr.tables import persons as bounding

    sound = bounding.PersonTally.add

    def add(self: Any, held: Any) -> None:
        for row in np.repeat(np.arange(len(held.counts)), held.counts):
            sound(self, replace(held, rows=held.rows[:, [row]], counts=held.counts[[row]]))

    with patch.object(bounding.PersonTally, "add", add):
        yield


@contextmanager
def unclipped_totals() -> Iterator[None]:
    """A person's total counts in full, beyond the stated bounds."""
    from dpqr.domain.histogram import PersonTable

    def add(table: Any, counts: Any, cells: Any, totals: Any) -> None:
        least, most = table.total.edges
        pairs = np.stack([most - totals, totals - least], axis=1)
        np.add.at(counts.reshape(-1, 2), cells, pairs)

    with patch.object(PersonTable, "add", add):
        yield


@contextmanager
def every_bin_below() -> Iterator[None]:
    """A person counts in every bin up to that of their total, as cumulative counts do."""
    from dpqr.domain.histogram import PersonTable

    def add(table: Any, counts: Any, cells: Any, totals: Any) -> None:
        below = totals[:, None] >= np.array([-np.inf, *table.total.edges[1:-1]])
        np.add.at(counts.reshape(-1, below.shape[1]), cells, below.astype(np.int64))

    with patch.object(PersonTable, "add", add):
        yield


@contextmanager
def bounded_releases() -> Iterator[None]:
    """Each release of a counter keeps K rows of a person, whatever earlier ones have used."""
    with patch.object(counters, "PeriodRows", lambda **given: PeriodRows(**given | {"first": given["since"]})):
        yield


@contextmanager
def bounded_periods() -> Iterator[None]:
    """K rows of each period, so that a node over several periods holds more."""
    from dpqr.tables import persons as bounding

    sound = bounding.smallest_tickets

    def of_periods(owners: Any, persons: Any, most: int, key: bytes, ranks: Any = None) -> Any:
        kept = [sound(owners[ranks == rank], persons, most, key) for rank in np.unique(ranks)]
        return np.concatenate(kept) if kept else owners >= 0

    with patch.object(bounding, "smallest_tickets", of_periods):
        yield
