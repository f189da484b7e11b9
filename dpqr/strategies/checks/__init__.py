"""Checks: the noisy answer to the chosen queries, and the stop test."""
