"""Evaluation: attacks on the build's mechanisms, with statistics that do not cry wolf; errors on public data."""
