"""Releases held against what they say: files, prices, draws, ledgers."""
