"""Nouns of the database: attributes, the domain, the privacy unit, histograms. No files, no randomness."""
