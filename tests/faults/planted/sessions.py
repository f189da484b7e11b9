"""Faults of sessions: what another table has shown, points that nobody paid for, an end that gives too much back."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "prediction/planner.py",
        (
            "if self._table is not table:",
            "if self._table is None:",
            "what was learned of another table serves this one",
        ),
        (
            "return self.shared.of(counts, lambda: self._values(counts))[self.place : self.place + 1]",
            "return self.shared.of(counts, lambda: self._values(counts))[:1]",
            "every point is predicted as the first one",
        ),
        (
            "return self.asked.learner.bound",
            "return self.asked.learner.bound / 2",
            "the sensitivity of a point is halved",
        ),
        ("return self.ensemble.touched", "return self.ensemble.touched * 2", "a unit counts as in two parts"),
    ),
    *planted_in(
        "sessions/predictions.py",
        ("if len(new) > self.left:", "if len(new) > self.paid:", "points that are drawn for are paid for again"),
        ("if point not in known", "if True", "a point that has an answer is drawn for again"),
    ),
    *planted_in(
        "prediction/planning.py",
        ("isinstance(each, FilterAccountant)", "each.name", "theorems for fixed schedules serve a session"),
    ),
    *planted_in(
        "sessions/session.py",
        ("whole=held.spoilt or not opened", "whole=not opened", "an error that rows decided is forgotten at the end"),
        ("whole=held.spoilt or not opened", "whole=held.spoilt", "an opening that did not end is given back"),
        (
            "if source.engine is not None or not source.repeatable:",
            "if False:",
            "a table that cannot be read again is paid for",
        ),
    ),
)
