"""Predicates: parsed, and evaluated on cells."""
