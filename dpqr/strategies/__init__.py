"""Roles of the Iterative Construction: schedules, distinguishers, checks, update rules."""
