"""Ordered columns: a strategy over cells, or over buckets that noisy counts choose."""
