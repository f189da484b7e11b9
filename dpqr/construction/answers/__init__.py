"""Answers of a release: unbiased and fitted ones, their errors and intervals, and the figures made from them."""
