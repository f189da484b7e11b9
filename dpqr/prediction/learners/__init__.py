"""Learners whose sensitivity is proved: features, losses, solvers and regularised minimisers."""
