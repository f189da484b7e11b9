"""Randomised functions of private counts, each with the proof of its price."""
