"""Predictions by votes of members that are trained on disjoint parts."""
