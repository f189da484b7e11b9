"""Persons: whose rows are whose, which of them are kept, and in what order they are learned from."""
