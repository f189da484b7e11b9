"""Schedules: how the budget is cut, and which step comes next."""
