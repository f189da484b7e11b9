"""Learners whose sensitivity is proved."""
