"""Predictions and released functions, in one go or one point at a time."""
