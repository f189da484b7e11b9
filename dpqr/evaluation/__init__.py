"""Evaluation of the build itself: attacks on its mechanisms, with statistics that do not cry wolf."""
