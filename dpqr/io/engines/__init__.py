"""Engines: databases that hold a private table and count it where it lies."""
