"""Formats of tables on disk: one module each, and the list of them."""
