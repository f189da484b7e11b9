"""Composition theorems: what events cost together, and how a budget is cut."""
