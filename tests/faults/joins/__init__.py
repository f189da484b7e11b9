"""Faults where parts meet: a sum, a bound or a check that is right by itself and wrong beside its neighbour.

One list for each room, and the tests that are the room's own: at least one of them must fail.
"""

from importlib import import_module
from pathlib import Path

from faults.anchored import Anchored

ROOMS: dict[str, tuple[str, ...]] = {
    "counters": (
        "privacy/test_counter*.py",
        "data/test_period_tree.py",
        "app/planning/test_counters.py",
        "app/releasing/test_person_counters.py",
        "app/releasing/test_resumed_counters.py",
        "app/releasing/test_earlier_counts.py",
        "construction/answers/test_cumulative.py",
        "construction/answers/test_series.py",
        "io/outputs/answer_tables/test_cumulative_table.py",
        "app/test_series.py",
        "io/tables/persons",
        "audit/cases/test_counters.py",
    ),
    "layers": (
        "privacy/test_layer*.py",
        "io/ledger/test_layer_costs.py",
        "io/ledger/test_histories.py",
        "app/releasing/test_person_counters.py",
    ),
    "periods": (
        "privacy/test_periods.py",
        "io/ledger/test_period_budgets.py",
        "io/ledger/test_histories.py",
        "app/paying/test_periods.py",
        "app/planning/test_periods.py",
        "data/test_period.py",
        "io/tables/test_period_filter.py",
        "audit/cases/test_periods.py",
    ),
    "ledger": (
        "io/ledger",
        "privacy/test_ledger.py",
        "privacy/test_reservation.py",
        "privacy/test_*currency.py",
        "privacy/test_budget.py",
        "privacy/test_policy.py",
        "app/paying",
    ),
    "sessions": (
        "app/sessions",
        "io/sessions",
        "app/predicting",
        "construction/questions",
        "mechanisms/test_sparse_vector.py",
        "mechanisms/test_every_comparison.py",
        "io/journal",
    ),
    "verify": (
        "app/verifying",
        "app/releasing/test_approval.py",
        "app/releasing/test_locked_plan.py",
        "io/outputs/records",
    ),
    "prediction": (
        "prediction",
        "mechanisms/test_perturbed_functions.py",
        "mechanisms/test_votes.py",
        "mechanisms/test_every_draw.py",
        "mechanisms/test_noisy_moments.py",
        "mechanisms/learned_functions",
    ),
    "mechanisms": (
        "mechanisms",
        "workload/test_sensitivity.py",
        "privacy/test_parallel.py",
    ),
}
"""The tests of each room, below tests/, the nearest ones first."""


EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (
    (
        "periods",
        "PeriodFilter.records",
        "numbers <= self.bins in place of <",
        "a row of no bin has the number -1, whatever its date; no row has the number of bins",
    ),
)
"""Faults that were tried and change nothing that is promised: room, definition, what was changed, why that is harmless.
"""


def joins(rooms: tuple[str, ...] = tuple(ROOMS)) -> list[Anchored]:
    """Every fault of the lists beside this file, in the order of the rooms."""
    names = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")}
    return [fault for room in ROOMS if room in rooms and room in names for fault in _listed(room)]


def _listed(room: str) -> tuple[Anchored, ...]:
    listed: tuple[Anchored, ...] = import_module(f"faults.joins.{room}").FAULTS
    return listed
