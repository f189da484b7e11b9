"""Predicates: the text after `where`, read into a tree and decided cell by cell."""
