"""Faults of sessions: what another table has shown, points that nobody paid for, an end that gives too much back."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "prediction",
        "OneValue.fit",
        (
            "self.shared.of(counts, values)[self.place:self.place + 1]",
            "self.shared.of(counts, values)[:1]",
            "every point is predicted as the first one",
        ),
    ),
    *at(
        "prediction",
        "OneValue.bound",
        ("self.asked.learner.bound", "self.asked.learner.bound / 2", "the sensitivity of a point is halved"),
    ),
    *at(
        "prediction",
        "OnePoint.touched",
        ("self.ensemble.touched", "self.ensemble.touched * 2", "a unit counts as in two parts"),
    ),
    *at(
        "sessions",
        "_within_a_session",
        ("isinstance(each, FilterAccountant)", "each.name", "theorems for fixed schedules serve a session"),
    ),
    *at(
        "sessions",
        "require_repeatable",
        (
            "source.engine is not None or not source.repeatable",
            "False",
            "a table that cannot be read again is paid for",
        ),
    ),
)
