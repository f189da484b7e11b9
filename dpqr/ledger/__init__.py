"""Budgets for the life of a dataset: store, chain, policy, journal."""
