"""Codebooks: what others publish about a table's columns, read into a domain file, and written from one."""
