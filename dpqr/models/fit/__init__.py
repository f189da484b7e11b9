"""Fits of hypotheses to noisy answers."""
