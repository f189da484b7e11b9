"""Kinds of entries of a queries file, each compiled into query blocks."""
