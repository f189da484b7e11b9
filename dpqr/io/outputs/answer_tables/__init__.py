"""Answers as tidy tables, one row an answer, and the file formats that such a table is written in."""
