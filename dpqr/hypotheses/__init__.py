"""Hypotheses D: data structures on which the workload can be evaluated. Built from released values only."""
