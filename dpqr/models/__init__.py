"""Hypotheses: data structures on which the workload can be evaluated."""
