"""Nouns of the questions: linear queries, grouped into blocks that answer themselves on counts or a hypothesis."""
