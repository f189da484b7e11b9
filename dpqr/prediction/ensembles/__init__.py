"""Ensembles: learners without any privacy of their own, each on its part of the table."""
