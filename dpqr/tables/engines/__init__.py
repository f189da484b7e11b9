"""Databases as sources of a private table."""
