"""Answers of a release, with their errors and intervals."""
