"""Oracles: attempts to learn of a private table what nobody paid for."""
