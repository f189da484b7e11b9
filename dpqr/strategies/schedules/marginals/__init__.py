"""Workloads of marginals: what is measured, in which order, how exactly."""
