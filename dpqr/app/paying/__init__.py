"""Budgets, and runs that a ledger pays for."""
