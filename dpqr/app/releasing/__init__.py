"""A release: its locked plan, its approval, its rows, the run and its files."""
