"""Nouns of the questions: linear queries in blocks that answer themselves on counts or on a hypothesis."""
