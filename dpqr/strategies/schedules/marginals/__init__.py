"""Marginals: a search for the blocks that one-way marginals do not answer, and its parts."""
