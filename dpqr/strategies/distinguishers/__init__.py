"""Distinguishers: private selection of the worst-answered candidate."""
