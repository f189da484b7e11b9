"""Randomised functions of counts, each with the event that it costs."""
