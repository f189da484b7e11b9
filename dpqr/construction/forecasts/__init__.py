"""Forecasts: a plan's error, its goal, certificates and resources, before any private data is opened."""
